"""Graphs as layers of marks, and the looks of marks.

The colours are those of Okabe and Ito (2008), which colour-blind people can tell apart:
https://jfly.uni-koeln.de/color/. templates/plots/theme.js has a lighter twin for a dark ground.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import convert
from numpy.typing import NDArray

from analysis.flows import columns
from analysis.fmt import with_unit
from analysis.graphs.capture import Numbers
from topologies.notation import toml_file

BLACK, BLUE, VERMILLION, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY, GREY = "#E69F00", "#CC79A7", "#56B4E9", "#666666"
_CAPTIONS = toml_file(Path(__file__).with_name("captions.toml"))


def caption(name: str, **words: Any) -> str:
    """Return a caption or note of captions.toml with these words."""
    text: str = _CAPTIONS[name]
    return text.format(**words)


Mark = Literal["", "triangle", "circle", "square", "diamond", "cross", "plus", "ring"]


@dataclass(frozen=True)
class SeriesLook:
    """The look of a series of marks; `width` is in px.

    With `every`, each mark is drawn at every zoom; a look that does not `fit` may leave the graph's
    height. `faint` is for areas behind others.
    """

    words: str
    colour: str
    mark: Mark = ""
    letter: str = ""
    every: bool = False
    fit: bool = True
    width: float = 1.5
    dash: bool = False
    faint: bool = False


def _looks() -> Iterator[tuple[str, SeriesLook]]:
    for row in columns.table_rows(Path(__file__).with_name("looks.csv")):
        given = {name: cell for name, cell in row.items() if cell}
        given["colour"] = globals()[row["colour"]]
        yield given.pop("name"), convert(given, SeriesLook, strict=False)


LOOKS = dict(_looks())  # the look of each series that has a meaning, by name


def look_of(look: str | SeriesLook) -> SeriesLook:
    return LOOKS[look] if isinstance(look, str) else look


_KINDS = {"none": "data", "new": "data", "sack": "again_sack"}
"""The looks of kinds that are called otherwise."""
KINDS: tuple[str, ...] = tuple(_KINDS.get(name, name) for name in columns.KIND)
"""The look of each kind of packets, which analysis/flows/kinds.csv defines."""
RETRANSMITTED = frozenset(columns.KIND[name] for name in (*columns.RETRANSMISSIONS, "syn", "fin"))
"""The kinds that are retransmissions, as seen before the loss."""
SERIES = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
"""Colours of several connections in one graph; they come round again."""


Shape = Literal[
    "bars", "stairs", "line", "dots", "rate", "arrows", "band", "level", "moments", "boxes"
]
"""How the marks of a layer are drawn.

bars: a stroke from (x, y) to (end or x, top). stairs: y holds until the next x. rate: the steepness
of the sum y. arrows: from (x, y) to (end, top). band: between y and top. level: a line across at y.
moments: a tick at each x. boxes: filled from (x, y) to (end, top).
"""


@dataclass(frozen=True)
class Axis:
    """Axis of a graph: a number times `scale` is in `unit`.

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

    @property
    def name(self) -> str:
        return with_unit(self.label, self.unit)


@dataclass(frozen=True)
class Layer:
    """Marks of one look (a name in LOOKS or another), in the order of `x`.

    `fields` are shown for the mark under the pointer, `run` is the most segments that one stands
    for. `words` replaces the look's in the legend. `series` numbers layers whose colour and dash
    have no meaning.
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
    notes: tuple[str, ...] = ()  # name of each mark, if it has one
    lacks: bool = field(default=False, init=False)  # true if marks were left out

    def __post_init__(self) -> None:
        """Leave out marks at an infinite place; a range without an end ends with the greatest."""
        shown = ~(np.isinf(self.x) | np.isinf(self.y))
        if not shown.all():
            vars(self).update(vars(self.at(shown)), lacks=True)
        for name, column in (("top", self.top), ("end", self.end)):
            if column is not None and np.isinf(column).any():
                most = column[np.isfinite(column)].max(initial=self.y.max(initial=0.0))
                vars(self)[name] = np.minimum(column, most)

    def __len__(self) -> int:
        return len(self.x)

    def at(self, rows: NDArray[Any]) -> Layer:
        """Return the marks of these rows."""
        top, end = (None if each is None else each[rows] for each in (self.top, self.end))
        fields = {name: column[rows] for name, column in self.fields.items()}
        notes = tuple(np.array(self.notes, object)[rows]) if self.notes else ()
        return replace(
            self, x=self.x[rows], y=self.y[rows], top=top, end=end, fields=fields, notes=notes
        )


@dataclass(frozen=True)
class Graph:
    """One picture."""

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    height: int = 260  # pixels on a screen
    opens: tuple[float, float] | None = None
    """The times that are seen as long as the page's time axis shows all."""

    @property
    def over_time(self) -> bool:
        """True if x is time, which all such graphs of a page share."""
        return self.x == TIME


_LACKING = "What did not end has an infinite value and is not drawn."


@dataclass(frozen=True)
class GraphGroup:
    """Graphs to view together: next to each other where there is room."""

    key: str
    title: str
    caption: str
    graphs: tuple[Graph, ...]

    def __post_init__(self) -> None:
        """Say that marks at an infinite place are missing."""
        if any(layer.lacks for graph in self.graphs for layer in graph.layers):
            object.__setattr__(self, "caption", f"{self.caption} {_LACKING}".strip())


