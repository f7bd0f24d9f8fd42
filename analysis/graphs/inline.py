"""First pictures of a page, until scripts draw: geometry is that of templates/plots/plot.js."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.ladder import merged
from analysis.graphs.layers import SERIES, Axis, Graph, GraphGroup, Layer, look_of
from analysis.graphs.stored import board_data, latest

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 22, 36  # px around the frame
_APART = (95, 45)  # px between ticks
MOST_MARKS = 500
_DECADE = 5.0  # ratio of an axis's ends from which on its numbers are powers of ten
_RATES = 100  # equal times of a rate
_DASHES = ("", "9 4", "4 3", "9 3 2 3")
_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3))
Span = tuple[float, float]
Places = np.ndarray[Any, np.dtype[Any]]  # pixels


def board(
    groups: Iterable[GraphGroup | None], pictured: GraphGroup | None = None, wide: int = 1000
) -> dict[str, Any]:
    """Return what templates/board.html draws, with pictures of `pictured` or the first group."""
    drawn = [group for group in groups if group]
    every = [graph for group in drawn for graph in group.graphs]
    span, chosen = (0.0, latest(every)), pictured or next(iter(drawn), None)
    shown = chosen.graphs if chosen else ()
    first = {
        graph.key: {
            "picture": inline(graph, wide, span) if graph in shown else "",
            "legend": legend(graph),
        }
        for graph in every
    }
    return {"graphs": board_data(drawn), "first": first}


def legend(graph: Graph) -> str:
    named: dict[str, Layer] = {}
    for layer in graph.layers:
        named.setdefault(layer.words or look_of(layer.look).words, layer)
    entries = "".join(
        f'<span><svg width="26" height="14">{_sample(layer)}</svg>{escape(words)}</span>'
        for words, layer in named.items()
        if words
    )
    return f'<div class="legend first">{entries}</div>'


def _sample(layer: Layer) -> str:
    colour = _colour(layer)
    if layer.shape in ("band", "boxes"):
        return f'<rect x="4" y="2" width="18" height="10" fill="{colour}" opacity=".4"/>'
    if layer.shape == "dots":
        return f'<circle cx="13" cy="7" r="4" fill="{colour}"/>'
    return f'<path stroke="{colour}" stroke-width="2" d="M2 7h22"/>'


def _colour(layer: Layer) -> str:
    number = layer.series
    return look_of(layer.look).colour if number is None else SERIES[number % len(SERIES)]


def inline(graph: Graph, wide: int, span: Span = (0.0, 1.0), most: int = MOST_MARKS) -> str:
    """Return a graph as SVG, `wide` px, about `most` marks a layer; `span` is the page's time."""
    frame = InlineFrame(graph, wide, span, most)
    parts = [*frame.axes(), *(mark for layer in graph.layers for mark in frame.marks(layer))]
    return (
        f'<svg class="first" viewBox="0 0 {wide} {graph.height}" height="{graph.height}"'
        f' role="img" aria-label="{escape(graph.title or graph.y.label)}"'
        f' preserveAspectRatio="xMinYMin">{"".join(parts)}</svg>'
    )


