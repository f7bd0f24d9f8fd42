"""The short table and the sentences that the terminal shows of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.measures.sweep_folder import SweepRecord
from analysis.pages.sweep.sweep_page import SweepReport
from analysis.reporting.sweep_summary import SweepStudy
from analysis.statistics.comparisons import sentence
from analysis.statistics.metric_wording import labelled, signed
from analysis.statistics.paired_wording import UNSHOWN

MOST_LINES = 12
"""Rows of the table, and sentences; the page and comparisons.csv have more."""

_MOST_COLUMNS = 6


def print_sweep(report: SweepReport) -> None:
    """Prints what to check, the medians, the verdicts and the page's path to standard output."""
    console = Console(highlight=False, soft_wrap=True)
    for line in report.headline:
        console.print(Text(line))
    _print_remarks([*report.remarks, *report.sweep.warnings], console)
    if report.study:
        _print_study(report.study, console)
    elif not report.samples.is_empty:
        console.print(_table(report))
    if report.published and not report.study:
        console.print(report.published.table(MOST_LINES))
    if len(report.comparisons) > 1 and not report.study and not report.too_few:
        _print_sentences(report, console)
    if report.sweep.status != "complete":
        console.print(
            Text(f"This sweep is marked {report.sweep.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _print_remarks(remarks: Sequence[str], console: Console) -> None:
    for remark in remarks[:MOST_LINES]:
        console.print(Text(f"Check: {remark}", style="yellow"))
    if len(remarks) > MOST_LINES:
        more = f"... and {len(remarks) - MOST_LINES} more to check on the page"
        console.print(Text(more, style="yellow"))


def _print_study(study: SweepStudy, console: Console) -> None:
    """The whole table of the study, as long as it is, and its answers."""
    table = Table(box=None)
    for name in study.summary.head:
        table.add_column(Text(name))
    for row in study.summary.rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for answer in study.answers:
        console.print(Text(answer.question, style="bold"))
        for paragraph in answer.paragraphs:
            console.print(Text(f"  {paragraph}"))


def _print_sentences(report: SweepReport, console: Console) -> None:
    """All in the order of the grid; of too many, first those that show a difference."""
    ordered = list(report.comparisons)
    if len(ordered) > MOST_LINES:
        ordered.sort(key=lambda comparison: comparison.verdict == UNSHOWN)
    for comparison in ordered[:MOST_LINES]:
        console.print(Text(f"- {sentence(comparison, report.sweep, report.samples)}"))
    more = len(report.comparisons) - MOST_LINES
    if more > 0:
        console.print(Text(f"... and {more} more in comparisons.csv"))


def _table(report: SweepReport) -> Table:
    """The compared levels beside each other, and a row for each combination of the other factors.

    Of more levels than combinations each has a row: more columns than rows seldom fit a terminal.
    """
    sweep, samples, levels = report.sweep, report.samples, _levels(report.sweep)
    axis = sweep.compare
    others = tuple(place for place in range(len(sweep.factors)) if place != axis)
    first = [place for place in samples.places if axis is None or place[axis] == 0]
    places = [
        [
            place if axis is None else (*place[:axis], at, *place[axis + 1 :])
            for at in range(len(levels))
        ]
        for place in first
    ]
    rows, columns, corner = [sweep.described(place, others) for place in first], list(levels), ""
    if len(columns) > _MOST_COLUMNS and len(rows) <= _MOST_COLUMNS:
        rows, columns, places = (
            columns,
            [row or "median" for row in rows],
            [list(column) for column in zip(*places, strict=True)],
        )
        corner = sweep.factors[axis].short if axis is not None else ""
    title = f"{sweep.experiment}: {labelled(sweep.metric, samples.unit)}, medians over the seeds"
    table = Table(title=Text(title))
    table.add_column(Text(corner))
    for column in columns:
        table.add_column(Text(column), justify="right")
    for row, cells in list(zip(rows, places, strict=True))[:MOST_LINES]:
        table.add_row(Text(row), *(signed(float(samples.median[cell])) for cell in cells))
    if len(rows) > MOST_LINES:
        table.add_row(
            Text(f"... and {len(rows) - MOST_LINES} more rows on the page"), *[""] * len(columns)
        )
    return table


def _levels(sweep: SweepRecord) -> tuple[str, ...]:
    return ("median",) if sweep.compare is None else sweep.factors[sweep.compare].values
