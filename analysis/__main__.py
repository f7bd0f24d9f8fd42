"""The command line `python -m analysis`: report RUN_DIR, sweep FOLDER and others."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.network.verdict import NetworkVerdict
    from analysis.reporting.studies import ReportOf


class _Commands(click.Group):
    """The commands of this file, and `analyze`, which is imported when it is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "analyze"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "analyze":
            return super().get_command(ctx, cmd_name)
        from analysis.analyze.command import analyze

        return analyze


class _Page(click.Command):
    """A command that returns a report: exits with 0 if it is sound; an error is one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            report = super().invoke(ctx)
        except TcplabError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(error.exit_code)
        sys.exit(0 if report.sound else 1)


@click.group(cls=_Commands)
def main() -> None:
    """Turns a run directory, a sweep or a reproduction into a report, and measures captures.

    Needs no root.
    """


_metrics = click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="Show a metric or an expression, such as 'goodput[bbr*] / goodput@20s..60s'.",
)


@main.command(cls=_Page)
@click.argument("run_directory", required=False, type=click.Path(path_type=Path))
@click.option(
    "--wait",
    is_flag=True,
    help="Load everything first, then read RUN_DIRECTORY as one line from standard input.",
)
@click.option("--study", help="While it waits, load the report of this study too.")
@click.option(
    "--network",
    "descriptor",
    type=int,
    help="First judge the network of the run in the line before that, and write it there (JSON).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the report into this folder instead of the run's own.",
)
@_metrics
@click.pass_obj
def report(
    report_of: ReportOf | None,
    run_directory: Path | None,
    wait: bool,
    study: str | None,
    descriptor: int | None,
    out: Path | None,
    metrics: tuple[str, ...],
) -> Any:
    """Write report.html, answers.md, plots/ and graphs/ for RUN_DIRECTORY, and print its table."""
    if wait == (run_directory is not None):
        raise UsageError(
            "Name one run directory, or give --wait and name it on standard input.",
            "For example: ./tcplab report runs/sack/latest",
        )
    from analysis.pages.run import make_report, print_report
    from analysis.reporting.studies import plain

    report_of = report_of or plain
    if wait:
        _load(report_of, study)
    network = None if descriptor is None else _judged(descriptor)
    path = _named_on_stdin() if run_directory is None else run_directory
    made = make_report(path, out, network, report_of, metrics)
    print_report(made)
    return made


_folder = click.argument("folder", type=click.Path(path_type=Path))
_out = click.option(
    "--out", type=click.Path(path_type=Path), help="Write the page into this folder instead."
)


@main.command(cls=_Page)
@_folder
@_out
@click.option("--metric", metavar="METRIC", help="Compare this column of rows.csv.")
@click.pass_obj
def sweep(report_of: ReportOf | None, folder: Path, out: Path | None, metric: str | None) -> Any:
    """Write sweep.html, comparisons.csv and plots/ for the sweep in FOLDER; print what differs."""
    from analysis.pages.sweep import make_sweep_report, print_sweep
    from analysis.reporting.studies import plain

    made = make_sweep_report(folder, out, report_of or plain, metric)
    print_sweep(made)
    return made


@main.command(cls=_Page)
@_folder
@_out
def kernels(folder: Path, out: Path | None) -> Any:
    """Write kernels.html and plots/ for the two kernels compared in FOLDER; print what differs."""
    from analysis.pages.kernels import make_kernel_report, print_kernels

    made = make_kernel_report(folder, out)
    print_kernels(made)
    return made


@main.command(cls=_Page)
@_folder
@_out
def reproduction(folder: Path, out: Path | None) -> Any:
    """Write reproduction.html, reproduction.csv and plots/ for FOLDER; print what agrees."""
    from analysis.pages.reproduction import make_reproduction_report, print_reproduction

    made = make_reproduction_report(folder, out)
    print_reproduction(made)
    return made


def _judged(descriptor: int) -> NetworkVerdict:
    """Return the verdict on the run that standard input names, written as one line of JSON."""
    from analysis.network.verdict import judge_network
    from analysis.records.json_reader import Problems
    from analysis.records.run_directory import read_run

    verdict = judge_network(read_run(_named_on_stdin(), Problems()))
    os.write(descriptor, f"{json.dumps(verdict.as_data())}\n".encode())
    os.close(descriptor)
    return verdict


def _load(report_of: ReportOf, study: str | None) -> None:
    """Load all that takes time: the run goes on meanwhile."""
    from analysis import flows, graphs, rendering
    from analysis.network import verdict  # noqa: F401
    from analysis.pages import run

    flows.load_engine()
    graphs.page("", [])  # the first page compiles its templates
    for name in run.TEMPLATES:
        rendering.load(name)
    with suppress(TcplabError):  # which comes again when the report is made, and is told then
        report_of(study or "")


def _named_on_stdin() -> Path:
    """Return the run directory in the next line of standard input."""
    name = sys.stdin.readline().rstrip("\n")
    if not name:
        raise UsageError(
            "Standard input ended without a run directory.", "Write its path as one line."
        )
    return Path(name)


def start(report_of: ReportOf | None = None) -> None:
    """Run the command line; `report_of` finds the reports of studies.

    The help of a command that `tcplab` has become calls it as it was typed.
    """
    typed, name = os.environ.pop("TCPLAB_COMMAND", None), next(iter(sys.argv[1:]), "")
    command = main.get_command(click.Context(main), name) if typed else None
    if command:
        command.main(sys.argv[2:], prog_name=typed, obj=report_of)
    main(obj=report_of)


if __name__ == "__main__":
    start()
