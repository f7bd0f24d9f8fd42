"""How published numbers and ours look in every graph, and how one of them is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from analysis.figures.panels import plain
from analysis.rendering.colours import BLUE, GREEN, VERMILLION

Direction = Literal["x", "y"]
_FAR = 20.0
"""An axis is logarithmic if the greatest number is so many times the least."""


@dataclass(frozen=True)
class ValueSource:
    """Whose numbers; `shift` moves them aside (share of a row), off those of other sources."""

    label: str
    color: str
    mark: str
    size: float
    is_hollow: bool
    shift: float


PUBLISHED = ValueSource("published", "black", "o", 10, True, 0.0)
PERIOD_KERNEL = ValueSource("kernel of its time", GREEN, "D", 5.5, False, -0.16)
PERIOD = ValueSource("settings of its time", BLUE, "s", 5.5, False, -0.32)
TODAY = ValueSource("today's defaults", VERMILLION, "^", 6.5, False, 0.25)
SOURCES = (PUBLISHED, PERIOD_KERNEL, PERIOD, TODAY)


@dataclass(frozen=True)
class ValueMark:
    """One number at a place of the other axis.

    With the range of its runs and the interval of its median, if any.
    """

    at: float
    value: float
    runs: tuple[float, float] | None
    interval: tuple[float, float] | None = None


def legend(shown: Sequence[ValueSource]) -> list[Artist]:
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=source.mark,
            color=source.color,
            markersize=source.size,
            markeredgewidth=1.6,
            markerfacecolor="none" if source.is_hollow else source.color,
            label=source.label,
        )
        for source in shown
    ]


def draw_marks(
    axes: Axes, source: ValueSource, marks: Sequence[ValueMark], along: Direction
) -> None:
    """Bars and marks; `along` is the axis that carries the values.

    The hollow ones come on top: they hide nothing.
    """
    bars = axes.hlines if along == "x" else axes.vlines
    above = 4 if source.is_hollow else 3
    for mark in marks:
        if mark.runs:
            bars([mark.at], *mark.runs, color=source.color, linewidth=1.2, zorder=above - 1)
        if mark.interval:
            bars([mark.at], *mark.interval, color=source.color, linewidth=3.2, zorder=above - 1)
    places, values = [mark.at for mark in marks], [mark.value for mark in marks]
    fill = "none" if source.is_hollow else source.color
    axes.plot(
        *((values, places) if along == "x" else (places, values)),
        linestyle="",
        marker=source.mark,
        color=source.color,
        markersize=source.size,
        markerfacecolor=fill,
        markeredgewidth=1.6 if source.is_hollow else 0,
        zorder=above,
    )


def value_axis(axes: Axes, along: Direction, marks: Sequence[ValueMark]) -> None:
    """Sets a logarithmic axis if the numbers are far apart, else one from zero.

    A logarithmic axis has a place for zero if zero is among the numbers.
    """
    values = [number for mark in marks for number in (mark.value, *(mark.runs or ()))]
    above = [value for value in values if value > 0]
    axis = axes.xaxis if along == "x" else axes.yaxis
    set_scale = axes.set_xscale if along == "x" else axes.set_yscale
    if not above or min(values) < 0 or max(above) < _FAR * min(above):
        _from_zero(axes, along, values)
        axis.set_major_locator(MaxNLocator(6))
    elif len(above) == len(values):
        set_scale("log")
        axis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if max(above) / min(above) < 1000 else (1,))
        )
    else:
        least = floor(log10(min(above)))
        set_scale("symlog", linthresh=10.0**least, linscale=0.4)
        axis.set_major_locator(
            FixedLocator([0, *(10.0**power for power in range(least, ceil(log10(max(above))) + 1))])
        )
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def _from_zero(axes: Axes, along: Direction, values: Sequence[float]) -> None:
    if values and min(values) >= 0:
        greatest = 1.08 * max(values) or 1.0
        (axes.set_xlim if along == "x" else axes.set_ylim)(-0.02 * greatest, greatest)
