"""Every row with its verdicts, and how many rows of a study have which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from analysis.records.published_row import PublishedRow
from analysis.records.reproduction_folder import ReproducedStudy
from analysis.statistics.prediction import ValueSpan
from analysis.statistics.verdict import (
    AGREES,
    DIFFERS,
    FEW,
    LISTED,
    UNRUN,
    UNSTATED,
    WITHIN,
    Agreement,
    Ours,
    judge,
    published_span,
    summarize,
)

Way = Literal["period_kernel", "period", "today"]
"""On a kernel of a study's time, with settings of that time, or with those of today."""


@dataclass(frozen=True)
class Judged:
    """A row, what its number stands for, and ours with a verdict for each way of running it.

    It counts by its `headline`, whichever verdict is the better.
    """

    row: PublishedRow
    span: ValueSpan | None
    period_kernel: Ours | None
    period: Ours | None
    today: Ours | None
    period_kernel_verdict: Agreement
    period_verdict: Agreement
    today_verdict: Agreement
    headline: Way

    @property
    def outcome(self) -> Agreement:
        """The verdict by which the row counts."""
        return {
            "period_kernel": self.period_kernel_verdict,
            "period": self.period_verdict,
            "today": self.today_verdict,
        }[self.headline]


@dataclass(frozen=True)
class Counts:
    """How many rows there are, and with which verdict; each row is in one of the next seven.

    Of the rows that were not run, `later` are of the full form only.
    """

    rows: int
    agree: int
    within: int
    differ: int
    few: int
    unrun: int
    unstated: int
    listed: int
    later: int


@dataclass(frozen=True)
class JudgedRows:
    """Rows that belong together."""

    rows: tuple[Judged, ...]

    @cached_property
    def counts(self) -> Counts:
        return count(self.rows)

    @cached_property
    def today_counts(self) -> Counts:
        """The same by what today's settings gave."""
        return _counted(self.rows, (row.today_verdict for row in self.rows))

    @property
    def has_period_kernel(self) -> bool:
        """Whether a number was measured on a kernel of its time."""
        return any(row.period_kernel for row in self.rows)

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
    """Each row by the kernel of its time, if it ran on that, or else by the settings, if any."""
    other: Way = "period" if study.profile else "today"
    return JudgedStudy(
        tuple(
            judge_row(row, "period_kernel" if row.period_kernel else other) for row in study.rows
        ),
        study,
    )


def judge_row(row: PublishedRow, headline: Way | None = None) -> Judged:
    """The row with its verdicts; without a headline by the settings of its time, if it has runs."""
    span = None if row.published is None else published_span(row.printed, row.unit)
    on_kernel, period, today = (
        summarize(values, row.mean_of) for values in (row.period_kernel, row.period, row.today)
    )
    of_kernel, of_period, of_today = (
        Agreement(LISTED) if row.listed else judge(row.published, span, ours)
        for ours in (on_kernel, period, today)
    )
    chosen = headline or ("period" if period else "today")
    return Judged(row, span, on_kernel, period, today, of_kernel, of_period, of_today, chosen)


def count(rows: Iterable[Judged]) -> Counts:
    """The rows by their outcomes."""
    counted = tuple(rows)
    return _counted(counted, (row.outcome for row in counted))


def _counted(rows: tuple[Judged, ...], verdicts: Iterable[Agreement]) -> Counts:
    words = [verdict.word for verdict in verdicts]
    later = sum(
        word == UNRUN and bool(judged.row.needs) for word, judged in zip(words, rows, strict=True)
    )
    agree, within, differ, few, unrun, unstated, listed = (
        words.count(word) for word in (AGREES, WITHIN, DIFFERS, FEW, UNRUN, UNSTATED, LISTED)
    )
    return Counts(len(rows), agree, within, differ, few, unrun, unstated, listed, later)
