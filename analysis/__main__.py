"""The command line `python -m analysis`: report RUN_DIR, sweep FOLDER and others."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topologies.errors import TcplabError

if TYPE_CHECKING:
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


class PageCommand(click.Command):
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


@main.command(cls=PageCommand)
@click.argument("run_directory", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the report into this folder instead of the run's own.",
)
@_metrics
@click.pass_obj
def report(
    report_of: ReportOf | None,
    run_directory: Path,
    out: Path | None,
    metrics: tuple[str, ...],
) -> Any:
    """Write report.html, answers.md, plots/ and graphs/ for RUN_DIRECTORY, and print its table."""
    from analysis.pages.run import make_report, print_report
    from analysis.reporting.studies import plain

    made = make_report(run_directory, out, None, report_of or plain, metrics)
    print_report(made)
    return made


_folder = click.argument("folder", type=click.Path(path_type=Path))
_out = click.option(
    "--out", type=click.Path(path_type=Path), help="Write the page into this folder instead."
)


@main.command(cls=PageCommand)
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


@main.command(cls=PageCommand)
@_folder
@_out
def kernels(folder: Path, out: Path | None) -> Any:
    """Write kernels.html and plots/ for the two kernels compared in FOLDER; print what differs."""
    from analysis.pages.kernels import make_kernel_report, print_kernels

    made = make_kernel_report(folder, out)
    print_kernels(made)
    return made


@main.command(cls=PageCommand)
@_folder
@_out
def reproduction(folder: Path, out: Path | None) -> Any:
    """Write reproduction.html, reproduction.csv and plots/ for FOLDER; print what agrees."""
    from analysis.pages.reproduction import make_reproduction_report, print_reproduction

    made = make_reproduction_report(folder, out)
    print_reproduction(made)
    return made


def start(report_of: ReportOf | None = None) -> None:
    """Run the command line, with help as `tcplab` has it; `report_of` finds studies' reports."""
    typed, name = os.environ.pop("TCPLAB_COMMAND", None), next(iter(sys.argv[1:]), "")
    command = main.get_command(click.Context(main), name) if typed else None
    if command:
        command.main(sys.argv[2:], prog_name=typed, obj=report_of)
    main(obj=report_of)


if __name__ == "__main__":
    start()
