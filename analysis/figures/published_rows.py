"""Published numbers and ours, a line for each row: as they are, or by the published one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from analysis.figures.panels import PanelMargins, board, plain
from analysis.figures.published_marks import (
    SOURCES,
    ValueMark,
    ValueSource,
    draw_marks,
    legend,
    value_axis,
)
from analysis.rendering.colours import GREY
from analysis.rendering.figure_style import png, settings

_ROW = 0.46
"""Inches of a row."""
_LETTERS = 48
"""Letters of a label's line."""
_LETTER = 0.076
"""Inches of a letter of a label."""
_NEAR = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5)
"""Ticks if all ratios are near 1."""


def draw(
    labels: Sequence[str],
    marks: Mapping[ValueSource, Sequence[ValueMark]],
    below: str,
    is_ratio: bool,
) -> bytes:
    """A PNG; marks stand at the number of their label.

    As ratios, the published number is the line at 1.
    """
    present = [source for source in SOURCES if marks.get(source)]
    wrapped = [_label(label) for label in labels]
    longest = max(len(part) for label in wrapped for part in label.split("\n"))
    with settings():
        room = PanelMargins(
            height=max(1.2, _ROW * len(labels)), columns=1, left=0.35 + _LETTER * longest
        )
        panels = board(1, room, legend(present))
        axes = panels.axes[0]
        for source in present:
            moved = [
                ValueMark(mark.at + source.shift, mark.value, mark.runs, mark.interval)
                for mark in marks[source]
            ]
            draw_marks(axes, source, moved, "x")
        shown = [mark for source in present for mark in marks[source]]
        _ratios(axes, shown) if is_ratio else value_axis(axes, "x", shown)
        _rows(axes, wrapped)
        panels.label("", below)
        return png(panels.figure)


def _label(text: str) -> str:
    """On two lines at most; a number stays with its unit."""
    joined = re.sub(r"(\d) (?=(?:%|[mun]?s|streams?|ms)(?:\W|$))", "\\1\N{NO-BREAK SPACE}", text)
    return textwrap.fill(joined, _LETTERS, max_lines=2, placeholder=" ...")


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    """Labels from the top, and a faint band behind every second row, which leads the eye."""
    axes.set_yticks(range(len(labels)), labels, fontsize=10)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    for at in range(0, len(labels), 2):
        axes.axhspan(at - 0.5, at + 0.5, color="#f3f5f7", zorder=0, linewidth=0)


def _ratios(axes: Axes, shown: Sequence[ValueMark]) -> None:
    """A logarithmic axis with 1 in the middle: half and twice are equally far."""
    ends = [end for mark in shown for end in (mark.value, *(mark.runs or ())) if end > 0]
    widest = 1.05 * max([1.2, *ends, *(1 / end for end in ends)])
    axes.set_xscale("log")
    axes.set_xlim(1 / widest, widest)
    axes.axvline(1, color=GREY, linewidth=1, zorder=1)
    near = [tick for tick in _NEAR if 1 / widest < tick < widest]
    far = LogLocator(subs=(1, 2, 5) if widest < 100 else (1,))
    axes.xaxis.set_major_locator(FixedLocator(near) if widest < _NEAR[-1] else far)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
