"""How the values of each level are distributed: cumulative curves, or runs and their median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from analysis.figures.panels import (
    LETTER,
    WIDTH,
    LevelLook,
    PanelMargins,
    board,
    figure_text,
    handles,
    scale,
    spans_decades,
)
from analysis.rendering.figure_style import GREY, png, settings
from analysis.statistics.paired_tests import MedianInterval, Numbers

_FIGURE = 0.8
"""Inches of a level with its median's figure beside it; with less, the figure is above."""
_MOST_DOTS = 400
"""Dots of one level; of more, evenly spread quantiles are shown, which look the same."""


@dataclass(frozen=True)
class LevelSample:
    """One level's values and the interval of their median, if there is one."""

    look: LevelLook
    values: Numbers
    interval: MedianInterval | None


@dataclass(frozen=True)
class DistributionPanel:
    """One combination of the other factors."""

    title: str
    samples: Sequence[LevelSample]


def draw_curves(shown: Sequence[DistributionPanel], value: str, share: str, compared: str) -> bytes:
    """A PNG of cumulative distributions; `share` says of what, such as "share of runs"."""
    with settings():
        median = Line2D([], [], color=GREY, linestyle=":", label="half of them: the median")
        levels = handles([sample.look for sample in shown[0].samples]) if compared else []
        room = PanelMargins(height=3.6 if len(shown) <= 2 else 2.5, between=0.85, same_x=False)
        panels = board(len(shown), room, [*levels, median], compared)
        panels.name([panel.title for panel in shown])
        for axes, panel in zip(panels.axes, shown, strict=True):
            _curves(axes, panel)
        panels.label(share, value)
        return png(panels.figure)


def _curves(axes: Axes, panel: DistributionPanel) -> None:
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    for sample in panel.samples:
        _curve(axes, sample)
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    values = np.concatenate([sample.values for sample in panel.samples])
    scale(axes, "x", spans_decades(values.tolist()), ticks=4)
    if (
        len(values) and values.min() == values.max() >= 0
    ):  # a scale around a point would show values below zero
        axes.set_xlim(0, 2 * float(values[0]) or 1.0)


def _curve(axes: Axes, sample: LevelSample) -> None:
    ordered = np.sort(sample.values)
    if not len(ordered):
        return
    shares = np.arange(len(ordered) + 1) / len(ordered)
    color, mark, width = sample.look.color, sample.look.mark, sample.look.width
    axes.plot(
        np.concatenate((ordered[:1], ordered)),
        shares,
        drawstyle="steps-post",
        color=color,
        linewidth=width,
    )
    axes.plot(
        [np.median(ordered)],
        [0.5],
        mark,
        color=color,
        markeredgecolor="white",
        markersize=6 + width,
    )


def draw_dots(shown: Sequence[DistributionPanel], value: str, compared: str) -> bytes:
    """A PNG with every run as a dot, beside the dots the median and its interval."""
    shown_looks = [sample.look for sample in shown[0].samples]
    room = PanelMargins(height=3.8 if len(shown) <= 2 else 2.9)
    crowded = (
        LETTER * sum(len(look.label) + 2 for look in shown_looks)
        > WIDTH / min(room.columns, len(shown)) - 1
    )
    upright = _FIGURE * len(shown_looks) > WIDTH / min(room.columns, len(shown)) - 1
    with settings():
        panels = board(
            len(shown), room, handles(shown_looks) if crowded else (), compared if crowded else ""
        )
        panels.name([panel.title for panel in shown])
        for axes, panel in zip(panels.axes, shown, strict=True):
            for at, sample in enumerate(panel.samples):
                _dots(axes, at, sample, upright)
            axes.grid(False, axis="x")
        panels.axes[0].set_xticks(
            range(len(shown_looks)), ["" if crowded else look.label for look in shown_looks]
        )
        panels.axes[0].set_xlim(-0.6, len(shown_looks) - 0.4)
        _scale(panels.axes[0], shown, upright)
        panels.label(value, "" if crowded else compared)
        return png(panels.figure)


def _scale(axes: Axes, shown: Sequence[DistributionPanel], upright: bool) -> None:
    values = np.concatenate([sample.values for panel in shown for sample in panel.samples])
    logarithmic = spans_decades(values.tolist())
    scale(axes, "y", logarithmic)
    if not logarithmic and values.min() >= 0:
        axes.set_ylim(
            0, max(axes.get_ylim()[1], (1.25 if upright else 1.1) * float(values.max())) or 1.0
        )


def _dots(axes: Axes, at: int, sample: LevelSample, upright: bool) -> None:
    values = sample.values
    if not len(values):
        return
    if len(values) > _MOST_DOTS:
        values = np.quantile(values, np.linspace(0, 1, _MOST_DOTS))
    spread = 0.14 * (
        np.arange(len(values)) * 0.618034 % 1 - 0.5
    )  # the golden ratio spreads without chance
    faint = max(0.25, min(0.8, 12 / len(values)))
    axes.plot(
        at - 0.12 + spread,
        values,
        "o",
        color=sample.look.color,
        alpha=faint,
        markersize=5,
        markeredgewidth=0,
    )
    _median(axes, at + 0.12, sample, upright)


def _median(axes: Axes, at: float, sample: LevelSample, upright: bool) -> None:
    middle, interval = float(np.median(sample.values)), sample.interval
    if interval:
        axes.vlines([at], interval.low, interval.high, color=sample.look.color, linewidth=3)
    axes.plot(
        [at],
        [middle],
        sample.look.mark,
        color=sample.look.color,
        markeredgecolor="white",
        markersize=10,
    )
    place: dict[str, Any] = {"xytext": (0, 9), "rotation": 90, "ha": "center", "va": "bottom"}
    axes.annotate(
        figure_text(middle),
        (at, middle),
        textcoords="offset points",
        fontweight="bold",
        **(place if upright else {"xytext": (9, 0), "va": "center"}),
    )
