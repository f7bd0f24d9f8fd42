"""`tcplab reproduce`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from experiments.harness.cli.completion import studies
from experiments.harness.cli.messages import one_clear_message
from experiments.harness.cli.options import (
    json_option,
    out_option,
    print_results,
    with_kernel_option,
)
from experiments.harness.running.lab import ready_lab
from experiments.harness.running.report import STRICT, make_page, require_good_points
from experiments.spec import DEFAULT_KERNEL

_LONGEST = 3600.0  # wall seconds of one point


@dataclass(frozen=True)
class _Rows:
    """The wanted rows: short form or not, studies, texts of their places."""

    quick: bool
    studies: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class _Way:
    """The workers and kernels of a reproduction."""

    workers: int | None
    scheduler: str | None
    kernel: str
    with_period_kernels: bool


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
@click.option(
    "--workers",
    type=click.IntRange(1, 10_000),
    metavar="NUMBER",
    help="Guests at once on this machine.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Use the workers of this Dask scheduler (tls://HOST:8786).",
)
@with_kernel_option
@click.option("--strict", is_flag=True, help=STRICT)
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
    with one_clear_message():
        rows = _Rows(quick, names, texts)
        on = kernel or DEFAULT_KERNEL
        folder = _run(rows, _Way(workers, scheduler, on, period_kernels), out)
        status = make_page("reproduction", folder, sys.stderr if as_json else None)
        if as_json:
            print_results([folder])
        if strict:
            require_good_points(json.loads((folder / "reproduction.json").read_text())["network"])
        raise SystemExit(status)


def _run(rows: _Rows, asked: _Way, out: Path) -> Path:
    from experiments.harness.published.kernel import period_kernels
    from experiments.harness.published.points import specs
    from experiments.harness.published.target import chosen
    from experiments.harness.reproduce.run import ReproductionRequest, carry_out, series_of
    from experiments.harness.sweep.progress import watching
    from experiments.harness.sweep.run import way_to_workers
    from testbed.lab.kernel import choice

    wanted = chosen(rows.quick, rows.studies, rows.texts)
    on = str(choice.chosen(asked.kernel))
    kernels = period_kernels(wanted) if asked.with_period_kernels else {}
    needed = list(specs(wanted, on, series_of(kernels)))
    ready = ready_lab(dict.fromkeys([on, *(spec.kernel for spec in needed)]))
    way = way_to_workers(ready, needed, asked.workers, asked.scheduler, _LONGEST)
    request = ReproductionRequest(wanted, rows.quick, rows.studies, rows.texts, on, kernels)
    with watching("reproduce") as watch:
        return carry_out(request, out, way, watch, watch.note)
