"""Published numbers next to the measured ones: rows, verdicts and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import msgspec
from rich.table import Table

from analysis.fmt import MINUS, NOTHING, counted, signed, with_unit
from analysis.measures.metrics import UnknownMetric
from analysis.measures.results import RunResults, value_of
from analysis.records.json_reader import Problems
from analysis.records.spec_file import MeasuredEntry, PublishedRow, checked_row
from analysis.rendering import text_table
from analysis.statistics.published import (
    ERAS,
    Agreement,
    Counts,
    Era,
    Judged,
    JudgedRows,
    JudgedStudy,
    Measurement,
    Word,
    count,
    judge_row,
)
from analysis.statistics.sweep_samples import ValueSpan
from analysis.table import csv_lines


def published_with_run(results: RunResults, problems: Problems) -> PublishedNumbers:
    """Return the numbers that were published with the run's settings, each with a verdict."""
    entries = results.run.spec.published
    return PublishedNumbers(tuple(judge_row(_row(entry, results, problems)) for entry in entries))


def _row(entry: MeasuredEntry, results: RunResults, problems: Problems) -> PublishedRow:
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
    """Return one value for each seed that has one, in the published number's unit.

    The row of the first flow has the metrics of the trial too.
    """
    trials = [
        [{**trial.by_name, **trial.flows[0].row}, *(flow.row for flow in trial.flows[1:])]
        for trial in results.measured
        if trial.trial.condition.name == condition and trial.flows
    ]
    values = (value_of(rows, entry.metric, entry.flow, entry.among) for rows in trials)
    return [(entry.scale or 1.0) * value for value in values if value is not None]


STYLES: dict[Word, str] = {
    Word.AGREES: "agrees",
    Word.WITHIN: "within",
    Word.DIFFERS: "apart",
} | dict.fromkeys((Word.FEW, Word.UNRUN, Word.UNSTATED, Word.LISTED), "unrun")
"""The CSS class of each verdict."""
_ROW = (
    *("where", "series", "x", "quantity", "unit", "printed", "published_low", "published_high"),
    *("published_note", "mean_of", "group", "setting", "line_rate", "needs", "listed"),
)
"""Columns of reproduction.csv that a row has under the same name, but for `published`."""
_MEASURED = (
    *("verdict", "factor", "center", "interval_low", "interval_high", "further_low"),
    *("further_high", "least", "greatest", "runs", "values"),
)


@dataclass(frozen=True)
class Cell:
    """The measured value with one kind of settings, its verdict and the verdict's CSS class.

    `further` is where a further value would lie, if the median is not the published number.
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
    cells: dict[Era, Cell]
    style: str
    reason: int
    why: str
    command: str


@dataclass(frozen=True)
class LineGroup:
    """Lines of one group, and the count of each verdict.

    `command` runs all of them; it is empty if each line has its own.
    """

    name: str
    counts: Counts
    lines: tuple[TableLine, ...]
    command: str = ""

    @property
    def sentence(self) -> str:
        """Such as "56 numbers: 20 agree, 10 lie within, 26 differ"."""
        return f"{counted(self.counts.rows, 'number')}: {', '.join(parts(self.counts))}"


_COUNTED = {
    "agree": ("agrees", "agree", ""),
    "within": ("lies within", "lie within", " the range of a further run"),
    "differ": ("differs", "differ", ""),
    "few": ("is not judged", "are not judged", ""),
    "unrun": ("was not run", "were not run", ""),
    "unstated": ("is not stated", "are not stated", " in the source"),
    "listed": ("is listed only", "are listed only", ""),
}
"""What one row of a count does, what several do, and the rest of a whole sentence."""


def parts(counts: Counts, whole: bool = False) -> list[str]:
    """Return the count of rows by verdict, without zeros, or as parts of a `whole` sentence."""
    those = f"{counts.later:,} {'of them ' * whole}"
    if whole and counts.later == counts.unrun:
        those = ""
    later = f" ({those}only in --full)" if counts.later else ""
    named = [
        f"{counted(number, one, several)}{later if name == 'unrun' else rest * whole}"
        for name, (one, several, rest) in _COUNTED.items()
        if (number := getattr(counts, name)) or (whole and name in ("agree", "within", "differ"))
    ]
    return named or ["none"]


def headline(counts: Counts, mode: str) -> str:
    """Return the numbers of rows by verdict, in a sentence."""
    if not counts.rows:
        return "No published number is listed: no comparison is possible."
    named = parts(counts, whole=True)
    verdicts, ending = (
        f"{', '.join(named[:-1])}, and {named[-1]}",
        f" ({mode} mode)" if mode else "",
    )
    return f"Of {counted(counts.rows, 'published number')} {verdicts}{ending}."


def groups(rows: Iterable[Judged], listed: Sequence[str]) -> list[LineGroup]:
    """Return the rows' lines by their group, in the order of the first row of each."""
    grouped: dict[str, list[Judged]] = {}
    for judged in rows:
        grouped.setdefault(judged.row.group or "numbers", []).append(judged)
    found = []
    for name, members in grouped.items():
        lines, command = tuple(line(judged, listed) for judged in members), ""
        if len(lines) > 1 and len({each.command for each in lines}) == 1:
            command = lines[0].command
            lines = tuple(replace(each, command="") for each in lines)
        found.append(LineGroup(name, count(members), lines, command))
    return found


def reasons(rows: Sequence[Judged]) -> list[str]:
    return list(
        dict.fromkeys(
            judged.row.why
            for judged in rows
            if judged.row.why and judged.outcome.word == Word.DIFFERS
        )
    )


