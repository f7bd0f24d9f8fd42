"""`tcplab verify`: a run or a sweep repeated and compared byte by byte."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from experiments.harness.cli.options import run_or_sweep
from experiments.harness.cli.run import RunProgress
from experiments.harness.running.lab import ready_lab
from experiments.harness.running.request import RunRequest
from experiments.harness.running.verify import (
    Comparison,
    RunToRepeat,
    repeat,
    require_same_lab,
    to_repeat,
)

_SHOWN = 5


@click.command()
@run_or_sweep
def verify(folder: Path) -> None:
    """Repeat a run or sweep of the lab kernel and compare its files byte by byte.

    Exits with 0 if identical. Otherwise it names the first packet that differs, and keeps the
    repetition next to the run; of a sweep, the first line of rows.csv or series.csv.
    """
    if (folder / "sweep.json").is_file():
        raise SystemExit(_verify_sweep(folder))
    run = to_repeat(folder)
    ready = ready_lab([run.spec.kernel])
    require_same_lab(run, ready)
    request = RunRequest(run.spec, None, run.seeds, "virtual", folder)
    with RunProgress(request) as progress:
        comparison = repeat(run, ready, progress)
    click.echo("\n".join(_lines(run, comparison)))
    raise SystemExit(0 if comparison.same else 1)


def _lines(run: RunToRepeat, comparison: Comparison) -> list[str]:
    seeds = f"{len(run.seeds)} {'seed' if len(run.seeds) == 1 else 'seeds'}"
    if comparison.same:
        return [
            f"The same, byte by byte: all {comparison.files} files that the conditions of {seeds}"
            " measured came out again as they are in the run."
        ]
    named = [f"{difference.sentence}." for difference in comparison.captures]
    named += [f"{name} is another file." for name in comparison.others]
    more = [f"... and {len(named) - _SHOWN} more files."] if len(named) > _SHOWN else []
    other_code = "The code that runs in guests is another than the run's, which may explain it."
    return [
        f"Not the same: {len(named)} of {comparison.files} files differ.",
        *named[:_SHOWN],
        *more,
        *([other_code] if run.has_other_code else []),
        f"The repetition is kept in {comparison.kept}.",
    ]


def _verify_sweep(folder: Path) -> int:
    """Repeat all points in a new store, and compare rows and series; return the exit status."""
    from experiments.harness.cli.sweep import sweep
    from experiments.harness.sweep.definition import SweepOptions
    from experiments.harness.sweep.plan import plan
    from experiments.harness.sweep.progress import watching
    from experiments.harness.sweep.verify import SweepToRepeat, repeat_sweep
    from experiments.harness.sweep.workers import way_to_workers

    known = SweepToRepeat.of(folder)
    context = sweep.make_context("sweep", shlex.split(known.command)[2:])
    names = ("what", "settings", "seeds", "until", "metric", "compare", "kernel")
    options = SweepOptions(**{name: context.params[name] for name in names})
    planned = plan(options.definition())
    ready = ready_lab(spec.kernel for spec in planned.specs)
    known.require_same_lab(ready)
    way = way_to_workers(ready, planned.specs, None, None)
    varied = tuple(factor.name for factor in planned.factors)
    with watching(planned.named.name, planned.named.progress(), varied) as watch:
        difference = repeat_sweep(known, planned, way, watch)
    click.echo(difference or known.same)
    return 1 if difference else 0
