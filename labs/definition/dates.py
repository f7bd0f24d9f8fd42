"""Dates of a lab in a course: the deadline, what lateness costs, and when the key may be shown.

They have no time zone: they are local times, as Moodle's worksheet and archives have them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from topologies.foundation.errors import UsageError

_SHOWN = "%Y-%m-%d %H:%M"


def as_text(time: datetime) -> str:
    """Return a time as pages and tables show it."""
    return time.strftime(_SHOWN)


@dataclass(frozen=True)
class Late:
    """The time of a hand-in and what it costs. `days` is None if only the lateness is known."""

    submitted: str
    source: str
    days: int | None = 0
    percent: float = 0.0

    def after(self, points: float) -> float:
        """Return what lateness leaves of the points."""
        return round(points * (1 - self.percent / 100), 2)


@dataclass(frozen=True)
class StudentDates:
    """Another deadline for a student, or the time of a hand-in by the instructor's word."""

    student: str
    deadline: datetime | None = None
    submitted: datetime | None = None


@dataclass(frozen=True)
class Dates:
    """[[dates]] of course.toml. `free_days` of lateness have no cost in this lab.

    Within `grace_minutes` a hand-in is in time; later ones are late from the deadline on, and each
    day that has begun counts.
    """

    lab: str
    deadline: datetime | None = None
    grace_minutes: float = 0.0
    percent_per_day: float = 0.0
    free_days: int = 0
    key_after: datetime | None = None
    exception: tuple[StudentDates, ...] = ()

    def __post_init__(self) -> None:
        times = [self.deadline, self.key_after]
        times += [time for each in self.exception for time in (each.deadline, each.submitted)]
        if any(time and time.tzinfo for time in times):
            problem = f"The dates of {self.lab} have a time zone."
            raise UsageError(problem, "Write local times, such as 2026-11-20T23:59:00.")
        if not 0 <= self.percent_per_day <= 100 or min(self.grace_minutes, self.free_days) < 0:
            problem = f"The dates of {self.lab} have a number that is not possible."
            raise UsageError(problem, "Use 0 to 100 percent, and no negative minutes or days.")

    def late(self, submitted: datetime, source: str, own: StudentDates | None) -> Late:
        """Return the lateness of a hand-in. `own` are the dates of its student alone."""
        deadline = (own and own.deadline) or self.deadline
        if deadline is None or submitted <= deadline + timedelta(minutes=self.grace_minutes):
            return Late(as_text(submitted), source)
        days = math.ceil((submitted - deadline) / timedelta(days=1))
        percent = min(100.0, self.percent_per_day * max(0, days - self.free_days))
        return Late(as_text(submitted), source, days, percent)
