"""The metric against a swept quantity: for each level a line and a band.

The line goes through the medians, the band through the ends of their intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from analysis.figures.panels import LevelLook, PanelMargins, board, handles, scale, spans_decades
from analysis.figures.swept_axis import SweptAxis, draw_axis
from analysis.rendering.figure_style import png, settings
from analysis.statistics.paired_tests import MedianInterval, Numbers


@dataclass(frozen=True)
class LevelLine:
    """One level: for each swept value its runs, median and interval.

    The median is NaN without runs, the interval None if there is none.
    """

    look: LevelLook
    runs: Sequence[Numbers]
    medians: Sequence[float]
    intervals: Sequence[MedianInterval | None]


@dataclass(frozen=True)
class LinesPanel:
    """One combination of the other factors."""

    title: str
    lines: Sequence[LevelLine]


def draw(
    shown: Sequence[LinesPanel], axis: SweptAxis, label: str, value: str, compared: str
) -> bytes:
    """A PNG of all panels.

    `label` names the swept quantity, `value` the metric, and `compared` is the legend's title.
    """
    with settings():
        legend = handles([line.look for line in shown[0].lines]) if compared else []
        panels = board(
            len(shown), PanelMargins(height=3.6 if len(shown) <= 2 else 2.9), legend, compared
        )
        panels.name([panel.title for panel in shown])
        for axes, panel in zip(panels.axes, shown, strict=True):
            for line in panel.lines:
                _line(axes, axis, line)
        _scale(panels.axes[0], shown)
        draw_axis(panels.axes[0], axis, panels.width)
        panels.label(value, label)
        return png(panels.figure)


def _line(axes: Axes, axis: SweptAxis, line: LevelLine) -> None:
    order = np.argsort(axis.positions)
    positions, medians = np.array(axis.positions)[order], np.array(line.medians)[order]
    low = [_end(line, at, "low") for at in order]
    high = [_end(line, at, "high") for at in order]
    axes.fill_between(positions, low, high, color=line.look.color, alpha=0.2, linewidth=0)
    width = line.look.width
    axes.plot(
        positions,
        medians,
        marker=line.look.mark,
        color=line.look.color,
        linewidth=width,
        markersize=4 + width,
        clip_on=False,
    )
    for position, runs, interval in zip(axis.positions, line.runs, line.intervals, strict=True):
        if interval is None and len(runs) > 1:  # too few for an interval, and few enough to be seen
            axes.plot(
                [position] * len(runs), runs, ".", color=line.look.color, alpha=0.5, markersize=4
            )


def _end(line: LevelLine, at: int, name: str) -> float:
    """An end of the band, which has no width without an interval."""
    interval = line.intervals[at]
    return line.medians[at] if interval is None else float(getattr(interval, name))


def _scale(axes: Axes, shown: Sequence[LinesPanel]) -> None:
    """The scale that all panels share: logarithmic over decades, else from zero."""
    lines = [line for panel in shown for line in panel.lines]
    values = [float(value) for line in lines for value in line.medians]
    ends = [float(interval.low) for line in lines for interval in line.intervals if interval]
    logarithmic = spans_decades(values) and min(ends, default=1.0) > 0
    scale(axes, "y", logarithmic)
    if not logarithmic:
        axes.set_ylim(
            min(0.0, axes.get_ylim()[0]) if min(values + ends) < 0 else 0.0,
            axes.get_ylim()[1] or 1.0,
        )
