"""What an answer earned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AnswerMark:
    """What an answer earned: `points` is None if a person is to read it.

    `verdict` is right, follows, unit, factor, mistake, wrong, part, empty, unreadable, read, given,
    late or by hand.
    """

    question: str
    given: str
    expected: str
    points: float | None
    verdict: str
    note: str = ""
    mistake: str = ""
