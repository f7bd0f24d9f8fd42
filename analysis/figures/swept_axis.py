"""The horizontal axis of a swept quantity.

Its ticks are the swept values, labelled as the user wrote them.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from analysis.graphs.swept_places import SweptAxis

_MARGIN = 0.1
"""Share of the axis' values that stays free at either end.

Labels of panels beside each other must not touch.
"""
_LETTER = 0.115


def draw_axis(axes: Axes, axis: SweptAxis, width: float) -> None:
    """Sets scale and ticks; labels that would touch on an axis of `width` inches are left out."""
    if axis.spacing == "log":
        axes.set_xscale("log")
    axes.margins(x=_MARGIN)
    if len(axis.positions) == 1:
        axes.set_xlim(axis.positions[0] - 1, axis.positions[0] + 1)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(axis.positions, _apart(axes, axis, width))


def _apart(axes: Axes, axis: SweptAxis, width: float) -> list[str]:
    low, high = axes.transData.transform([(min(axis.positions), 1), (max(axis.positions), 1)])[:, 0]
    places = axes.transData.transform([(position, 1) for position in axis.positions])[:, 0]
    inches = [
        width / (1 + 2 * _MARGIN) * (place - low) / (high - low) if high > low else 0.0
        for place in places
    ]
    labels, free = list(axis.labels), float("-inf")
    for at in sorted(range(len(labels)), key=inches.__getitem__):
        half = _LETTER * len(labels[at]) / 2
        if inches[at] - half < free:
            labels[at] = ""
        else:
            free = inches[at] + half + 0.06
    return labels