class InlineFrame:
    """The frame of a graph: places of values in pixels."""

    def __init__(self, graph: Graph, wide: int, span: Span, most: int) -> None:
        self.graph, self.most = graph, most
        names = [len(name) for _, name in graph.y.ticks]
        self.left = min(wide // 2, max([_LEFT, *(16 + 7 * count for count in names)]))
        self.width, self.height = wide - self.left - _RIGHT, graph.height - _TOP - _BOTTOM
        across, up = graph.x, graph.y
        whole = (span[0], max(span[1], span[0] + 1))
        self.across = whole if graph.over_time else across.range or _extent(self._columns("x"), up)
        self.up = up.range or self._fitted()

    def _columns(self, *names: str) -> list[Numbers]:
        return [
            column
            for layer in self.graph.layers
            if look_of(layer.look).fit and layer.shape != "rate"
            for name in names
            if (column := getattr(layer, name)) is not None
        ]

    def _fitted(self) -> Span:
        rates = [_rates(each)[1] for each in self.graph.layers if each.shape == "rate"]
        low, high = _extent([*self._columns("y", "top"), *rates], self.graph.y)
        if self.graph.y.log:
            return low / 1.3, high * 1.3
        room = (high - low) * 0.06
        return (max(0.0, low - room) if low >= 0 else low - room), high + room

    def x(self, values: Numbers) -> Numbers:
        return self.left + self.width * _share(self.graph.x, self.across, values)

    def y(self, values: Numbers) -> Numbers:
        return _TOP + self.height * (1 - _share(self.graph.y, self.up, values))

    def axes(self) -> Iterator[str]:
        graph, right, bottom = self.graph, self.left + self.width, _TOP + self.height
        marks, unit = ticks(graph.x, *self.across, self.width / _APART[0])
        for value, label in marks:
            (x,) = self.x(np.array([value]))
            yield f'<path class="grid" d="M{x:.0f} {_TOP}V{bottom}"/>'
            yield _text(label, min(x, right + _RIGHT - 3.5 * len(label)), bottom + 15, "middle")
        yield _text(_titled(graph.x, unit), right, bottom + 31, "end")
        marks, unit = ticks(graph.y, *self.up, self.height / _APART[1])
        for value, label in marks:
            (y,) = self.y(np.array([value]))
            yield f'<path class="grid" d="M{self.left} {y:.0f}H{right}"/>'
            yield _text(label, self.left - 6, y + 4, "end")
        yield _text(_titled(graph.y, unit), 4, 14, "start")
        yield f'<path class="axis" d="M{self.left} {_TOP}V{bottom}H{right}"/>'

    def marks(self, layer: Layer) -> Iterator[str]:
        """Yield the marks of a layer, at most one or two for each pixel across."""
        layer = _thin(layer, self.most)
        look, number = look_of(layer.look), layer.series
        colour = _colour(layer)
        dash = "2 3" if look.dash else _DASHES[(number or 0) % len(_DASHES)]
        stroke = f'stroke="{colour}" stroke-width="{look.width:g}"'
        dashed = f'{stroke} stroke-dasharray="{dash}"' if dash else stroke
        across, up = _rates(layer) if layer.shape == "rate" else (layer.x, layer.y)
        # What is far outside is held near the frame.
        x, y = np.clip(self.x(across), -50, 5000), np.clip(self.y(up), -50, 5000)
        end = x if layer.end is None else self.x(layer.end)
        top = y if layer.top is None else self.y(layer.top)
        ends = zip(x, y, end, top, strict=True)
        if layer.shape == "level":
            yield f'<path {dashed} d="M{self.left} {y[0]:.1f}h{self.width}"/>'
        elif layer.shape == "moments":
            down = _distinct(f"M{a:.0f} {_TOP}v{self.height}" for a in x)
            yield f'<path {dashed} d="{down}"/>'
        elif layer.shape in ("line", "stairs", "rate"):
            path = _line(x, y, is_stairs=layer.shape == "stairs")
            yield f'<path {dashed} d="{path}"/>'
        elif layer.shape == "band":
            path = _line(np.append(x, x[::-1]), np.append(top, y[::-1]), is_stairs=False)
            yield f'<path fill="{colour}" fill-opacity=".25" d="{path}"/>'
        elif layer.shape == "boxes":
            paths = _distinct(f"M{a:.0f} {b:.0f}H{c:.0f}V{d:.0f}H{a:.0f}" for a, b, c, d in ends)
            opacity = 0.25 if look.faint else 1
            yield f'<path fill="{colour}" fill-opacity="{opacity}" d="{paths}"/>'
        elif layer.shape in ("bars", "arrows"):
            paths = _distinct(f"M{a:.0f} {b:.0f}L{c:.0f} {d:.0f}" for a, b, c, d in ends)
            yield f'<path {stroke} d="{paths}"/>'
        if layer.shape == "dots" or (look.every and layer.shape == "bars" and look.mark):
            paths = _distinct(f"M{a:.0f} {b:.0f}h0" for a, b in zip(end, top, strict=True))
            size = f'stroke-width="{7 if look.every else 4}" stroke-linecap="round"'
            yield f'<path stroke="{colour}" {size} d="{paths}"/>'


def _thin(layer: Layer, most: int) -> Layer:
    """Return few marks of many, at equal distances where each counts."""
    fewer = merged(layer, len(layer) // most)
    if len(fewer) <= 4 * most or layer.shape == "rate":
        return fewer
    return layer.at(np.linspace(0, len(layer) - 1, most).astype(np.int64))


def _rates(layer: Layer) -> tuple[Numbers, Numbers]:
    edges = np.linspace(float(layer.x[0]), max(float(layer.x[-1]), layer.x[0] + 1.0), _RATES + 1)
    sums = np.interp(edges, layer.x, layer.y)
    return (edges[1:] + edges[:-1]) / 2, np.diff(sums) / np.diff(edges)


def _extent(columns: Sequence[Numbers], axis: Axis) -> Span:
    known = [column for column in columns if len(column)]
    low = min((float(column.min()) for column in known), default=0.0)
    high = max((float(column.max()) for column in known), default=1.0)
    low = min(low, 0.0) if axis.zero else low
    return low, high if high > low else low + 1.0


def _share(axis: Axis, ends: Span, values: Numbers) -> Numbers:
    if axis.log:
        ends, values = (log10(ends[0]), log10(ends[1])), np.log10(np.maximum(values, 1e-300))
    return (values - ends[0]) / (ends[1] - ends[0])


def _line(x: Places, y: Places, is_stairs: bool) -> str:
    """Return a path whose points of one pixel are one."""
    points = dict.fromkeys(zip(np.rint(x).tolist(), np.rint(y).tolist(), strict=True))
    step = "H{0:.0f}V{1:.0f}" if is_stairs else "L{0:.0f} {1:.0f}"
    begin, *rest = points
    return "M{:.0f} {:.0f}".format(*begin) + "".join(step.format(*each) for each in rest)


def _distinct(paths: Iterable[str]) -> str:
    return "".join(dict.fromkeys(paths))


def _text(words: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words)}</text>'


def _titled(axis: Axis, unit: str) -> str:
    return f"{axis.label} ({unit})" if unit else axis.label


def ticks(axis: Axis, low: float, high: float, count: float) -> tuple[list[tuple[float, str]], str]:
    """Return values with their labels, and the unit with its prefix."""
    if axis.ticks:
        return [each for each in axis.ticks if low <= each[0] <= high], ""
    low, high = low * axis.scale, high * axis.scale
    has_prefix = axis.unit in ("B", "bit/s")
    fitting = ((name, size) for name, size in _PREFIXES if has_prefix and max(-low, high) >= size)
    prefix, size = next(fitting, ("", 1.0))
    if axis.log and high >= _DECADE * low:
        values = [10.0**power for power in range(ceil(log10(low)), floor(log10(high)) + 1)]
        return [(value / axis.scale, f"{value / size:,g}") for value in values], prefix + axis.unit
    rough = (high - low) / max(1.0, count)
    power = 10.0 ** floor(log10(rough))
    # 1, 2 or 5 times a power of ten.
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.9999 * rough)
    places = max(0, -floor(log10(step / size) + 1e-9))
    values = [at * step for at in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    labels = [(value / axis.scale, f"{value / size:,.{places}f}") for value in values]
    return labels, prefix + axis.unit
