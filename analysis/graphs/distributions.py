"""Layers of distributions (curves and boxes), and of medians with ranges over a sweep."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis.graphs import layers as plots
from analysis.graphs.capture import Numbers

Floats = NDArray[np.floating[Any]]
MOST_STEPS = 400
"""Steps of a curve and dots of a box; of more values, evenly spread quantiles look the same."""
SHARE = plots.Axis("share", "%", 100.0, zero=True, range=(0.0, 1.03))
_HALF, _DOTS = 0.17, 0.3
_BOX = plots.SeriesLook("", plots.DOT.colour, faint=True)
_STROKE = plots.SeriesLook("", plots.DOT.colour, width=1.2)


def curve(words: str, ordered: Numbers, series: int) -> list[plots.Layer]:
    """Return the cumulative distribution of ordered values, and its median as a mark."""
    ended = ordered[np.isfinite(ordered)]
    if not len(ended):
        return []
    steps = fewer(ended)
    shares = np.arange(1, len(steps) + 1) / len(steps) * (len(ended) / len(ordered))
    look = plots.marked(series)
    x = np.append(steps[:1], steps).astype(np.float64)
    y = np.append([0.0], shares)
    line = replace(look, mark="", every=False)
    middle = np.array([float(np.median(ordered))])
    layers = [
        plots.Layer(line, "stairs", x, y, words=words, series=series),
        plots.Layer(look, "dots", middle, np.array([0.5]), words=words, series=series),
    ]
    return layers if np.isfinite(middle).all() else layers[:1]


def curves(
    key: str, title: str, axis: plots.Axis, lines: Mapping[str, Floats], share: plots.Axis = SHARE
) -> tuple[plots.Graph, ...]:
    """Return a graph of the distribution of each line's values; none without a finite value."""
    layers = list[plots.Layer]()
    for series, (words, values) in enumerate(lines.items()):
        layers += curve(words, np.sort(values), series)
    half = plots.level(0.5, "half of them: the median")
    return (plots.Graph(key, title, "", axis, share, (*layers, half)),) if layers else ()


def fewer(ordered: Numbers) -> Numbers:
    """Return the values, or evenly spread quantiles of many."""
    if len(ordered) <= MOST_STEPS:
        return ordered
    quantiles: Numbers = np.quantile(ordered, np.linspace(0, 1, MOST_STEPS))
    return quantiles


