"""The short table that the terminal shows."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.report import Report
from analysis.results import spread
from analysis.studies import quantities
from analysis.table import Quantity

SHORT = (
    quantities.THROUGHPUT,
    quantities.RETRANSMISSIONS,
    quantities.TIMEOUTS,
    quantities.PAUSED,
    quantities.LOSS_SHARE,
)


def print_report(report: Report) -> None:
    """Prints the verdict, five quantities and the report's path to standard output."""
    console = Console(highlight=False, soft_wrap=True)
    for sentence in (*report.run.failures, *report.run.warnings, *report.problems):
        console.print(Text(f"Check: {sentence}", style="yellow"))
    if report.results.measured:
        console.print(_table(report))
    if report.answers:
        console.print(Text(" ".join(report.answers[0].paragraphs)))
    if report.run.status != "complete":
        console.print(Text(f"This run is marked {report.run.status}: do not use its figures.", style="bold red"))
    console.print(Text(f"Report: {report.page}"))


def _table(report: Report) -> Table:
    count = len(report.run.seeds)
    table = Table(title=Text(f"{report.run.experiment}, {count} {'repetition' if count == 1 else 'repetitions'}"))
    table.add_column("Quantity")
    for condition in report.run.conditions:
        table.add_column(Text(condition.label), justify="right")
    for quantity in (*quantities.FLOWS, *SHORT[1:3]) if len(report.run.flows) > 1 else SHORT:
        table.add_row(_name(quantity), *(_cell(report, quantity, at) for at in range(len(report.run.conditions))))
    return table


def _name(quantity: Quantity) -> Text:
    return Text(f"{quantity.name} ({quantity.unit})" if quantity.unit else quantity.name)


def _cell(report: Report, quantity: Quantity, at: int) -> Text:
    return Text(spread(report.results.values(quantity.key, report.run.conditions[at])))
