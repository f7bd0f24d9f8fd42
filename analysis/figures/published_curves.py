"""Published numbers and ours against a swept quantity: a panel for each quantity and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.figures.panels import PanelBoard, PanelMargins, board
from analysis.figures.published_marks import (
    SOURCES,
    ValueMark,
    ValueSource,
    draw_marks,
    legend,
    value_axis,
)
from analysis.figures.swept_axis import draw_axis
from analysis.graphs.swept_places import SweptAxis
from analysis.rendering.figure_style import png, settings

_CROWDED = 12
"""Places of the axis from which two panels stand below each other."""


@dataclass(frozen=True)
class CurvePanel:
    """One series of one quantity (named with its unit); panels of a quantity have one scale."""

    title: str
    quantity: str
    marks: Mapping[ValueSource, Sequence[ValueMark]]


def draw(shown: Sequence[CurvePanel], axis: SweptAxis, below: str) -> bytes:
    """A PNG; `below` names the swept quantity.

    The marks of one source are joined in the order of the quantity.
    """
    present = [source for source in SOURCES if any(panel.marks.get(source) for panel in shown)]
    with settings():
        is_wide = len(shown) == 1 or (len(shown) == 2 and len(axis.positions) > _CROWDED)
        room = PanelMargins(height=3.4, columns=1 if is_wide else 2, same_y=False, beside=0.75)
        panels = board(len(shown), room, legend(present))
        panels.name([panel.title for panel in shown])
        for axes, panel in zip(panels.axes, shown, strict=True):
            for source, marks in panel.marks.items():
                ordered = sorted(marks, key=lambda mark: mark.at)
                axes.plot(
                    [mark.at for mark in ordered],
                    [mark.value for mark in ordered],
                    color=source.color,
                    linewidth=1.0,
                    alpha=0.5,
                )
                draw_marks(axes, source, ordered, "y")
        panels.label("", below)
        _scales(panels, shown)
        draw_axis(panels.axes[0], axis, panels.width)
        return png(panels.figure)


def _scales(panels: PanelBoard, shown: Sequence[CurvePanel]) -> None:
    together = list(zip(panels.axes, shown, strict=True))
    for quantity, group in groupby(together, key=lambda pair: pair[1].quantity):
        members = list(group)
        drawn = [mark for _, panel in members for marks in panel.marks.values() for mark in marks]
        for axes, _ in members:
            value_axis(axes, "y", drawn)
        limits = [axes.get_ylim() for axes, _ in members]
        for axes, _ in members:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        members[0][0].set_ylabel(quantity, fontsize=11)
