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
    end = x if thin.end is None else thin.end * graph.x.scale
    top = y if thin.top is None else thin.top * graph.y.scale
    is_line = layer.series is not None and layer.shape in ("line", "stairs", "rate")
    dash = DASHES[(layer.series or 0) % len(DASHES)] if is_line else "-"
    style: dict[str, Any] = {
        "color": colour_of(layer, at),
        "linewidth": size * look.width,
        "label": None if words in known else words,
        "linestyle": "--" if look.dash else dash,
    }
    if thin.shape in ("bars", "arrows"):
        strokes = list(np.column_stack((x, y, end, top)).reshape(-1, 2, 2))
        width = style["linewidth"]
        axes.add_collection(LineCollection(strokes, colors=style["color"], linewidths=width))
        _marks(axes, thin, end, top, style, size)
    elif thin.shape == "rate":
        edges, rates = steepness(layer)
        axes.stairs(rates * graph.y.scale, edges * graph.x.scale, baseline=None, **style)
    elif thin.shape == "dots":
        _marks(axes, thin, x, y, style, size)
    elif thin.shape == "band":
        axes.fill_between(x, y, top, label=style["label"], **_area(layer, style["color"]))
    elif thin.shape == "boxes":
        _boxes(axes, layer, np.column_stack((x, y, end - x, top - y)), style)
    elif thin.shape in ("level", "moments"):
        across = axes.axhline if thin.shape == "level" else axes.axvline
        for value in (y if thin.shape == "level" else x).tolist():
            across(value, **style)
    else:
        axes.plot(x, y, drawstyle="steps-post" if thin.shape == "stairs" else "default", **style)


def thinned(layer: Layer, span: float) -> Layer:
    if look_of(layer.look).every or layer.shape in _WHOLE or len(layer) <= 4 * COLUMNS:
        return layer
    columns = (layer.x * (COLUMNS / span)).astype(np.int64)
    is_cells = layer.shape == "dots"
    return in_cells(layer, columns, COLUMNS // 4) if is_cells else in_groups(layer, columns)


_WHOLE = ("rate", "band", "level", "moments", "boxes")  # shapes of which all marks are drawn


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


def _area(layer: Layer, colour: str) -> dict[str, Any]:
    """Return the style of a band; areas that are stacked are filled whole and hatched."""
    faint = look_of(layer.look).faint
    return {
        "facecolor": colour,
        "alpha": 0.2 if faint else 0.55,
        "hatch": None if faint else HATCHES[(layer.series or 0) % len(HATCHES)],
        "edgecolor": "none" if faint else "white",
        "linewidth": 0,
    }


def _boxes(axes: Axes, layer: Layer, boxes: Numbers, style: dict[str, Any]) -> None:
    """Draw boxes by their left, lower corner, width and height."""
    alpha = 0.35 if look_of(layer.look).faint else 0.8
    hatch = None if layer.series is None else HATCHES[layer.series % len(HATCHES)]
    looks = {"facecolor": style["color"], "edgecolor": "white", "linewidth": 0.4}
    for left, low, wide, high in boxes.tolist():
        axes.add_patch(Rectangle((left, low), wide, high, alpha=alpha, hatch=hatch, **looks))
    axes.plot([], [], **style)  # for the legend


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
    """Return the layer that stands for each name.

    None if axes name each series at its place, or titles the only one.
    """
    named = [_named(graph) for graph in graphs]
    if all(
        all(map(graph.title.endswith, of)) or {name for _, name in graph.x.ticks} >= of.keys()
        for graph, of in zip(graphs, named, strict=True)
    ):
        return {}
    return {words: layer for each in named for words, layer in each.items()}


def _named(graph: Graph) -> dict[str, Layer]:
    """Return the layer that stands for each name, lines before dots and areas."""
    ranks = {"line": 0, "stairs": 0, "rate": 0, "band": 1}
    found: dict[str, Layer] = {}
    for layer in sorted(graph.layers, key=lambda layer: ranks.get(layer.shape, 2)):
        if words := layer.words or look_of(layer.look).words:
            found.setdefault(words, layer)
    return found


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
