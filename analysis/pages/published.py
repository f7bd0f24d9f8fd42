"""Published numbers next to the measured ones: rows, verdicts and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import msgspec
from rich.table import Table

from analysis.fmt import MINUS, NOTHING, counted, signed, with_unit
from analysis.measures.metrics import UnknownMetric
from analysis.measures.results import RunResults, value_of
from analysis.records.json_reader import Problems
from analysis.records.spec_file import MeasuredEntry, PublishedRow, checked_row
from analysis.rendering import text_table
from analysis.statistics import published
from analysis.statistics.sweep_samples import ValueSpan
from analysis.table import csv_lines


def published_with_run(results: RunResults, problems: Problems) -> PublishedNumbers:
    """Return the numbers that were published with the run's settings, each with a verdict."""
    entries = results.run.spec.published
    return PublishedNumbers(
        tuple(published.judge_row(_row(entry, results, problems)) for entry in entries)
    )


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
    """Return a value for each seed; the first flow's row has the trial's metrics too."""
    trials = [
        [{**trial.by_name, **trial.flows[0].row}, *(flow.row for flow in trial.flows[1:])]
        for trial in results.measured
        if trial.trial.condition.name == condition and trial.flows
    ]
    values = (value_of(rows, entry.metric, entry.flow, entry.among) for rows in trials)
    return [(entry.scale or 1.0) * value for value in values if value is not None]


_ROW = (
    *("where", "series", "x", "quantity", "unit", "printed", "published_low", "published_high"),
    *("published_note", "mean_of", "group", "setting", "line_rate", "needs", "listed"),
)
"""Columns of reproduction.csv that a row has under the same name, but for `published`."""
_MEASURED = (
    *("verdict", "factor", "center", "interval_low", "interval_high", "further_low"),
    *("further_high", "least", "greatest", "runs", "values"),
)


Line = dict[str, Any]  # a row of the page's table, by the names that templates/numbers.html has
_WORDS = {
    published.Word.AGREES: ("agrees", "agrees", "agree", ""),
    published.Word.WITHIN: ("within", "lies within", "lie within", " the range of a further run"),
    published.Word.DIFFERS: ("apart", "differs", "differ", ""),
    published.Word.FEW: ("unrun", "is not judged", "are not judged", ""),
    published.Word.UNRUN: ("unrun", "was not run", "were not run", ""),
    published.Word.UNSTATED: ("unrun", "is not stated", "are not stated", " in the source"),
    published.Word.LISTED: ("unrun", "is listed only", "are listed only", ""),
}
"""The CSS class of a verdict, what one row does, what several do, and the rest of the sentence."""


def parts(counts: published.Counts, whole: bool = False) -> list[str]:
    """Return the count of rows by verdict, without zeros, or as parts of a `whole` sentence."""
    is_all = whole and counts["later"] == counts[published.Word.UNRUN]
    those = "" if is_all else f"{counts['later']:,} {'of them ' * whole}"
    later = f" ({those}only in --full)" if counts["later"] else ""
    named = [
        f"{counted(number, one, several)}{later if word == published.Word.UNRUN else rest * whole}"
        for word, (_, one, several, rest) in _WORDS.items()
        if (number := counts[word])
        or (
            whole and word in (published.Word.AGREES, published.Word.WITHIN, published.Word.DIFFERS)
        )
    ]
    return named or ["none"]


def headline(counts: published.Counts, mode: str) -> str:
    if not counts["rows"]:
        return "No published number is listed: no comparison is possible."
    named = parts(counts, whole=True)
    verdicts = f"{', '.join(named[:-1])}, and {named[-1]}"
    ending = f" ({mode} mode)" if mode else ""
    return f"Of {counted(counts['rows'], 'published number')} {verdicts}{ending}."


def groups(rows: Iterable[published.Judged], listed: Sequence[str]) -> list[Line]:
    """Return the lines by group; its `command` runs all of a group, else each line has one."""
    grouped: dict[str, list[published.Judged]] = {}
    for judged in rows:
        grouped.setdefault(judged.row.group or "numbers", []).append(judged)
    found = []
    for name, members in grouped.items():
        lines, command = [line(judged, listed) for judged in members], ""
        if len(lines) > 1 and len({each["command"] for each in lines}) == 1:
            command = lines[0]["command"]
            lines = [each | {"command": ""} for each in lines]
        sentence = (
            f"{counted(len(members), 'number')}: {', '.join(parts(published.count(members)))}"
        )
        found.append({"name": name, "sentence": sentence, "lines": lines, "command": command})
    return found


def mechanisms(rows: Sequence[published.Judged]) -> dict[str, list[str]]:
    """Return the rows that differ by what was tried for them; last those without ("")."""
    named: dict[str, list[str]] = {}
    for judged in rows:
        if judged.outcome.word == published.Word.DIFFERS:
            row = judged.row
            named.setdefault(row.why, []).append(f"{row.where}: {row.quantity}")
    return dict(sorted(named.items(), key=lambda each: not each[0]))


def reasons(rows: Sequence[published.Judged]) -> list[str]:
    return [why for why in mechanisms(rows) if why]


