"""Layers and axes of graphs that are no captures': values by name, levels, dots, lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.layers import Axis, Layer
from analysis.graphs.looks import Mark, SeriesLook
from analysis.rendering.colours import BLUE, GREY, VERMILLION

DECADES = 100.0
"""An axis is logarithmic if the greatest value is so many times the least."""
MARKS: tuple[Mark, ...] = ("circle", "square", "triangle", "diamond", "cross", "plus", "ring")
DOT = SeriesLook("", BLUE, "circle")
MIDDLE = SeriesLook("median", VERMILLION, width=4)
REFERENCE = SeriesLook("", GREY, dash=True)
RATE = Axis("rate", "bit/s", 1000.0, zero=True)
"""Of values in kbit/s."""


def marked(number: int, width: float = 2.0) -> SeriesLook:
    """The look of a series whose marks are all seen: its colour and its mark by its number."""
    return SeriesLook("", BLUE, MARKS[number % len(MARKS)], every=True, width=width)


def named(label: str, names: Sequence[str]) -> Axis:
    """An axis of names at 0, 1, 2, ..."""
    ticks = tuple((float(at), name) for at, name in enumerate(names))
    return Axis(label, "", ticks=ticks, range=(-0.6, len(names) - 0.4))


def level(value: float, words: str) -> Layer:
    """A line across at `value`."""
    return Layer(REFERENCE, "level", np.zeros(1), np.array([float(value)]), words=words)


def bars(places: Sequence[float], values: Sequence[float], half: float, words: str) -> Layer:
    """A short line at each value, `half` to either side of its place."""
    at, heights = np.array(places, dtype=float), np.array(values, dtype=float)
    return Layer(MIDDLE, "bars", at - half, heights, heights, at + half, words=words)


def line(x: Numbers, y: Numbers, series: int, words: str) -> tuple[Layer, Layer]:
    """A line through marks: two layers, one entry of the legend."""
    look = marked(series)
    return (
        Layer(look, "line", x, y, words=words, series=series),
        Layer(look, "dots", x, y, words=words, series=series),
    )


def holding(axis: Axis, values: Sequence[float]) -> Axis:
    """The axis with room for all values: logarithmic over decades, else from zero."""
    known = [value for value in values if np.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if spans_decades(known):
        return replace(axis, log=True, range=(low / 1.3, high * 1.3))
    room = 0.08 * (high - min(low, 0.0)) or 1.0
    return replace(axis, zero=True, range=(min(0.0, low - room if low < 0 else 0), high + room))


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis shows the values better."""
    finite = [value for value in values if np.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) >= DECADES * min(finite)


def spread(count: int) -> Numbers:
    """Sideways places of `count` dots around 0, without chance: by the golden ratio."""
    places: Numbers = np.arange(count) * 0.618034 % 1 - 0.5
    return places
