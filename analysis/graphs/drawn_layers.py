"""Layers of marks drawn by Matplotlib, and their legend."""

from collections.abc import Collection, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from analysis.graphs.capture import Numbers
from analysis.graphs.ladder import in_cells, in_groups
from analysis.graphs.layers import SERIES, Graph, Layer, look_of

COLUMNS = 1600
"""Columns of a picture; more than four marks of a kind in each are thinned to the extremes."""
RATE_BINS = 150
MOST_DRAWN = 10_000
"""Dots of one kind beyond which an SVG has pixels: shapes would take tens of megabytes."""
MARKERS = {
    "": ".",
    "triangle": "^",
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "x",
    "plus": "+",
    "ring": "o",
}
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 3)), (0, (1, 3)))
"""Strokes of numbered series, which differ in print without colours."""
HATCHES = ("", "////", "||||", "xxxx", "\\\\\\\\", "----", "++++")
"""Strokes only: LaTeX takes minutes for the circles of dotted patterns."""


def colour_of(layer: Layer, at: int = 0) -> str:
    """Return the colour of a layer, the `at`-th of its graph: of its series, or of its look."""
    number = at if layer.look == "connection" else layer.series
    return look_of(layer.look).colour if number is None else SERIES[number % len(SERIES)]


def draw_layer(
    axes: Axes, layer: Layer, graph: Graph, at: int, span: float, size: float = 1.0
) -> None:
    """Draw the `at`-th layer of a graph that spans `span`; `size` scales strokes and marks."""
    look, words = look_of(layer.look), layer.words or look_of(layer.look).words
    known = axes.get_legend_handles_labels()[1]
    thin = thinned(layer, span)
    x, y = thin.x * graph.x.scale, thin.y * graph.y.scale
    style: dict[str, Any] = {
        "color": colour_of(layer, at),
        "linewidth": size * look.width,
        "label": None if words in known else words,
        "linestyle": "--" if look.dash else _stroke(layer),
    }
    if thin.shape in ("bars", "arrows"):
        _strokes(axes, thin, graph, style, size)
    elif thin.shape == "rate":
        edges, rates = steepness(layer)
        axes.stairs(rates * graph.y.scale, edges * graph.x.scale, baseline=None, **style)
    elif thin.shape == "dots":
        _marks(axes, thin, x, y, style, size)
    elif thin.shape in _AREAS:
        _AREAS[thin.shape](axes, thin, graph, style)
    else:
        axes.plot(x, y, drawstyle="steps-post" if thin.shape == "stairs" else "default", **style)


def _stroke(layer: Layer) -> Any:
    is_line = layer.series is not None and layer.shape in ("line", "stairs", "rate")
    return DASHES[(layer.series or 0) % len(DASHES)] if is_line else "-"


def thinned(layer: Layer, span: float) -> Layer:
    whole = look_of(layer.look).every or layer.shape == "rate" or layer.shape in _AREAS
    if whole or len(layer) <= 4 * COLUMNS:
        return layer
    columns = (layer.x * (COLUMNS / span)).astype(np.int64)
    return (
        in_cells(layer, columns, COLUMNS // 4)
        if layer.shape == "dots"
        else in_groups(layer, columns)
    )


def _strokes(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any], size: float) -> None:
    end = layer.x if layer.end is None else layer.end
    top = layer.y if layer.top is None else layer.top
    x, y = graph.x.scale, graph.y.scale
    lines = np.column_stack((layer.x * x, layer.y * y, end * x, top * y)).reshape(-1, 2, 2)
    axes.add_collection(
        LineCollection(list(lines), colors=style["color"], linewidths=style["linewidth"])
    )
    _marks(axes, layer, end * x, top * y, style, size)


def _marks(
    axes: Axes, layer: Layer, x: Numbers, y: Numbers, style: dict[str, Any], size: float
) -> None:
    look, colour = look_of(layer.look), style["color"]
    if look.every or layer.shape == "dots":
        face = "none" if look.mark == "ring" else colour
        axes.plot(
            x,
            y,
            MARKERS[look.mark],
            color=colour,
            markerfacecolor=face,
            label=style["label"],
            markersize=size * (5 if look.every else 3),
            rasterized=len(x) > MOST_DRAWN,
        )
    else:
        axes.plot([], [], **style)  # for the legend


