"""A law of the literature, a run's points beside it, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.measures.run_results import written

MOST_OUTSIDE = 0.05
"""The share of points that may lie outside the tolerance of a law that is shown."""


@dataclass(frozen=True)
class Law:
    """What is claimed, by whom, and how near to it a run must come.

    `what` is the measured quantity in a sentence, such as "the rate". `tolerance` is a share of the
    law's value; `reason` says in a sentence why it is that wide.
    """

    question: str
    what: str
    formula: str
    source: str
    tolerance: float
    reason: str


@dataclass(frozen=True)
class LawPoint:
    """What was measured at `x` (the axis of the law's graph) beside what the law gives there."""

    x: float
    measured: float
    theory: float
    name: str = ""

    @property
    def ratio(self) -> float:
        return self.measured / self.theory


def within(law: Law, point: LawPoint) -> bool:
    """Whether the measured value is as near to the law as it claims."""
    return abs(point.ratio - 1) <= law.tolerance


def outside(law: Law, points: Sequence[LawPoint]) -> list[LawPoint]:
    """The points that are not."""
    return [point for point in points if not within(law, point)]


def ratios(points: Sequence[LawPoint]) -> str:
    """`1.01 (0.98 to 1.03)`: measured / law, the median and the range."""
    values = [point.ratio for point in points]
    least, most = f"{min(values):.3f}", f"{max(values):.3f}"
    return f"{median(values):.3f}" + (f" ({least} to {most})" if least != most else "")


def allowed(law: Law) -> str:
    """`± 5 %`."""
    return f"\N{PLUS-MINUS SIGN} {written(100 * law.tolerance)} %"
