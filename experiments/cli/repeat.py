"""`tcplab verify` and `tcplab reproduce`."""

import shlex
from pathlib import Path
from typing import Any

import click

from experiments.cli.options import options, print_page, run_or_sweep
from experiments.cli.run import RunProgress
from experiments.cli.sweep import carried
from experiments.run.request import RunRequest
from experiments.run.session import ready_lab
from experiments.run.verify import repeat, require_lab, to_repeat
from experiments.spec import DEFAULT_KERNEL
from testbed.host.job_archive import code_digest

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
    require_lab("run", run.manifest, ready)
    with RunProgress(RunRequest(run.spec, None, run.seeds, "virtual", folder)) as progress:
        comparison = repeat(run, ready, progress)
    if comparison.same:
        seeds = f"{len(run.seeds)} {'seed' if len(run.seeds) == 1 else 'seeds'}"
        click.echo(
            f"The same, byte by byte: all {comparison.files} files that the conditions of {seeds}"
            " measured came out again as they are in the run."
        )
        raise SystemExit(0)
    named = [f"{difference.sentence}." for difference in comparison.captures]
    named += [f"{name} is another file." for name in comparison.others]
    click.echo(f"Not the same: {len(named)} of {comparison.files} files differ.")
    click.echo("\n".join(named[:_SHOWN]))
    if len(named) > _SHOWN:
        click.echo(f"... and {len(named) - _SHOWN} more files.")
    if run.manifest.get("code_digest") != code_digest():
        click.echo("The code that runs in guests is another than the run's, which may explain it.")
    click.echo(f"The repetition is kept in {comparison.kept}.")
    raise SystemExit(1)


def _verify_sweep(folder: Path) -> int:
    """Repeat all points in a new store, and compare rows and series; return the exit status."""
    from experiments.cli.sweep import sweep
    from experiments.sweep.definition import plan, typed_definition
    from experiments.sweep.run import runner_for, watching
    from experiments.sweep.verify import SweepToRepeat, repeat_sweep

    known = SweepToRepeat.of(folder)
    context = sweep.make_context("sweep", shlex.split(known.command)[2:])
    names = ("what", "settings", "seeds", "until", "metric", "compare", "kernel")
    planned = plan(typed_definition(**{name: context.params[name] for name in names}))
    ready = ready_lab(spec.kernel for spec in planned.specs)
    require_lab("sweep", known.manifest, ready)
    runner = runner_for(ready, planned.specs)
    with watching(planned.named.name) as watch:
        difference = repeat_sweep(known, planned, runner, watch)
    click.echo(difference or known.same)
    return 1 if difference else 0


_LONGEST = 3600.0  # wall seconds of one point


@click.command()
@options("reproduce")
def reproduce(
    quick: bool,
    names: tuple[str, ...],
    texts: tuple[str, ...],
    period_kernels: bool,
    workers: int | None,
    known: tuple[Path, ...],
    kernel: str | None,
    strict: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Run the published studies and compare their numbers with new runs.

    The same command goes on after a stop.
    """
    from experiments.study.points import period_kernels as built_of_the_time
    from experiments.study.published import chosen
    from experiments.sweep.reproduce import Reproduction
    from testbed.lab.kernel import choice

    wanted = chosen(quick, names, texts)
    on = str(choice.chosen(kernel or DEFAULT_KERNEL))
    kernels = built_of_the_time(wanted) if period_kernels else {}
    asked = Reproduction(wanted, quick, names, texts, on, kernels)
    specs = [each.spec for times in asked.combinations.values() for each in times.values()]
    more: dict[str, Any] = {"kernels": [on, *(spec.kernel for spec in specs)]}
    more |= {"workers": workers, "known": known}
    folder = carried(asked, specs, out, "reproduce", wall_seconds=_LONGEST, **more)
    raise SystemExit(print_page("reproduction", folder, strict=strict, as_json=as_json))
