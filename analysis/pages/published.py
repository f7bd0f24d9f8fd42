"""Published numbers next to ours: rows, verdicts and tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from io import StringIO

import msgspec
from rich.table import Table
from rich.text import Text

from analysis.measures.metrics import Row, UnknownMetric
from analysis.measures.results import MINUS, NOTHING, Measured, RunResults, value_of
from analysis.records.json_reader import Problems
from analysis.records.published_row import PublishedRow, checked_row
from analysis.records.spec_file import MeasuredEntry
from analysis.statistics.prediction import ValueSpan
from analysis.statistics.published import (
    Agreement,
    Counts,
    Judged,
    JudgedRows,
    JudgedStudy,
    Ours,
    Word,
    count,
    judge_row,
)
from analysis.statistics.wording import signed


def published_beside(results: RunResults, problems: Problems) -> PublishedNumbers:
    """Return the numbers that were published with the run's very settings, each with a verdict."""
    entries = results.run.spec.published
    return PublishedNumbers(tuple(judge_row(_row(entry, results, problems)) for entry in entries))


def _row(entry: MeasuredEntry, results: RunResults, problems: Problems) -> PublishedRow:
    """Return the row of a reproduction with the run's own values in it."""
    try:
        today, period = (
            _values(entry, results, condition)
            for condition in (entry.condition, entry.period_condition)
        )
    except UnknownMetric as error:
        problems.add(f"spec.json: {error.problem} '{entry.where}' has no value in this run.")
        today, period = [], []
    seeds = tuple(map(str, results.run.seeds))
    filled = msgspec.structs.replace(entry, today=today, period=period, seeds=seeds)
    return checked_row(filled, results.run.experiment, problems)


def _values(entry: MeasuredEntry, results: RunResults, condition: str) -> list[float]:
    """Return one value for each seed that has one, in the published number's unit."""
    trials = (
        trial
        for trial in results.measured
        if trial.trial.condition.name == condition and trial.flows
    )
    values = (value_of(_rows(trial), entry.metric, entry.flow, entry.among) for trial in trials)
    return [(entry.scale or 1.0) * value for value in values if value is not None]


def _rows(trial: Measured) -> list[Row]:
    """Return the rows of all flows, the first with all that was measured."""
    first, *others = (flow.row for flow in trial.flows)
    return [{**trial.by_name, **first}, *others]


STYLES: dict[Word, str] = {
    Word.AGREES: "agrees",
    Word.WITHIN: "within",
    Word.DIFFERS: "apart",
} | dict.fromkeys((Word.FEW, Word.UNRUN, Word.UNSTATED, Word.LISTED), "unrun")
"""The CSS class of each verdict."""
_HEAD = (
    "study",
    "where",
    "series",
    "x",
    "quantity",
    "unit",
    "published",
    "published_low",
    "published_high",
    "published_note",
    "mean_of",
    "group",
    "needs",
    "listed",
    "outcome",
)
_WAYS = ("period_kernel", "period", "today")
_OURS = (
    "verdict",
    "factor",
    "center",
    "interval_low",
    "interval_high",
    "further_low",
    "further_high",
    "least",
    "greatest",
    "runs",
    "values",
)


@dataclass(frozen=True)
class Cell:
    """Our value under one kind of settings: median or mean, range, the verdict and its CSS class.

    `further` is where a further one would lie, if the number is not our median.
    """

    median: str
    range: str
    further: str
    verdict: str
    style: str


@dataclass(frozen=True)
class TableLine:
    """One row of the page's table."""

    where: str
    quantity: str
    published: str
    published_range: str
    note: str
    period_kernel: Cell
    period: Cell
    today: Cell
    style: str
    reason: int
    why: str
    command: str


@dataclass(frozen=True)
class LineGroup:
    """The lines that stand together, and how many have which verdict.

    `command` runs all of them; it is empty if each line has its own.
    """

    name: str
    counts: Counts
    lines: tuple[TableLine, ...]
    command: str = ""

    @property
    def sentence(self) -> str:
        """Such as "56 numbers: 20 agree, 10 lie within, 26 differ"."""
        return f"{numbered(self.counts.rows, 'number', 'numbers')}: {', '.join(parts(self.counts))}"


