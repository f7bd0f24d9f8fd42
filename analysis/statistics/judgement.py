"""Every row with its verdicts, and how many rows of a study have which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.records.published_row import PublishedRow
from analysis.records.reproduction_folder import ReproducedStudy
from analysis.statistics.verdict import (
    AGREES,
    DIFFERS,
    UNRUN,
    UNSTATED,
    WITHIN,
    Agreement,
    Ours,
    ValueSpan,
    best,
    judge,
    published_span,
    summarize,
)


@dataclass(frozen=True)
class Judged:
    """A row, what its number stands for, and ours with a verdict for each way of running it."""

    row: PublishedRow
    span: ValueSpan | None
    period: Ours | None
    today: Ours | None
    period_verdict: Agreement
    today_verdict: Agreement

    @property
    def outcome(self) -> Agreement:
        """The better of the two verdicts, by which the row counts."""
        return best((self.period_verdict, self.today_verdict))


@dataclass(frozen=True)
class Counts:
    """How many rows there are, and with which outcome; each row is in one of the last five.

    `agree` splits into `agree_period` and `agree_today`, which overlap.
    """

    rows: int
    agree_period: int
    agree_today: int
    agree: int
    within: int
    differ: int
    unrun: int
    unstated: int


@dataclass(frozen=True)
class JudgedRows:
    """Rows that belong together."""

    rows: tuple[Judged, ...]

    @cached_property
    def counts(self) -> Counts:
        return count(self.rows)

    @property
    def has_period(self) -> bool:
        """Whether a number was measured with the settings of its time."""
        return any(row.period for row in self.rows)

    @property
    def has_today(self) -> bool:
        return any(row.today for row in self.rows)


@dataclass(frozen=True)
class JudgedStudy(JudgedRows):
    """A study with all rows judged."""

    study: ReproducedStudy


def judge_study(study: ReproducedStudy) -> JudgedStudy:
    return JudgedStudy(tuple(judge_row(row) for row in study.rows), study)


def judge_row(row: PublishedRow) -> Judged:
    span = (
        None if row.published is None else published_span(row.printed, row.unit, row.low, row.high)
    )
    period, today = summarize(row.period), summarize(row.today)
    verdicts = (judge(row.published, span, ours) for ours in (period, today))
    return Judged(row, span, period, today, *verdicts)


def count(rows: Sequence[Judged]) -> Counts:
    words = [row.outcome.word for row in rows]
    period = sum(row.period_verdict.word == AGREES for row in rows)
    today = sum(row.today_verdict.word == AGREES for row in rows)
    return Counts(
        len(rows),
        period,
        today,
        *(words.count(word) for word in (AGREES, WITHIN, DIFFERS, UNRUN, UNSTATED)),
    )