def _band(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any]) -> None:
    """Fill between y and top; areas that are stacked are filled whole and hatched."""
    assert layer.top is not None
    faint = look_of(layer.look).faint
    axes.fill_between(
        layer.x * graph.x.scale,
        layer.y * graph.y.scale,
        layer.top * graph.y.scale,
        facecolor=style["color"],
        alpha=0.2 if faint else 0.55,
        hatch=None if faint else HATCHES[(layer.series or 0) % len(HATCHES)],
        edgecolor="none" if faint else "white",
        linewidth=0,
        label=style["label"],
    )


def _level(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any]) -> None:
    for value in layer.y.tolist():
        axes.axhline(value * graph.y.scale, **style)


def _moments(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any]) -> None:
    for value in layer.x.tolist():
        axes.axvline(value * graph.x.scale, **style)


def _boxes(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any]) -> None:
    assert layer.top is not None and layer.end is not None
    hatch = None if layer.series is None else HATCHES[layer.series % len(HATCHES)]
    x, y = graph.x.scale, graph.y.scale
    for left, low, right, top in np.column_stack((layer.x, layer.y, layer.end, layer.top)).tolist():
        axes.add_patch(
            Rectangle(
                (left * x, low * y),
                (right - left) * x,
                (top - low) * y,
                facecolor=style["color"],
                alpha=0.35 if look_of(layer.look).faint else 0.8,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.4,
            )
        )
    axes.plot([], [], **style)  # for the legend


_AREAS = {"band": _band, "level": _level, "moments": _moments, "boxes": _boxes}
"""Shapes that fill or cross a graph; all of their marks are drawn."""


def steepness(layer: Layer) -> tuple[Numbers, Numbers]:
    edges = np.linspace(float(layer.x[0]), float(layer.x[-1]) + 1, RATE_BINS + 1)
    at = np.searchsorted(layer.x, edges, side="right") - 1
    sums = np.where(at < 0, 0, layer.y[np.maximum(at, 0)]).astype(np.float64)
    return edges, np.diff(sums) / np.diff(edges)


def legend_columns(named: Collection[str], inches: float) -> int:
    """Return the names that fit next to each other."""
    return max(1, int(inches * 72 / (30 + 4.2 * max(map(len, named), default=0))))


def draw_legend(figure: Figure, named: dict[str, Layer]) -> None:
    handles = [_sample(words, layer) for words, layer in named.items()]
    fitting = legend_columns(named, figure.get_figwidth())
    size = matplotlib.rcParams["legend.fontsize"]
    figure.legend(handles=handles, loc="outside upper center", ncols=fitting, fontsize=size)


def named_layers(graphs: Sequence[Graph]) -> dict[str, Layer]:
    """Return the layer that stands for each name; none if the axes name the series."""
    named = [_named(graph) for graph in graphs]
    if all(map(_has_names, graphs, named)):
        return {}
    return {words: layer for each in named for words, layer in each.items()}


def _named(graph: Graph) -> dict[str, Layer]:
    """Return the layer that stands for each name, lines before dots and areas."""
    ranks = {"line": 0, "stairs": 0, "rate": 0, "band": 1}
    layers = sorted(graph.layers, key=lambda layer: ranks.get(layer.shape, 2))
    found: dict[str, Layer] = {}
    for layer in layers:
        if words := layer.words or look_of(layer.look).words:
            found.setdefault(words, layer)
    return found


def _has_names(graph: Graph, named: dict[str, Layer]) -> bool:
    """Return True if the axis names each series at its place, or the title the only one."""
    if all(graph.title.endswith(words) for words in named):
        return True
    return {name for _, name in graph.x.ticks} >= named.keys()


def _sample(words: str, layer: Layer) -> Line2D | Patch:
    look, number = look_of(layer.look), layer.series or 0
    colour = colour_of(layer)
    if layer.shape in ("band", "boxes"):
        hatch = HATCHES[number % len(HATCHES)]
        return Patch(facecolor=colour, alpha=0.6, hatch=hatch, edgecolor="white", label=words)
    mark = MARKERS[look.mark] if look.mark else ""
    is_line = layer.shape != "dots"
    dash: Any = "--" if look.dash else DASHES[number % len(DASHES)] if is_line else "none"
    return Line2D([], [], color=colour, linestyle=dash, marker=mark, markersize=3, label=words)