def box(values: Numbers, at: float, series: int, words: str) -> list[plots.Layer]:
    """Return a box of quartiles, whiskers after Tukey, and a dot for each finite value."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return []
    ordered = np.sort(values).astype(np.float64)
    values = np.minimum(values, finite.max())
    low, middle, high = np.quantile(values, [[0.25], [0.5], [0.75]])
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    whiskers = np.append(inside.min(), high), np.append(low, inside.max())
    left, right, upright = np.array([at - _HALF]), np.array([at + _HALF]), np.array([at, at])
    known = np.isfinite([np.median(ordered)])
    dots = fewer(ordered)
    across = at + _DOTS + 0.1 * plots.spread(len(dots))
    order = np.argsort(across)
    layer = partial(plots.Layer, words=words, series=series)
    median = left[known], middle[known], middle[known], right[known]
    return [
        layer(_BOX, "boxes", left, low, high, right),
        layer(_STROKE, "bars", upright, *whiskers, upright),
        layer(replace(_STROKE, width=3), "bars", *median),
        layer(plots.DOT, "dots", across[order], dots[order]),
    ]


Direction = Literal["x", "y"]
_Row = TypeVar("_Row")
_MOST_ROWS = 16  # rows of a graph that fits on an A4 page
_ROOM = 0.7
_AROUND = 76  # pixels around the rows of a graph
"""Rows that stay free above the first and below the last."""


@dataclass(frozen=True)
class RangedValue:
    """One number at a place of the other axis: range of its runs, interval, and name."""

    at: float
    value: float
    runs: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    name: str = ""


def look(colour: str, mark: plots.Mark) -> plots.SeriesLook:
    return plots.SeriesLook("", colour, mark, every=True, width=2)


def ranged(
    values: Sequence[RangedValue], look: plots.SeriesLook, words: str, along: Direction
) -> list[plots.Layer]:
    """Return a thin bar for the runs, a thick one for the interval, and a mark, along an axis."""
    bar = replace(look, mark="", every=False)
    runs = [(value, *value.runs) for value in values if value.runs]
    intervals = [(value, *value.interval) for value in values if value.interval]
    layers = (
        _ranges("bars", runs, replace(bar, width=1.2), words, along),
        _ranges("bars", intervals, replace(bar, width=3.5), words, along),
        _ranges("dots", [(each, each.value, each.value) for each in values], look, words, along),
    )
    return [layer for layer in layers if len(layer)]


def _ranges(
    shape: Literal["bars", "dots"],
    ends: Sequence[tuple[RangedValue, float, float]],
    look: plots.SeriesLook,
    words: str,
    along: Direction,
) -> plots.Layer:
    ordered = sorted(ends, key=lambda each: each[1] if along == "x" else each[0].at)
    notes = tuple(value.name for value, *_ in ordered)
    rows = [(value.at, low, high) for value, low, high in ordered]
    at, low, high = np.array(rows, dtype=float).reshape(-1, 3).T
    x, y, top, end = (low, at, at, high) if along == "x" else (at, low, high, at)
    if shape == "dots":
        return plots.Layer(look, shape, x, y, words=words, notes=notes)
    return plots.Layer(look, shape, x, y, top, end, words=words, notes=notes)


def extremes(values: Sequence[RangedValue]) -> list[float]:
    return [
        number
        for value in values
        for number in (value.value, *(value.runs or ()), *(value.interval or ()))
    ]


def rows_graph(
    key: str, across: plots.Axis, names: Sequence[str], layers: Iterable[plots.Layer], row: int
) -> plots.Graph:
    """Return a graph with a row of `row` pixels for each name; row `number` is at -number."""
    ticks = sorted((-float(at), name) for at, name in enumerate(names))
    down = plots.Axis("", "", ticks=tuple(ticks), range=(-len(names) + 1 - _ROOM, _ROOM))
    return plots.Graph(key, "", "", across, down, tuple(layers), height=_AROUND + row * len(names))


def verdict_rows(
    key: str,
    across: plots.Axis,
    rows: Sequence[tuple[str, RangedValue]],
    looks: Mapping[str, tuple[plots.SeriesLook, str]],
    row: int,
    neutral: float = 1.0,
) -> plots.Graph:
    """Return a row for each value, with the look of its verdict, and a line of no difference."""
    placed = [(verdict, replace(value, at=-float(at))) for at, (verdict, value) in enumerate(rows)]
    layers = list[plots.Layer]()
    for verdict, (look, words) in looks.items():
        layers += ranged([value for of, value in placed if of == verdict], look, words, "x")
    layers.append(no_difference("no difference", neutral))
    return rows_graph(key, across, [value.name for _, value in rows], layers, row)


def in_panels(of_rows: Sequence[_Row]) -> list[Sequence[_Row]]:
    return [of_rows[at : at + _MOST_ROWS] for at in range(0, len(of_rows), _MOST_ROWS)]


def ratio_axis(label: str, numbers: Sequence[float]) -> plots.Axis:
    """Return a logarithmic axis with 1 in the middle: half and twice are equally far."""
    ends = [end for end in numbers if end > 0]
    widest = 1.05 * max([1.2, *ends, *(1 / end for end in ends)])
    return plots.Axis(label, "", log=True, range=(1 / widest, widest))


def no_difference(words: str, at: float = 1.0) -> plots.Layer:
    return plots.Layer(plots.REFERENCE, "moments", np.array([at]), np.zeros(1), words=words)


_MARGIN = 0.08
_CROWDED = 0.06  # share of the axis below which two values stand too close


@dataclass(frozen=True)
class SweptAxis:
    """The place of each value; "even" is for values that neither scale separates."""

    positions: tuple[float, ...]
    labels: tuple[str, ...]
    spacing: Literal["linear", "log", "even"]


def swept(labels: Sequence[str], amounts: Sequence[float | None]) -> SweptAxis:
    """Return places: linear if that keeps values apart, else logarithmic above zero, else even."""
    numbers, names = [amount for amount in amounts if amount is not None], tuple(labels)
    if len(set(numbers)) == len(names):
        ordered = sorted(numbers)
        nearest = min((high - low for low, high in pairwise(ordered)), default=1.0)
        is_crowded = nearest < _CROWDED * (ordered[-1] - ordered[0]) or plots.spans_decades(numbers)
        if len(numbers) == 1 or not is_crowded:
            return SweptAxis(tuple(numbers), names, "linear")
        if ordered[0] > 0:
            return SweptAxis(tuple(numbers), names, "log")
    return SweptAxis(tuple(map(float, range(len(names)))), names, "even")


def ticked(axis: SweptAxis, label: str) -> plots.Axis:
    is_log = axis.spacing == "log"
    places = np.array(axis.positions, dtype=float)
    scaled = np.log10(places) if is_log else places
    room = _MARGIN * float(np.ptp(scaled)) or 1.0
    low, high = float(scaled.min()) - room, float(scaled.max()) + room
    ends = (10**low, 10**high) if is_log else (low, high)
    ticks = tuple(sorted(zip(places.tolist(), axis.labels, strict=True)))
    return plots.Axis(label, "", ticks=ticks, log=is_log, range=ends)
