"""What the terminal shows of two kernels beside each other."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.pages.kernels.kernel_page import DIFFERENT, KernelReport, row

_MOST = 10  # scripts of a kind


def print_kernels(report: KernelReport) -> None:
    """Prints what differs, what failed or was left out, and the page's path."""
    console = Console(highlight=False, soft_wrap=True)
    facts = report.record.facts
    console.print(Text(report.headline))
    for sentence in facts.left_out:
        console.print(Text(sentence))
    for sentence in report.scripts(_MOST):
        console.print(Text(sentence))
    for failure in facts.failures:
        console.print(Text(f"Check: {failure}", style="yellow"))
    if any(figure.verdict in DIFFERENT for figure in report.record.figures):
        console.print(_table(report))
    if facts.status != "complete":
        console.print(
            Text(f"This comparison is marked {facts.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _table(report: KernelReport) -> Table:
    old, new = report.names
    table = Table(title=Text("What differs"))
    for name in ("Case", "Of", "Figure", old, new, "New against old", "Verdict"):
        table.add_column(Text(name))
    for case in report.record.facts.cases:
        for figure in case.figures:
            if figure.verdict in DIFFERENT:
                cells = row(figure)
                shown = ("of", "title", "old", "new", "estimate", "verdict")
                table.add_row(case.name, *(Text(cells[name]) for name in shown))
    return table
