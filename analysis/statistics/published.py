"""Verdicts on published numbers, from the numbers alone.

A published number is one draw, or the mean of a few, from a quantity that varies. It could be the
measured median (`AGREES`), a further run (`WITHIN`), or neither (`DIFFERS`). No verdict says
*equal*: few or scattered runs agree with much. Below six runs there is no verdict (`FEW`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite
from statistics import fmean, median
from typing import Literal

from analysis.fmt import signed
from analysis.records.spec_file import PublishedRow, StudyEntry
from analysis.statistics.paired_tests import FEWEST, median_interval
from analysis.statistics.sweep_samples import ValueSpan, next_mean, next_run, true_mean


class Word(StrEnum):
    """Verdict on a published number."""

    AGREES = "agrees"
    WITHIN = "lies within"
    DIFFERS = "differs"
    FEW = "not judged"
    UNRUN = "not run"
    UNSTATED = "not stated"
    LISTED = "listed only"


TOLERANCE = 0.02
"""Share by which machines differ in a rate or time: headers, clocks, iperf's three digits."""

_RATE_OR_TIME = re.compile(r".*(bit|byte|b)/s|[mun\N{MICRO SIGN}]?s|min|h", re.IGNORECASE)


@dataclass(frozen=True)
class Measurement:
    """Runs in the unit of the row: median or mean, its 95 % interval, that of `further` runs."""

    center: float
    runs: ValueSpan
    middle: ValueSpan | None
    further: ValueSpan | None
    count: int


@dataclass(frozen=True)
class Agreement:
    """A verdict; of DIFFERS the `factor` (if above 0) and measured - published, of FEW the runs."""

    word: Word
    factor: float | None = None
    difference: float = 0.0
    runs: int = 0

    def text(self, unit: str) -> str:
        if self.word == Word.FEW:
            return f"{Word.FEW}: {self.runs} {'run' if self.runs == 1 else 'runs'}"
        if self.word != Word.DIFFERS:
            return self.word
        side = "higher" if self.difference > 0 else "lower"
        how_far = f"{signed(abs(self.difference))} {unit}".strip()
        if self.factor is not None:
            factor = f"{self.factor:.1f}" if self.factor < 10 else signed(round(self.factor))
            small = f"{100 * (self.factor - 1):.1g} %"
            how_far = small if self.factor < 1.095 else f"a factor of {factor}"
        return f"differs by {how_far} (measured is {side})"


def summarize(values: Sequence[float], mean_of: int = 1) -> Measurement | None:
    """Summarize values, one a seed, to compare with a mean of `mean_of`; None without any."""
    if not values:
        return None
    runs, is_mean = ValueSpan(min(values), max(values)), mean_of > 1
    center = fmean(values) if is_mean else median(values)
    middle = further = None
    if is_mean and len(values) >= FEWEST:
        middle, further = true_mean(values), next_mean(values, mean_of)
    elif interval := median_interval(values):
        middle, further = ValueSpan(interval.low, interval.high), next_run(values)
    return Measurement(center, runs, middle, further, len(values))


def published_span(printed: str, unit: str) -> ValueSpan:
    """Return the range of a number as printed, such as 9.35 to 9.45; of rates and times 2 %."""
    value, exponent = float(printed), Decimal(printed).as_tuple().exponent
    around = 0.5 * 10.0 ** min(exponent, 0) if isinstance(exponent, int) else 0.0
    if _RATE_OR_TIME.fullmatch(unit.strip()):
        around = max(around, TOLERANCE * abs(value))
    return ValueSpan(value - around, value + around)


def judge(published: float | None, span: ValueSpan | None, ours: Measurement | None) -> Agreement:
    """Compare a number, which stands for `span`, with the intervals of the runs."""
    if published is None or span is None:
        return Agreement(Word.UNSTATED)
    if ours is None:
        return Agreement(Word.UNRUN)
    if ours.middle is None or ours.further is None:
        return Agreement(Word.FEW, runs=ours.count)
    if ours.middle.meets(span):
        return Agreement(Word.AGREES)
    if ours.further.meets(span):
        return Agreement(Word.WITHIN)
    low, high = sorted((published, ours.center))
    factor = high / low if low > 0 and isfinite(high / low) else None
    return Agreement(Word.DIFFERS, factor, ours.center - published)