def mechanisms(rows: Sequence[Judged]) -> dict[str, list[str]]:
    """Return the rows that differ by what was tried for them, in the order of `reasons`.

    The last ones are those for which no mechanism was tried ("").
    """
    named: dict[str, list[str]] = {why: [] for why in (*reasons(rows), "")}
    for judged in rows:
        if judged.outcome.word == Word.DIFFERS:
            named[judged.row.why].append(f"{judged.row.where}: {judged.row.quantity}")
    return {why: of for why, of in named.items() if of}


def line(judged: Judged, listed: Sequence[str]) -> TableLine:
    """Return the row's line; `reason` is the place of its reason in `listed`, from 1, or 0."""
    row, outcome = judged.row, judged.outcome.word
    return TableLine(
        row.where,
        with_unit(row.quantity, row.unit),
        NOTHING if row.published is None else as_printed(row.printed),
        _published_range(judged),
        row.published_note,
        {era: _cell(judged.measured[era], judged.verdicts[era], row.unit) for era in ERAS},
        STYLES[outcome],
        listed.index(row.why) + 1 if outcome == Word.DIFFERS and row.why else 0,
        _remark(judged),
        row.command,
    )


def _remark(judged: Judged) -> str:
    row, outcome = judged.row, judged.outcome.word
    if outcome == Word.DIFFERS and not row.why:
        return "Not explained."
    if row.line_rate and outcome in (Word.AGREES, Word.WITHIN):
        return "Any TCP fills this link."
    if outcome == Word.UNRUN and row.needs:
        return f"Only in --full: {row.needs}."
    return row.listed if outcome == Word.LISTED else ""


def as_printed(printed: str) -> str:
    """Return a published number with all its digits, without powers of ten."""
    number = Decimal(printed)
    shown = f"{number:,f}" if abs(number) < 10**15 else f"{number:g}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", MINUS)


def _published_range(judged: Judged) -> str:
    low, high = judged.row.allowed_low, judged.row.allowed_high
    if low is not None and high is not None:
        return f"allowed: {spanned(ValueSpan(low, high))}"
    if low is not None or high is not None:
        return f"allowed: {'at least' if high is None else 'at most'} {signed(low or high or 0.0)}"
    low, high = judged.row.published_low, judged.row.published_high
    if low is None or high is None or low == high:
        return "" if judged.row.published is not None else Word.UNSTATED
    return spanned(ValueSpan(low, high))


def _cell(ours: Measurement | None, verdict: Agreement, unit: str) -> Cell:
    style = STYLES[verdict.word]
    if ours is None:
        return Cell(NOTHING, "", "", verdict.word, style)
    runs = counted(ours.count, "run")
    spread = runs if ours.runs.low == ours.runs.high else f"{spanned(ours.runs)}, {runs}"
    further = verdict.word in (Word.WITHIN, Word.DIFFERS) and ours.further
    text = f"a further one: {spanned(further)}" if further else ""
    return Cell(signed(ours.center), spread, text, verdict.text(unit), style)


def spanned(span: ValueSpan) -> str:
    return f"{signed(span.low)} to {signed(span.high)}"


def csv_text(studies: Sequence[JudgedStudy]) -> str:
    """Return reproduction.csv: one line for each published number, figures in full.

    `values` have blanks between them.
    """
    of_row = ("published" if name == "printed" else name for name in _ROW)
    measured = (f"{era}_{column}" for era in ERAS for column in _MEASURED)
    head = ["study", *of_row, "outcome", *measured, "seeds", "why", "command"]
    lines = (_csv_line(study.study.name, judged) for study in studies for judged in study.rows)
    return csv_lines([head, *lines])


def _csv_line(study: str, judged: Judged) -> list[str | float | None]:
    row = judged.row
    return [
        *(study, *(getattr(row, name) for name in _ROW), judged.outcome.word),
        *(cell for era in ERAS for cell in _csv_measured(judged, era)),
        *(" ".join(row.seeds), row.why, row.command),
    ]


def _csv_measured(judged: Judged, era: Era) -> list[str | float | None]:
    ours, verdict, values = judged.measured[era], judged.verdicts[era], getattr(judged.row, era)
    if ours is None:
        return [verdict.word, *[None] * 8, 0, ""]
    numbers = [ours.center, *ends(ours.middle), *ends(ours.further), *ends(ours.runs), ours.count]
    return [verdict.word, verdict.factor, *numbers, " ".join(map(str, values))]


def ends(span: ValueSpan | None) -> tuple[float | None, float | None]:
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
        return reasons(self.rows)

    @property
    def mechanisms(self) -> dict[str, list[str]]:
        return mechanisms(self.rows)

    @property
    def sentence(self) -> str:
        """Number of those that agree."""
        those = counted(len(self.rows), "number was", "numbers were")
        return f"With these settings {those} published: {', '.join(parts(self.counts))}."

    def table(self, most: int) -> Table:
        """Return the first `most` numbers with measured values and verdicts, for the terminal."""
        named: dict[Era, str] = {"period": "its time", "today": "today"}
        eras = [era for era in named if self.has(era)]
        lines = []
        for shown in self.lines[:most]:
            cells = (shown.cells[era] for era in eras)
            verdicts = (f"{cell.median} ({cell.verdict})" for cell in cells)
            lines.append([f"{shown.where}, {shown.quantity}", shown.published, *verdicts])
        if len(self.lines) > most:
            lines.append([f"... and {len(self.lines) - most} more on the page"])
        head = ("Where", "Published", *(f"Measured, {named[era]}" for era in eras))
        return text_table(head, lines, "Published and measured", right=(1,))
