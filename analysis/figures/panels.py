"""What the graphs of a sweep share: small multiples, legend, colours for levels, and axes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

WIDTH = 12.0
"""Inches of every figure, which the page shows in about its own size."""
LETTER = 0.092
"""Inches of a letter, generously, to keep labels apart."""
_LINE = 0.26


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


def plain(value: float) -> str:
    """A tick's label: no powers of ten, no trailing zeros."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
