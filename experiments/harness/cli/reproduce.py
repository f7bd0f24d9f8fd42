"""`tcplab reproduce`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from experiments.harness.cli.options import (
    json_option,
    kernel_option,
    out_option,
    print_page,
    scheduler_option,
    strict_option,
    studies,
    workers_option,
)
from experiments.harness.running.lab import ready_lab
from experiments.harness.running.store import require_writable
from experiments.spec import DEFAULT_KERNEL

_LONGEST = 3600.0  # wall seconds of one point


@click.command()
@click.option(
    "--quick/--full",
    default=True,
    show_default=True,
    help="Short runs and six seeds, or as published.",
)
@click.option(
    "--only",
    "names",
    multiple=True,
    metavar="EXPERIMENT",
    shell_complete=studies,
    help="Only this study; may be repeated.",
)
@click.option(
    "--rows",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Only rows whose place has this text, such as '5 % loss'; may be repeated.",
)
@click.option(
    "--period-kernels/--no-period-kernels",
    default=True,
    show_default=True,
    help="Repeat each study also on the kernel of its time, if that is built.",
)
@workers_option
@scheduler_option
@kernel_option
@strict_option
@json_option
@out_option
def reproduce(
    quick: bool,
    names: tuple[str, ...],
    texts: tuple[str, ...],
    period_kernels: bool,
    workers: int | None,
    scheduler: str | None,
    kernel: str | None,
    strict: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Run the published studies and compare their numbers with new runs.

    The same command goes on after a stop.
    """
    from experiments.harness.published.kernel import period_kernels as built_of_the_time
    from experiments.harness.published.points import combinations
    from experiments.harness.published.target import chosen
    from experiments.harness.reproduce.run import ReproductionRequest, carry_out, series_of
    from experiments.harness.sweep.progress import watching
    from experiments.harness.sweep.workers import way_to_workers
    from testbed.lab.kernel import choice

    wanted = chosen(quick, names, texts)
    on = str(choice.chosen(kernel or DEFAULT_KERNEL))
    kernels = built_of_the_time(wanted) if period_kernels else {}
    runs = combinations(wanted, on, series_of(kernels)).values()
    needed = [combination.spec for each in runs for combination in each.values()]
    require_writable(out)
    ready = ready_lab(dict.fromkeys([on, *(spec.kernel for spec in needed)]))
    way = replace(way_to_workers(ready, needed, workers, scheduler), wall_seconds=_LONGEST)
    request = ReproductionRequest(wanted, quick, names, texts, on, kernels)
    with watching("reproduce") as watch:
        folder = carry_out(request, out, way, watch, watch.note)
    raise SystemExit(print_page("reproduction", folder, strict=strict, as_json=as_json))
