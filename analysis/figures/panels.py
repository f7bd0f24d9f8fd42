"""What the graphs of a sweep share: small multiples, legend, colours for levels, and axes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Literal

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analysis.measures.run_results import written
from analysis.rendering.figure_style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION

MOST_PANELS = 12
WIDTH = 12.0
"""Inches of every figure, which the page shows in about its own size."""
DECADES = 100.0
"""An axis is logarithmic if the greatest value is so many times the least."""

_FEW = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, GREY)
_MARKS = "os^DvPX*<>"
LETTER = 0.092
"""Inches of a letter, generously, to keep labels apart."""
_LINE = 0.26


@dataclass(frozen=True)
class LevelLook:
    """How one level is drawn in every graph.

    Later ones are thinner (points), so that all are seen if lines coincide.
    """

    label: str
    color: str
    mark: str
    width: float


def looks(labels: Sequence[str]) -> list[LevelLook]:
    """Distinct colours and marks.

    Okabe and Ito's colours up to six levels, then the steps of a sequential map.
    """
    if len(labels) <= len(_FEW):
        colors = list(_FEW[: len(labels)])
    else:
        steps = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, len(labels)))
        colors = [matplotlib.colors.to_hex(step) for step in steps]
    return [
        LevelLook(label, color, _MARKS[at % len(_MARKS)], max(1.5, 4.0 - at))
        for at, (label, color) in enumerate(zip(labels, colors, strict=True))
    ]


def handles(shown: Sequence[LevelLook]) -> list[Artist]:
    """The legend's entries."""
    return [
        Line2D(
            [],
            [],
            color=look.color,
            marker=look.mark,
            linewidth=look.width,
            markersize=7,
            label=look.label,
        )
        for look in shown
    ]


@dataclass(frozen=True)
class PanelMargins:
    """What a figure's panels need around them, in inches.

    `same_x` and `same_y` give them one scale.
    """

    height: float
    columns: int = 3
    left: float = 1.05
    right: float = 0.25
    below: float = 0.75
    between: float = 0.62
    beside: float = 0.3
    same_x: bool = True
    same_y: bool = True


@dataclass(frozen=True)
class PanelBoard:
    """A figure with its axes, row by row."""

    figure: Figure
    axes: Sequence[Axes]
    columns: int
    room: PanelMargins

    @property
    def width(self) -> float:
        """Inches of one panel."""
        gaps = (self.columns - 1) * self.room.beside
        return (WIDTH - self.room.left - self.room.right - gaps) / self.columns

    def name(self, titles: Sequence[str]) -> None:
        """The title of each panel, on as many lines as it takes."""
        for axes, title in zip(self.axes, titles, strict=True):
            axes.set_title(textwrap.fill(title, max(12, int(self.width / LETTER))), fontsize=11)

    def label(self, left: str, below: str) -> None:
        """Labels the first column's vertical axes and the lowest panels' horizontal axes."""
        vertical, horizontal = _fitting(left, self.room.height, 2), _fitting(below, self.width, 1)
        for at, axes in enumerate(self.axes):
            if at % self.columns == 0:
                axes.set_ylabel(vertical, fontsize=11)
            if at + self.columns >= len(self.axes):
                axes.set_xlabel(horizontal, fontsize=11)


def _fitting(text: str, inches: float, lines: int) -> str:
    """`text` on up to `lines` lines; if they do not hold it, what precedes its colon."""
    wrapped = textwrap.fill(text, max(12, int(inches / LETTER)))
    return wrapped if wrapped.count("\n") < lines or ": " not in text else text.partition(": ")[0]


def board(
    count: int, room: PanelMargins, legend: Sequence[Artist] = (), title: str = ""
) -> PanelBoard:
    """`count` panels and the legend above them, outside of the data."""
    rows = ceil(count / room.columns)
    columns = ceil(count / rows)
    above = 0.42 + _LINE * _legend_lines(legend, title)
    inches = above + rows * room.height + (rows - 1) * room.between + room.below
    figure = Figure(figsize=(WIDTH, inches), dpi=100)
    FigureCanvasAgg(figure)
    axes = (
        figure.subplots(rows, columns, squeeze=False, sharex=room.same_x, sharey=room.same_y)
        .flatten()
        .tolist()
    )
    panels = PanelBoard(figure, axes[:count], columns, room)
    figure.subplots_adjust(
        left=room.left / WIDTH,
        right=1 - room.right / WIDTH,
        bottom=room.below / inches,
        top=1 - above / inches,
        wspace=room.beside / panels.width,
        hspace=room.between / room.height,
    )
    for unused in axes[count:]:
        unused.remove()
    for lowest in panels.axes[
        -columns:
    ]:  # shared axes label the last row only, which may not be full
        lowest.tick_params(labelbottom=True)
    if legend:
        corner = (room.left / WIDTH, 1 - 0.05 / inches)
        figure.legend(
            handles=_by_rows(legend),
            title=title or None,
            ncols=_legend_columns(legend),
            loc="upper left",
            bbox_to_anchor=corner,
            alignment="left",
            borderaxespad=0,
            borderpad=0,
            handletextpad=0.5,
        )
    return panels


def _legend_columns(legend: Sequence[Artist]) -> int:
    """All beside each other if they fit, else as many as fit of the longest."""
    widths = [0.75 + LETTER * len(str(entry.get_label())) for entry in legend]
    room = WIDTH - 1.3
    return len(legend) if sum(widths) <= room else max(1, int(room / max(widths)))


def _by_rows(legend: Sequence[Artist]) -> list[Artist]:
    """In the order that makes matplotlib, which fills columns, fill rows."""
    columns = _legend_columns(legend)
    return [entry for column in range(columns) for entry in legend[column::columns]]


def _legend_lines(legend: Sequence[Artist], title: str) -> int:
    return ceil(len(legend) / _legend_columns(legend)) + bool(title) if legend else 0


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis shows the values better."""
    finite = [value for value in values if isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) >= DECADES * min(finite)


def scale(axes: Axes, which: Literal["x", "y"], logarithmic: bool, ticks: int = 6) -> None:
    """A value axis with plain numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if logarithmic:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        low, high = axis.get_view_interval()
        axis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if high / low < 1000 and which == "y" else (1,))
        )
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def plain(value: float) -> str:
    """A tick's label: no powers of ten, no trailing zeros."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


def figure_text(value: float) -> str:
    """A figure inside a graph."""
    return written(value) if isfinite(value) else ""


def chosen(count: int, most: int = MOST_PANELS) -> list[int]:
    """Up to `most` of `count` places, evenly spread with both ends."""
    return (
        sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))}) if count else []
    )