def line(judged: published.Judged, listed: Sequence[str]) -> Line:
    """Return the row's line; `reason` is the place of its reason in `listed`, from 1, or 0."""
    row, outcome = judged.row, judged.outcome.word
    return {
        "where": row.where,
        "quantity": with_unit(row.quantity, row.unit),
        "published": NOTHING if row.published is None else as_printed(row.printed),
        "published_range": _published_range(judged),
        "note": row.published_note,
        "cells": {
            era: _cell(judged.measured[era], judged.verdicts[era], row.unit)
            for era in published.ERAS
        },
        "style": _WORDS[outcome][0],
        "reason": listed.index(row.why) + 1 if outcome == published.Word.DIFFERS and row.why else 0,
        "why": _remark(judged),
        "command": row.command,
    }


def _remark(judged: published.Judged) -> str:
    row, outcome = judged.row, judged.outcome.word
    if outcome == published.Word.DIFFERS and not row.why:
        return "Not explained."
    if row.line_rate and outcome in (published.Word.AGREES, published.Word.WITHIN):
        return "Any TCP fills this link."
    if outcome == published.Word.UNRUN and row.needs:
        return f"Only in --full: {row.needs}."
    return row.listed if outcome == published.Word.LISTED else ""


def as_printed(printed: str) -> str:
    """Return a published number with all its digits, without powers of ten."""
    number = Decimal(printed)
    shown = f"{number:,f}" if abs(number) < 10**15 else f"{number:g}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", MINUS)


def _published_range(judged: published.Judged) -> str:
    row = judged.row
    low, high = row.allowed_low, row.allowed_high
    if low is not None and high is not None:
        return f"allowed: {spanned(ValueSpan(low, high))}"
    if low is not None or high is not None:
        return f"allowed: {'at least' if high is None else 'at most'} {signed(low or high or 0.0)}"
    low, high = row.published_low, row.published_high
    if low is None or high is None or low == high:
        return published.Word.UNSTATED * (row.published is None)
    return spanned(ValueSpan(low, high))


def _cell(
    ours: published.Measurement | None, verdict: published.Agreement, unit: str
) -> dict[str, str]:
    """Return median, range of runs, range of a `further` run, verdict and CSS class."""
    text, style = verdict.text(unit), _WORDS[verdict.word][0]
    if ours is None:
        none = {"median": NOTHING, "range": "", "further": ""}
        return none | {"verdict": text, "style": style}
    runs = counted(ours.count, "run")
    is_judged = verdict.word in (published.Word.WITHIN, published.Word.DIFFERS)
    return {
        "median": signed(ours.center),
        "range": runs if ours.runs.low == ours.runs.high else f"{spanned(ours.runs)}, {runs}",
        "further": f"a further one: {spanned(ours.further)}" if is_judged and ours.further else "",
        "verdict": text,
        "style": style,
    }


def spanned(span: ValueSpan) -> str:
    return f"{signed(span.low)} to {signed(span.high)}"


def csv_text(studies: Sequence[published.JudgedStudy]) -> str:
    """Return reproduction.csv: a line for each number, figures in full, blanks between `values`."""
    of_row = ("published" if name == "printed" else name for name in _ROW)
    measured = (f"{era}_{column}" for era in published.ERAS for column in _MEASURED)
    lines: list[list[str | float | None]] = [
        ["study", *of_row, "outcome", *measured, "seeds", "why", "command"]
    ]
    for study in studies:
        for judged in study.rows:
            row = judged.row
            facts = [study.study.name, *(getattr(row, name) for name in _ROW), judged.outcome.word]
            of_eras = (cell for era in published.ERAS for cell in _csv_measured(judged, era))
            lines.append([*facts, *of_eras, " ".join(row.seeds), row.why, row.command])
    return csv_lines(lines)


def _csv_measured(judged: published.Judged, era: published.Era) -> list[str | float | None]:
    ours, verdict, values = judged.measured[era], judged.verdicts[era], getattr(judged.row, era)
    if ours is None:
        return [verdict.word, *[None] * 8, 0, ""]
    spans = (ours.middle, ours.further, ours.runs)
    ends = [end for span in spans for end in ((span.low, span.high) if span else (None, None))]
    numbers = (verdict.factor, ours.center, *ends, ours.count)
    return [verdict.word, *numbers, " ".join(map(str, values))]


@dataclass(frozen=True)
class PublishedNumbers(published.JudgedRows):
    """The numbers with a verdict each; `note` is what holds for all of them."""

    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def lines(self) -> list[Line]:
        listed = reasons(self.rows)
        return [line(row, listed) for row in self.rows]

    @property
    def mechanisms(self) -> dict[str, list[str]]:
        return mechanisms(self.rows)

    @property
    def sentence(self) -> str:
        those = counted(len(self.rows), "number was", "numbers were")
        return f"With these settings {those} published: {', '.join(parts(self.counts))}."

    def table(self, most: int) -> Table:
        named: dict[published.Era, str] = {"period": "its time", "today": "today"}
        eras = [era for era in named if self.has(era)]
        lines = []
        for shown in self.lines[:most]:
            cells = (shown["cells"][era] for era in eras)
            verdicts = (f"{cell['median']} ({cell['verdict']})" for cell in cells)
            name = f"{shown['where']}, {shown['quantity']}"
            lines.append([name, shown["published"], *verdicts])
        if len(self.lines) > most:
            lines.append([f"... and {len(self.lines) - most} more on the page"])
        head = ("Where", "Published", *(f"Measured, {named[era]}" for era in eras))
        return text_table(head, lines, "Published and measured", right=(1,))