Era = Literal["period_kernel", "period", "today"]
ERAS: tuple[Era, ...] = ("period_kernel", "period", "today")
"""On a kernel of a study's time, with settings of that time, or with those of today."""


@dataclass(frozen=True)
class Judged:
    """A row with the values and verdict of each way of running it; it counts by its `headline`."""

    row: PublishedRow
    measured: dict[Era, Measurement | None]
    verdicts: dict[Era, Agreement]
    headline: Era

    @property
    def outcome(self) -> Agreement:
        return self.verdicts[self.headline]


Counts = Counter[str]
"""Numbers of rows by verdict; `rows` are all, `later` those of the full form that were not run."""
SettingCounts = Counter[str]
"""Numbers of published settings (`settings`) by the verdicts of their numbers.

A setting is a network and a condition, from which any number of rows may come. It holds (`hold`) if
no number of it differs, and `in_part` if some do; others `differ` or are `unjudged`. `line_rate` of
those that hold have a full link, which any TCP fills.
"""


@dataclass(frozen=True)
class JudgedRows:
    """Rows that belong together."""

    rows: tuple[Judged, ...]

    @cached_property
    def setting_counts(self) -> SettingCounts:
        return count_settings(self.rows)

    @cached_property
    def counts(self) -> Counts:
        return count(self.rows)

    def has(self, era: Era) -> bool:
        return any(row.measured[era] for row in self.rows)


@dataclass(frozen=True)
class JudgedStudy(JudgedRows):
    """A study with all rows judged."""

    study: StudyEntry


def judge_study(study: StudyEntry) -> JudgedStudy:
    """Judge each row by the kernel of its time if it ran on that, else by the settings, if any."""
    other: Era = "period" if study.profile else "today"
    headlines = ("period_kernel" if row.period_kernel else other for row in study.rows)
    return JudgedStudy(tuple(map(judge_row, study.rows, headlines)), study)


def judge_row(row: PublishedRow, headline: Era | None = None) -> Judged:
    """Judge a row by what its law allows or as printed; the headline is by default its period."""
    low, high, span = row.allowed_low, row.allowed_high, None
    if row.published is not None:
        span = ValueSpan(-inf if low is None else low, inf if high is None else high)
        span = published_span(row.printed, row.unit) if low is high is None else span
    measured = {era: summarize(getattr(row, era), row.mean_of) for era in ERAS}
    verdicts = {
        era: Agreement(Word.LISTED) if row.listed else judge(row.published, span, found)
        for era, found in measured.items()
    }
    return Judged(row, measured, verdicts, headline or ("period" if row.period else "today"))


def count(rows: Iterable[Judged], era: Era | None = None) -> Counts:
    """Count the rows by their outcome, or by the verdict of an era."""
    judged = tuple(rows)
    words = [(row.verdicts[era] if era else row.outcome).word for row in judged]
    needs = [row.row.needs for row, word in zip(judged, words, strict=True) if word == Word.UNRUN]
    counts: Counts = Counter(words)
    counts.update(rows=len(judged), later=sum(map(bool, needs)))
    return counts


def count_settings(rows: Iterable[Judged]) -> SettingCounts:
    settings: dict[str, list[Judged]] = {}
    for judged in rows:
        settings.setdefault(judged.row.setting or judged.row.where, []).append(judged)
    outcomes = [(_outcome(each), each[0].row.line_rate) for each in settings.values()]
    full = sum(line_rate for outcome, line_rate in outcomes if outcome == "hold")
    counts = Counter(outcome for outcome, _ in outcomes)
    return Counter({"settings": len(settings), "line_rate": full, **counts})


def _outcome(rows: Sequence[Judged]) -> str:
    words = [judged.outcome.word for judged in rows]
    holds = Word.AGREES in words or Word.WITHIN in words
    if Word.DIFFERS not in words:
        return "hold" if holds else "unjudged"
    return "in_part" if holds else "differ"
