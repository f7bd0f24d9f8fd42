"""`tcplab reproduce`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from experiments.cli.completion import studies
from experiments.cli.messages import one_clear_message, ready_lab
from experiments.cli.options_of_run import out_option, with_kernel_option
from experiments.cli.result_document import json_option, print_results
from experiments.running.report_process import make_page
from experiments.running.strictness import STRICT, require_good_points
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
    "--workers",
    type=click.IntRange(1, 10_000),
    metavar="NUMBER",
    help="Guests at once on this machine.",
)
@click.option(
    "--scheduler", metavar="tcp://HOST:8786", help="Use the workers of this Dask scheduler instead."
)
@with_kernel_option
@click.option("--strict", is_flag=True, help=STRICT)
@json_option
@out_option
def reproduce(
    quick: bool,
    names: tuple[str, ...],
    workers: int | None,
    scheduler: str | None,
    kernel: str | None,
    strict: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Run the published studies and put their numbers beside ours. Goes on after a stop."""
    with one_clear_message():
        folder = _run(quick, names, workers, scheduler, kernel or DEFAULT_KERNEL, out)
        status = make_page("reproduction", folder, sys.stderr if as_json else None)
        if as_json:
            print_results([folder])
        if strict:
            require_good_points(json.loads((folder / "reproduction.json").read_text())["network"])
        raise SystemExit(status)


def _run(
    quick: bool,
    names: tuple[str, ...],
    workers: int | None,
    scheduler: str | None,
    kernel: str,
    out: Path,
) -> Path:
    from experiments.published.target_points import specs
    from experiments.published.targets import chosen
    from experiments.reproduce.reproducing import carry_out
    from experiments.sweep.progress import watching
    from experiments.sweep.running_points import way_to_workers
    from testbed.lab.kernel import kernel_choice

    wanted, on = chosen(quick, names), str(kernel_choice.chosen(kernel))
    needed = list(specs(wanted, on))
    way = way_to_workers(ready_lab([on]), needed, workers, scheduler, _LONGEST)
    with watching("reproduce") as watch:
        return carry_out(wanted, quick, out, way, watch, names, watch.note, on)
