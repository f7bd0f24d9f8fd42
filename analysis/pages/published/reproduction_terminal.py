"""The short table that the terminal shows of a reproduction."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.pages.published.reproduction_page import ReproductionReport
from analysis.statistics.judgement import Counts

MOST_REMARKS = 12
"""Remarks that are printed; the page has all."""


def print_reproduction(report: ReproductionReport) -> None:
    """Prints what to check, how many rows of each study agree, and the page's path."""
    console = Console(highlight=False, soft_wrap=True)
    for remark in report.remarks[:MOST_REMARKS]:
        console.print(Text(f"Check: {remark}", style="yellow"))
    if len(report.remarks) > MOST_REMARKS:
        console.print(
            Text(f"... and {len(report.remarks) - MOST_REMARKS} more on the page", style="yellow")
        )
    console.print(_table(report))
    console.print(Text(report.headline))
    if report.reproduction.status != "complete":
        console.print(
            Text(f"This is marked {report.reproduction.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _table(report: ReproductionReport) -> Table:
    table = Table(title=Text("Published numbers and ours"))
    table.add_column("study")
    for name in (
        "numbers",
        "agree",
        "within our runs' range",
        "differ",
        "not run",
        *["not stated"] * bool(report.counts.unstated),
    ):
        table.add_column(name, justify="right")
    for one in report.studies:
        table.add_row(Text(one.study.name), *_cells(one.counts, report.counts))
    table.add_section()
    table.add_row("all", *_cells(report.counts, report.counts))
    return table


def _cells(counts: Counts, total: Counts) -> list[str]:
    """The numbers of a line; rows without a published number have a column if there are any."""
    numbers = [counts.rows, counts.agree, counts.within, counts.differ, counts.unrun]
    return [str(number) for number in (*numbers, *[counts.unstated] * bool(total.unstated))]