TIME = Axis("time since the first packet", "s", 1e-9)
_PLAIN = {row["key"]: row for row in columns.table_rows(Path(__file__).with_name("graphs.csv"))}
"""Texts and vertical axis of the graphs of a capture, by key."""


def graph(key: str, title: str, caption: str, y: Axis, *layers: Layer, height: int = 260) -> Graph:
    """Return a graph over time, without the layers that have no marks."""
    kept = tuple(layer for layer in layers if len(layer))
    return Graph(key, title, caption, TIME, y, kept, height=height)


def axis_of(key: str) -> Axis:
    row = _PLAIN[key]
    return Axis(row["label"], row["unit"], float(row["scale"]), zero=bool(row["zero"]))


def plain(key: str, *layers: Layer, at_receiver: bool = False) -> Graph:
    """Return the graph of graphs.csv with these layers; its caption may differ `at_receiver`."""
    row = _PLAIN[key]
    caption = row["at_receiver"] * at_receiver + row["caption"]
    height = int(row["height"])
    return graph(key, row["title"], caption, axis_of(key), *layers, height=height)


def without_zeros(group: GraphGroup) -> GraphGroup:
    """Return the group without series that are zero everywhere, and graphs of these only."""
    graphs = (
        replace(each, layers=tuple(layer for layer in each.layers if says(layer)))
        for each in group.graphs
    )
    kept = tuple(each for each in graphs if any(layer.shape != "level" for layer in each.layers))
    return replace(group, graphs=kept)


def says(layer: Layer) -> bool:
    return layer.shape == "moments" or any(
        column is not None and column.any() for column in (layer.y, layer.top)
    )


def alone(only: Graph) -> GraphGroup:
    return GraphGroup(only.key, only.title, only.caption, (only,))


DECADES = 100.0  # an axis is logarithmic if the greatest value is so many times the least
MARKS: tuple[Mark, ...] = ("circle", "square", "triangle", "diamond", "cross", "plus", "ring")
DOT = SeriesLook("", BLUE, "circle")
MIDDLE = SeriesLook("median", VERMILLION, width=4)
REFERENCE = SeriesLook("", GREY, dash=True)
RATE = Axis("rate", "bit/s", 1000.0, zero=True)  # of values in kbit/s


def marked(number: int, width: float = 2.0) -> SeriesLook:
    """Return the look of a series whose marks are all seen, by its number."""
    return SeriesLook("", BLUE, MARKS[number % len(MARKS)], every=True, width=width)


def named(label: str, names: Sequence[str]) -> Axis:
    ticks = tuple((float(at), name) for at, name in enumerate(names))
    return Axis(label, "", ticks=ticks, range=(-0.6, len(names) - 0.4))


def level(value: float, words: str) -> Layer:
    return Layer(REFERENCE, "level", np.zeros(1), np.array([float(value)]), words=words)


def bars(places: Sequence[float], values: Sequence[float], half: float, words: str) -> Layer:
    """Return a short line at each value, `half` to either side of its place."""
    at, heights = np.array(places, dtype=float), np.array(values, dtype=float)
    return Layer(MIDDLE, "bars", at - half, heights, heights, at + half, words=words)


def line(x: Numbers, y: Numbers, series: int, words: str) -> tuple[Layer, Layer]:
    """Return a line through marks: two layers, one entry of the legend."""
    look = marked(series)
    return (
        Layer(look, "line", x, y, words=words, series=series),
        Layer(look, "dots", x, y, words=words, series=series),
    )


def holding(axis: Axis, values: Sequence[float]) -> Axis:
    """Return the axis with room for all values: logarithmic over decades, else from zero."""
    known = [value for value in values if np.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if spans_decades(known):
        return replace(axis, log=True, range=(low / 1.3, high * 1.3))
    room = 0.08 * (high - min(low, 0.0)) or 1.0
    return replace(axis, zero=True, range=(min(0.0, low - room if low < 0 else 0), high + room))


def spans_decades(values: Sequence[float]) -> bool:
    """Return whether a logarithmic axis shows the values better."""
    finite = [value for value in values if np.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) >= DECADES * min(finite)


def spread(count: int) -> Numbers:
    """Return sideways places of `count` dots around 0, without chance: by the golden ratio."""
    places: Numbers = np.arange(count) * 0.618034 % 1 - 0.5
    return places


WIDTHS = {"ieee": (3.5, 7.16), "acm": (3.33, 7.0)}
"""Inches of one column and of the text's width: IEEE's transactions, ACM's acmart sigconf."""
FORMATS = ("pdf", "svg", "png", "pgf")
PANEL = 1.5  # inches of height of a panel
PAGE = 8.5  # inches of all rows of panels at most; a legend, labels and a caption fill the page


@dataclass(frozen=True)
class PaperSize:
    """The `paper` (ieee, acm), how many `columns` a figure takes, and panels `across`, if set."""

    paper: str = "ieee"
    columns: int = 1
    across: int | None = None
    panel: float = PANEL

    @property
    def inches(self) -> float:
        return WIDTHS[self.paper][self.columns - 1]

    def in_rows(self, panels: int, quantities: int) -> PaperSize:
        return replace(self, across=self.fitting(panels, 2 * self.columns, quantities))

    def fitting(self, panels: int, least: int, quantities: int = 1) -> int:
        """Return the panels of a row: more than `least` if the rows do not fit a page."""
        most = 2 + self.columns
        rows = {across: -(-panels // across) for across in range(least, most + 1)}
        fit = (across for across, down in rows.items() if down * quantities * PANEL <= PAGE)
        return -(-panels // rows[next(fit, most)])