UNEXPLAINED = "Not explained."


def numbered(amount: int, single: str, several: str) -> str:
    return f"1 {single}" if amount == 1 else f"{amount:,} {several}"


def parts(counts: Counts) -> list[str]:
    """Return the count of rows by verdict, without zeros."""
    later = f" ({counts.later:,} only in --full)" if counts.later else ""
    named = (
        (counts.agree, "agrees", "agree"),
        (counts.within, "lies within", "lie within"),
        (counts.differ, "differs", "differ"),
        (counts.few, "is not judged", "are not judged"),
        (counts.unrun, f"was not run{later}", f"were not run{later}"),
        (counts.unstated, "is not stated", "are not stated"),
        (counts.listed, "is listed only", "are listed only"),
    )
    return [numbered(*each) for each in named if each[0]] or ["none"]


def groups(rows: Iterable[Judged], listed: Sequence[str]) -> list[LineGroup]:
    """Return the rows' lines by their group, in the order of the first row of each."""
    grouped: dict[str, list[Judged]] = {}
    for judged in rows:
        grouped.setdefault(judged.row.group, []).append(judged)
    return [_group(name or "numbers", own, listed) for name, own in grouped.items()]


def _group(name: str, rows: Sequence[Judged], listed: Sequence[str]) -> LineGroup:
    lines = tuple(line(judged, listed) for judged in rows)
    commands = {each.command for each in lines}
    if len(lines) == 1 or len(commands) > 1:
        return LineGroup(name, count(rows), lines)
    bare = tuple(replace(each, command="") for each in lines)
    return LineGroup(name, count(rows), bare, commands.pop())


def reasons(rows: Sequence[Judged]) -> list[str]:
    """Reasons of differences, each once."""
    return list(
        dict.fromkeys(
            judged.row.why
            for judged in rows
            if judged.row.why and judged.outcome.word == Word.DIFFERS
        )
    )


def line(judged: Judged, listed: Sequence[str]) -> TableLine:
    """The row's line; `reason` is the place, from 1, of its own among those `listed`, or 0."""
    row, outcome = judged.row, judged.outcome.word
    reason = listed.index(row.why) + 1 if outcome == Word.DIFFERS and row.why else 0
    quantity = f"{row.quantity} ({row.unit})" if row.unit else row.quantity
    return TableLine(
        row.where,
        quantity,
        NOTHING if row.published is None else as_printed(row.printed),
        _published_range(judged),
        row.published_note,
        _cell(judged.period_kernel, judged.period_kernel_verdict, row.unit),
        _cell(judged.period, judged.period_verdict, row.unit),
        _cell(judged.today, judged.today_verdict, row.unit),
        STYLES[outcome],
        reason,
        _remark(judged),
        row.command,
    )


def _remark(judged: Judged) -> str:
    """Return the remark that replaces a reason."""
    row, outcome = judged.row, judged.outcome.word
    if outcome == Word.DIFFERS and not row.why:
        return UNEXPLAINED
    if outcome == Word.UNRUN and row.needs:
        return f"Only in --full: {row.needs}."
    return row.listed if outcome == Word.LISTED else ""


def as_printed(printed: str) -> str:
    """Return a published number with all its digits, without powers of ten."""
    number = Decimal(printed)
    shown = f"{number:,f}" if abs(number) < 10**15 else f"{number:g}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", MINUS)


def _published_range(judged: Judged) -> str:
    low, high = judged.row.published_low, judged.row.published_high
    if low is None or high is None or low == high:
        return "" if judged.row.published is not None else Word.UNSTATED
    return spanned(ValueSpan(low, high))


