"""A graph of what one should expect: lines over time, computed from the rules that TCP follows.

The values are examples and no student's own: axes have no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from labs.drawings import svg
from topologies.foundation.errors import UsageError

_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 350.0, 16.0, 190.0
_STEPS = 240
CUBIC_KEPT, RENO_KEPT = 0.7, 0.5
"""What is kept of the window after a loss (RFC 9438, section 4.6; RFC 5681, section 3.2)."""


@dataclass(frozen=True)
class Curve:
    """A line: through `points`, or computed by a rule from `period` on; all from 0 to 1.

    `reno` grows evenly from half of `high`, `cubic` with the third power of time from seven tenths
    of it; `level` stays at `high`. `period` is the time between two losses.
    """

    label: str
    rule: Literal["reno", "cubic", "level", "points"] = "points"
    period: float = 0.25
    high: float = 0.9
    points: tuple[tuple[float, float], ...] = ()
    dashed: bool = False

    def __post_init__(self) -> None:
        if (self.rule == "points") != bool(self.points) or not 0 < self.period <= 1:
            raise UsageError(
                f"The line '{self.label}' cannot be drawn.", "Give it points or a rule."
            )

    def places(self) -> tuple[tuple[float, float], ...]:
        """Points of the line, from 0 to 1 both."""
        if self.rule == "points":
            return self.points
        times = [step / _STEPS for step in range(_STEPS + 1)]
        return tuple((time, self._value(time % self.period / self.period)) for time in times)

    def _value(self, phase: float) -> float:
        """The window at a share of the time between two losses."""
        if self.rule == "level":
            return self.high
        if self.rule == "reno":
            return self.high * (RENO_KEPT + (1 - RENO_KEPT) * phase)
        # RFC 9438, figure 1: W = C (t - K)^3 + W_max; here it passes W_max at eight tenths.
        flat = 0.8
        return self.high * (1 - (1 - CUBIC_KEPT) * (1 - phase / flat) ** 3)


@dataclass(frozen=True)
class LineGraph:
    """`x` and `y` name the axes; `marks` are words at places of the graph."""

    name: str
    alt: str
    x: str
    y: str
    lines: tuple[Curve, ...]
    marks: tuple[tuple[float, float, str], ...] = ()

    def drawn(self) -> str:
        """The drawing as SVG."""
        height = _BOTTOM + 24 + 18 * len(self.lines)
        return svg.document(height, self.alt, [*self._axes(), *self._curves(), *self._marks()])

    def _axes(self) -> Iterator[str]:
        yield svg.line((_LEFT, _TOP), (_LEFT, _BOTTOM))
        yield svg.line((_LEFT, _BOTTOM), (_RIGHT, _BOTTOM))
        yield svg.text((_LEFT - 28, _TOP - 2), self.y, "start")
        yield svg.text((_RIGHT, _BOTTOM + 15), self.x, "end")

    def _curves(self) -> Iterator[str]:
        for number, curve in enumerate(self.lines):
            colour = svg.COLOURS[number % len(svg.COLOURS)]
            y = _BOTTOM + 30 + 18 * number
            yield svg.path([_place(x, value) for x, value in curve.places()], colour, curve.dashed)
            yield svg.path([(_LEFT, y - 4), (_LEFT + 24, y - 4)], colour, curve.dashed)
            yield svg.text((_LEFT + 30, y), curve.label, "start")

    def _marks(self) -> Iterator[str]:
        for x, y, words in self.marks:
            yield svg.text(_place(x, y), words)


def _place(x: float, y: float) -> tuple[float, float]:
    return _LEFT + x * (_RIGHT - _LEFT), _BOTTOM - y * (_BOTTOM - _TOP - 10)
