"""`tcplab bench`, and the commands of the analysis, which are processes of their own.
The commands about this computer: `tcplab doctor`, `tcplab clean`.

./tcplab starts them without these libraries.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from experiments.harness.cli.completion import folders_of_runs
from experiments.harness.cli.messages import one_clear_message
from experiments.harness.reporting import program
from testbed.doctor import __main__ as examination
from testbed.host.naming import CODE, command
from testbed.native import clean

if TYPE_CHECKING:
    from rich.table import Table


_KINDS = {
    "sweep.json": "sweep",
    "reproduction.json": "reproduction",
    "comparison.json": "kernels",
}
"""Files of results that are no run, and the commands that make their pages."""


@click.group(invoke_without_command=True)
@click.option(
    "--times",
    type=click.IntRange(1, 99),
    default=3,
    show_default=True,
    help="Runs of each (median).",
)
@click.option(
    "--against",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Measure whole commands instead, in turns with an older checkout in this folder.",
)
@click.pass_context
def bench(context: click.Context, times: int, against: Path | None) -> None:
    """Measure runs here: virtual seconds per CPU second, CPU microseconds per packet."""
    if context.invoked_subcommand:
        return
    with one_clear_message():
        Console().print(_beside(against, times) if against else _workloads(times))


def _workloads(times: int) -> Table:
    from experiments.harness.bench import measure, table

    return table(measure(times, _tell))


def _beside(other: Path, times: int) -> Table:
    from experiments.harness.bench.against import compare, comparison_table

    return comparison_table(compare(other, CODE, times, _tell), other)


def _tell(text: str) -> None:
    click.echo(f"measuring {text}", err=True)


@bench.command("scale")
@click.option(
    "--quick", is_flag=True, help="Fewer sizes, each once: a quarter of a minute instead of two."
)
def bench_scale(quick: bool) -> None:
    """Measure cost over hosts, flows, rate and duration, and two guests in parallel."""
    from experiments.harness.bench.scale_tables import scale

    with one_clear_message():
        for shown in scale(quick, _tell):
            Console().print(shown)


@bench.command("analysis", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def bench_analysis(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Measure the cost of reading a capture, compared with tcptrace and others."""
    _become(context, command("analysis", "bench", *arguments))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=folders_of_runs)
@click.pass_context
def report(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Write the report of a finished run again: report runs/sack/latest."""
    folder = Path(next((word for word in arguments if not word.startswith("-")), ""))
    kind = next((kind for name, kind in _KINDS.items() if (folder / name).is_file()), "report")
    _become(context, program(kind, *arguments))


def _become(context: click.Context, started: list[str]) -> None:
    """Become a program, whose help calls it as it was typed here."""
    typed = os.environ | {"TCPLAB_COMMAND": context.command_path}
    os.execve(sys.executable, started, typed)


_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command("doctor", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Check this machine and print how to fix each problem (--json)."""
    sys.exit(examination.main(arguments))


@click.command("clean", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def clean_up(arguments: tuple[str, ...]) -> None:
    """Remove what killed runs left behind, as they noted it."""
    sys.exit(clean.main(arguments))