def _cell(ours: Ours | None, verdict: Agreement, unit: str) -> Cell:
    style = STYLES[verdict.word]
    if ours is None:
        return Cell(NOTHING, "", "", verdict.word, style)
    runs = numbered(ours.count, "run", "runs")
    span = spanned(ours.runs)
    spread = runs if ours.runs.low == ours.runs.high else f"{span}, {runs}"
    further = verdict.word in (Word.WITHIN, Word.DIFFERS) and ours.further
    text = f"a further one: {spanned(further)}" if further else ""
    return Cell(signed(ours.center), spread, text, verdict.text(unit), style)


def spanned(span: ValueSpan) -> str:
    return f"{signed(span.low)} to {signed(span.high)}"


def csv_text(studies: Sequence[JudgedStudy]) -> str:
    """reproduction.csv: one line for each published number, figures in full.

    `values` have blanks between them.
    """
    with StringIO() as text:
        lines = csv.writer(text, lineterminator="\n")
        ours = (f"{way}_{column}" for way in _WAYS for column in _OURS)
        lines.writerow([*_HEAD, *ours, "seeds", "why", "command"])
        lines.writerows(
            _csv_line(study.study.name, judged) for study in studies for judged in study.rows
        )
        return text.getvalue()


def _csv_line(study: str, judged: Judged) -> list[str | float | None]:
    row = judged.row
    published = [row.printed, row.published_low, row.published_high, row.published_note]
    about: list[str | float | None] = [row.mean_of, row.group, row.needs, row.listed]
    return [
        study,
        row.where,
        row.series,
        row.x,
        row.quantity,
        row.unit,
        *published,
        *about,
        judged.outcome.word,
        *_csv_ours(judged.period_kernel, judged.period_kernel_verdict, row.period_kernel),
        *_csv_ours(judged.period, judged.period_verdict, row.period),
        *_csv_ours(judged.today, judged.today_verdict, row.today),
        " ".join(row.seeds),
        row.why,
        row.command,
    ]


def _csv_ours(
    ours: Ours | None, verdict: Agreement, values: Sequence[float]
) -> list[str | float | None]:
    if ours is None:
        return [verdict.word, *[None] * 8, 0, ""]
    spans = (ours.middle, ours.further, ours.runs)
    ends = [end for span in spans for end in _ends(span)]
    listed = " ".join(map(str, values))
    return [verdict.word, verdict.factor, ours.center, *ends, ours.count, listed]


def _ends(span: ValueSpan | None) -> tuple[float | None, float | None]:
    return (span.low, span.high) if span else (None, None)


@dataclass(frozen=True)
class PublishedNumbers(JudgedRows):
    """The numbers with a verdict each; `note` is what holds for all of them."""

    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def lines(self) -> list[TableLine]:
        return [line(row, self.reasons) for row in self.rows]

    @cached_property
    def reasons(self) -> list[str]:
        """Reasons of differences, each once."""
        return reasons(self.rows)

    @property
    def sentence(self) -> str:
        """Number of those that agree."""
        those = numbered(len(self.rows), "number was", "numbers were")
        return f"With these settings {those} published: {', '.join(parts(self.counts))}."

    def table(self, most: int) -> Table:
        """For the terminal: the first `most` numbers with our values and verdicts."""
        table = Table(title=Text("Published and measured"))
        ways = [
            name for name, has in (("its time", self.has_period), ("today", self.has_today)) if has
        ]
        for at, name in enumerate(("Where", "Published", *(f"Measured, {way}" for way in ways))):
            table.add_column(name, justify="right" if at == 1 else "left")
        for shown in self.lines[:most]:
            cells = [
                cell
                for cell, has in ((shown.period, self.has_period), (shown.today, self.has_today))
                if has
            ]
            verdicts = (Text(f"{cell.median} ({cell.verdict})") for cell in cells)
            table.add_row(
                Text(f"{shown.where}, {shown.quantity}"), Text(shown.published), *verdicts
            )
        if len(self.lines) > most:
            table.add_row(Text(f"... and {len(self.lines) - most} more on the page"))
        return table
