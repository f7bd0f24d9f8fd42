"""The short table that the terminal shows of a reproduction."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.pages.published.reproduction_page import ReproductionReport
from analysis.records.problems import printable
from analysis.statistics.imitation import imitation_sentence, imitations
from analysis.statistics.judgement import Counts

MOST_REMARKS = 12
"""Remarks that are printed; the page has all."""


def print_reproduction(report: ReproductionReport) -> None:
    """Prints how many rows agree, of each study too, what to check, and the page's path."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(report.headline))
    for remark in report.remarks[:MOST_REMARKS]:
        console.print(Text(f"Check: {remark}", style="yellow"))
    if len(report.remarks) > MOST_REMARKS:
        console.print(
            Text(f"... and {len(report.remarks) - MOST_REMARKS} more on the page", style="yellow")
        )
    console.print(_table(report))
    for line in _kernels(report):
        console.print(Text(line))
    if report.reproduction.status != "complete":
        console.print(
            Text(f"This is marked {report.reproduction.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _kernels(report: ReproductionReport) -> Iterator[str]:
    """For each study that ran on the kernel of its time: which it is, and if settings do for it."""
    for judged in report.studies:
        if judged.has_period_kernel and (kernel := judged.study.kernel):
            own = f"had Linux {printable(kernel.linux)}, repeated on {printable(kernel.taken)}."
            settings = imitation_sentence(imitations(judged.rows), printable(kernel.taken))
            asked = f" Settings of its time on the lab's kernel: {settings}" if settings else ""
            yield f"{printable(judged.study.name)} {own}{asked}"


def _table(report: ReproductionReport) -> Table:
    table = Table(title=Text("Published numbers and ours"))
    table.add_column("study", no_wrap=True)
    for name in (
        "rows",
        "agree",
        "lie within",
        "differ",
        "not judged",
        "not run",
        *["not stated"] * bool(report.counts.unstated),
        *["listed"] * bool(report.counts.listed),
    ):
        table.add_column(name, justify="right")
    for one in report.studies:
        table.add_row(Text(one.study.name), *_cells(one.counts, report.counts))
    table.add_section()
    table.add_row("all", *_cells(report.counts, report.counts))
    return table


def _cells(counts: Counts, total: Counts) -> list[str]:
    """The numbers of a line; the last two columns are there if any row is in them."""
    numbers = [counts.rows, counts.agree, counts.within, counts.differ, counts.few, counts.unrun]
    numbers += [counts.unstated] * bool(total.unstated) + [counts.listed] * bool(total.listed)
    return [str(number) for number in numbers]
