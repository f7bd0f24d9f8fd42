"""The short table that the terminal shows."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.measures.results import spread
from analysis.network.network_verdict import CARE, GOOD, NetworkVerdict
from analysis.pages.run.claim_lines import first_lines
from analysis.pages.run.run_page import RunReport
from analysis.reporting import quantities
from analysis.reporting.tables import Listing, ReportQuantity

SHORT = (
    quantities.THROUGHPUT,
    quantities.RETRANSMISSIONS,
    quantities.TIMEOUTS,
    quantities.PAUSED,
    quantities.LOSS_SHARE,
)

_WIDEST = 40
"""Characters of a cell that still fits beside others."""
_MOST_LINES = 10
_BETWEEN = 3
"""Characters of the frame beside each column."""


def print_report(report: RunReport) -> None:
    """Prints the verdict, five quantities and the report's path to standard output."""
    console = Console(highlight=False, soft_wrap=True)
    first, *others = first_lines(report.run, report.claim)
    console.print(Text(first, style="bold"))
    for line in others:
        console.print(Text(line))
    for sentence in (*report.run.failures, *report.run.warnings, *report.problems):
        console.print(Text(f"Check: {sentence}", style="yellow"))
    if report.results.measured:
        console.print(_table(report))
    for table in filter(
        None, (_listing(listing, console.width) for listing in report.listings[:1])
    ):
        console.print(table)
    if report.published:
        console.print(report.published.table(_MOST_LINES))
    print_network(report.network, console)
    if report.run.status != "complete":
        console.print(
            Text(
                f"This run is marked {report.run.status}: do not use its figures.", style="bold red"
            )
        )
    console.print(Text(f"Report: {report.page}"))


def print_network(network: NetworkVerdict, console: Console) -> None:
    """The verdict and its reasons."""
    style = {GOOD: "green", CARE: "yellow"}.get(network.verdict, "bold red")
    console.print(Text(f"The network of this run: {network.verdict}.", style=style))
    for reason in network.reasons:
        console.print(Text(f"  {reason}"))


def _table(report: RunReport) -> Table:
    count = len(report.run.seeds)
    table = Table(
        title=Text(
            f"{report.run.experiment}, {count} {'repetition' if count == 1 else 'repetitions'}"
        )
    )
    table.add_column("Quantity")
    for condition in report.run.conditions:
        table.add_column(Text(condition.label), justify="right")
    for quantity in report.study.short or _plain(report):
        found = [quantity.of(report.results, condition) for condition in report.run.conditions]
        if any(found) or not report.study.short:
            table.add_row(Text(quantity.title), *(Text(spread(values)) for values in found))
    return table


def _plain(report: RunReport) -> tuple[ReportQuantity, ...]:
    if len(report.run.flows) == 1:
        return SHORT
    return (*quantities.FLOWS, quantities.RESENT, quantities.ALL_TIMEOUTS)


def _listing(listing: Listing, width: int) -> Table | None:
    """The listing without columns of long cells; None if it is still too large for the terminal."""
    columns = zip(listing.head, *listing.rows, strict=True)
    kept = [
        column for at, column in enumerate(columns) if at == 0 or max(map(len, column)) <= _WIDEST
    ]
    if (
        sum(max(map(len, column)) + _BETWEEN for column in kept) >= width
        or len(listing.rows) > _MOST_LINES
    ):
        return None
    table = Table(title=Text(listing.title))
    for at, (name, *_) in enumerate(kept):
        table.add_column(Text(name), justify="right" if at else "left")
    for row in zip(*(cells for _, *cells in kept), strict=True):
        table.add_row(*map(Text, row))
    return table
