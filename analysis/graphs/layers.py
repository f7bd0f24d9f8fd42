"""A graph as data: layers of marks in plain numbers.

The page, the pictures and xplot's files all draw them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from analysis.graphs.capture import Numbers
from analysis.graphs.looks import SeriesLook

Shape = Literal[
    "bars", "stairs", "line", "dots", "rate", "arrows", "band", "level", "moments", "boxes", "cells"
]
"""How the marks of a layer are drawn.

bars: a stroke from (x, y) to (end or x, top). stairs: y holds until the next x. rate: the steepness
of the sum y. arrows: from (x, y) to (end, top). band: between y and top. level: a line across at y.
moments: a tick at each x. boxes: filled from (x, y) to (end, top). cells: a square around each
(x, y), coloured by `tint`.
"""


@dataclass(frozen=True)
class Axis:
    """What an axis shows: a number times `scale` is in `unit`.

    `ticks` are values with names, for an axis with names. With `zero` it begins at zero, with
    `log` it is logarithmic. `range` is what it shows at first, by default what there is.
    """

    label: str
    unit: str
    scale: float = 1.0
    ticks: tuple[tuple[float, str], ...] = ()
    zero: bool = False
    log: bool = False
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Layer:
    """Marks of one look, in the order of `x`.

    `fields` are shown, by name, for the mark under the pointer. `run` is the most segments that one
    mark stands for. `words` replaces the look's own in the legend; layers of the same words share
    an entry. `look` is a name in LOOKS or a look of the layer's own. `series` counts what has no
    meaning of its own, such as conditions: its colour and dash go round. `tint` is from 0 to 1, or
    below 0 for none.
    """

    look: str | SeriesLook
    shape: Shape
    x: Numbers
    y: Numbers
    top: Numbers | None = None
    end: Numbers | None = None
    fields: Mapping[str, Numbers] = field(default_factory=dict)
    words: str = ""
    run: int = 1
    series: int | None = None
    tint: Numbers | None = None
    notes: tuple[str, ...] = ()
    """What each mark is called, if it has a name."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Graph:
    """One picture. `over_time` says that x is time, which all such graphs of a page share."""

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    over_time: bool = True
    height: int = 260
    """Pixels on a screen."""


@dataclass(frozen=True)
class GraphGroup:
    """Graphs that are looked at together: beside each other where there is room."""

    key: str
    title: str
    caption: str
    graphs: tuple[Graph, ...]


TIME = Axis("time since the first packet", "s", 1e-9)
BYTES = Axis("bytes", "B", zero=True)
SEQUENCE = Axis("sequence number, from the SYN", "B")


def graph(key: str, title: str, caption: str, y: Axis, *layers: Layer, height: int = 260) -> Graph:
    """A graph over time, without the layers that have no marks."""
    kept = tuple(layer for layer in layers if len(layer))
    return Graph(key, title, caption, TIME, y, kept, height=height)


def alone(only: Graph) -> GraphGroup:
    """A graph that stands for itself."""
    return GraphGroup(only.key, only.title, only.caption, (only,))
