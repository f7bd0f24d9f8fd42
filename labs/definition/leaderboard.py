"""The rule of a leaderboard: a weighted sum of what a program reached on the hidden networks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreTerm:
    """A part of the sum: `weight` times `value` over `per`.

    `value` is written as that of a test. `per` is an expression in the parameters of the network,
    so that a fast network counts as much as a slow one.
    """

    value: str
    weight: float = 1.0
    per: str = "1"


@dataclass(frozen=True)
class Leaderboard:
    """A ranking by the mean score of the program `question`; the largest is first.

    A network scores the sum of the `terms`, at least 0, and 0 if the test `needs` failed there.
    `text` says for students what the score is.
    """

    question: str
    needs: str
    terms: tuple[ScoreTerm, ...]
    text: str
