"""`tcplab sweep`; what it needs is imported when it is called."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.cli.options import options, print_page, studies
from experiments.run.session import ready_lab
from experiments.run.store import require_writable
from experiments.spec import DEFAULT_KERNEL
from experiments.study.grid import settings_from
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import lab_if_ready
from topologies.units import Duration

if TYPE_CHECKING:
    from experiments.run.request import RunOptions
    from experiments.spec import ExperimentSpec
    from experiments.sweep.definition import Plan
    from experiments.sweep.run import Preset


@click.command()
@click.argument("what", metavar="EXPERIMENT|FILE", shell_complete=studies)
@options("sweep")
def sweep(
    workers: int | None,
    known: tuple[Path, ...],
    limit: Duration,
    strict: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    out: Path,
    **typed: Any,
) -> None:
    """Run an experiment over a grid and seeds, and compare the results."""
    from experiments.sweep.definition import plan, typed_definition
    from experiments.sweep.results import GridSweep

    planned = plan(typed_definition(**typed))
    for sentence in dict.fromkeys(each for made in planned.combinations for each in made.rounded):
        click.echo(sentence, err=True)
    if dry_run:
        _describe(planned, out)
        return
    more: dict[str, Any] = {"workers": workers, "known": known, "force": force}
    grid, title = GridSweep(planned), planned.named.name
    folder = carried(grid, planned.specs, out, title, wall_seconds=limit.seconds, **more)
    raise SystemExit(print_page("sweep", folder, strict=strict, as_json=as_json))


def _describe(planned: Plan, out: Path) -> None:
    """Print the size of the sweep, the number of cached points, and what the seeds can show."""
    sweep = planned.sweep
    for combination in planned.combinations[:20]:
        click.echo(str(combination))
    number = len(planned.combinations)
    if number > 20:
        click.echo(f"... and {number - 20} more combinations")
    click.echo(
        f"{number * len(sweep.seeds):,} points: {number:,} combinations under"
        f" {len(sweep.seeds):,} seeds{' at most' if sweep.until else ''}."
        f" {_cached(planned, out):,} of them are cached. Dry run.",
        err=True,
    )
    if planned.comparisons:
        click.echo(planned.power(), err=True)


def _cached(planned: Plan, out: Path) -> int:
    """Count the cached points. Kernels that are not built have none, and are not built for this."""
    from experiments.sweep.store import results

    kernels = {spec.kernel for spec in planned.specs}
    labs = {name: lab for name in kernels if (lab := lab_if_ready(chosen(name)))}
    if not labs:
        return 0
    source = planned.origin(labs.get(DEFAULT_KERNEL) or next(iter(labs.values())))
    built = [each for each in planned.combinations if each.spec.kernel in labs]
    points = itertools.product(built, planned.sweep.seeds)
    with results(out) as memory:
        return len(memory.known(source.point(*each).key for each in points))


def carried(
    preset: Preset,
    specs: Sequence[ExperimentSpec],
    out: Path,
    title: str,
    *,
    wall_seconds: float,
    workers: int | None = None,
    known: Sequence[Path] = (),
    force: bool = False,
    kernels: Iterable[str] | None = None,
) -> Path:
    """Run a preset's points, whose guests fit `specs`; `kernels` are those of the specs if None."""
    from experiments.sweep.run import carry_out, runner_for, watching
    from experiments.sweep.store import take_known

    require_writable(out)
    take_known(known, out)
    ready = ready_lab([spec.kernel for spec in specs] if kernels is None else kernels)
    runner = replace(runner_for(ready, specs, workers), wall_seconds=wall_seconds, force=force)
    with watching(title) as watch:
        try:
            return carry_out(preset, out, runner, watch)
        except KeyboardInterrupt:
            watch.note(
                f"{watch.done:,} of {watch.points:,} points are cached; the same command goes on"
                " from there."
            )
            raise


def run_study(options: RunOptions) -> int:
    """Run an experiment that is a sweep by itself: its grid, with the options of `run`."""
    from experiments.sweep.definition import SweepDefinition, plan
    from experiments.sweep.results import GridSweep

    named = options.named
    settings = (
        {name: (str(value),) for name, value in {**options.form, **options.typed}.items()}
        | named.grid()
        | dict(settings_from(options.settings))
    )
    seeds = options.seeds or (options.first,)
    planned = plan(
        SweepDefinition(named.name, tuple(settings.items()), seeds, metric=named.metric())
    )
    limit = options.limit.seconds if options.limit else _patience(planned)
    grid, title = GridSweep(planned), planned.named.name
    folder = carried(grid, planned.specs, options.out, title, wall_seconds=limit)
    return print_page("sweep", folder, strict=options.strict, as_json=options.as_json)


def _patience(planned: Plan) -> float:
    """Return the wall seconds of a point: ten minutes, or twice its own clock if that is longer."""
    clocks = (
        len(spec.conditions) * max(flow.end.seconds for flow in spec.flows)
        for spec in planned.specs
    )
    return max(600.0, 2 * max(clocks))
