"""Layers of marks drawn by Matplotlib, and names of lines next to them or in one legend."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

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
    """Draw a layer, the `at`-th of a graph whose horizontal axis spans `span`.

    `size` scales strokes and marks.
    """
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
    """Return the layer without marks that others would cover."""
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


def _cells(axes: Axes, layer: Layer, graph: Graph, style: dict[str, Any]) -> None:
    """Draw squares in grey, darker for more, with the number of each."""
    assert layer.tint is not None
    for at, (x, y, tint) in enumerate(np.column_stack((layer.x, layer.y, layer.tint)).tolist()):
        shade = str(1 - 0.6 * max(0.0, tint))
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white"))
        if layer.notes:
            axes.text(x, y, layer.notes[at], ha="center", va="center")


_AREAS = {"band": _band, "level": _level, "moments": _moments, "boxes": _boxes, "cells": _cells}
"""Shapes that fill or cross a graph; all of their marks are drawn."""


def steepness(layer: Layer) -> tuple[Numbers, Numbers]:
    """Return the edges of equal bins and the rate in each."""
    edges = np.linspace(float(layer.x[0]), float(layer.x[-1]) + 1, RATE_BINS + 1)
    at = np.searchsorted(layer.x, edges, side="right") - 1
    sums = np.where(at < 0, 0, layer.y[np.maximum(at, 0)]).astype(np.float64)
    return edges, np.diff(sums) / np.diff(edges)


MOST_LABELS = 5
LONGEST = 14
"""Characters of a name that fits next to a line."""
NARROW = 1.4
"""Inches of a panel that has no room for names."""
_CHARACTER = 3.4
"""Points of a character of a name."""
_LINE_HEIGHT = 8.0
"""Points between two names."""


def label_lines(
    figure: Figure, rows: Sequence[Sequence[tuple[Axes, Graph]]], in_legend: bool, wide: float
) -> None:
    """Name the series of each panel: at the right ends, within a distribution, or in a legend.

    Panels are `wide` inches, which a line across may not have for its name.
    """
    for axes, graph in chain(*rows):
        _label_levels(axes, graph, int(wide * 72 / _CHARACTER))
    named = _of_all([graph for _, graph in chain(*rows)])
    if in_legend:
        _legend(figure, named)
    elif named:
        for row in rows:
            _label_row(figure, row)


def _label_row(figure: Figure, row: Sequence[tuple[Axes, Graph]]) -> None:
    for at, (axes, graph) in enumerate(row):
        after = row[at + 1][1] if at + 1 < len(row) else None
        if any(layer.shape == "stairs" for layer in graph.layers):
            _label_curves(axes, graph)
        elif after is None or _named(graph).keys() != _named(after).keys():
            _label_ends(figure, axes, graph)


def _of_all(graphs: Sequence[Graph]) -> dict[str, Layer]:
    """Return the named layers of all panels; none if their axes name them."""
    if all(_has_names(graph) for graph in graphs):
        return {}
    return {words: layer for graph in graphs for words, layer in _named(graph).items()}


def needs_legend(graphs: Sequence[Graph], wide: float) -> bool:
    """Return True if names cannot stand next to lines in panels that are `wide` inches."""
    named = _of_all(graphs)
    longest = max(map(len, named), default=0)
    return len(named) > MOST_LABELS or longest > LONGEST or (longest > 0 and wide < NARROW)


def _named(graph: Graph) -> dict[str, Layer]:
    """Return the layer that stands for each name, lines before dots and areas."""
    ranks = {"line": 0, "stairs": 0, "rate": 0, "band": 1}
    layers = sorted(graph.layers, key=lambda layer: ranks.get(layer.shape, 2))
    found: dict[str, Layer] = {}
    for layer in layers:
        words = layer.words or look_of(layer.look).words
        if words and layer.shape != "level":
            found.setdefault(words, layer)
    return found


def _has_names(graph: Graph) -> bool:
    """Return True if the axis names each series at its place, or the title the only one."""
    if all(graph.title.endswith(words) for words in _named(graph)):
        return True
    return {name for _, name in graph.x.ticks} >= set(_named(graph))


def _dark(colour: str) -> tuple[float, ...]:
    return tuple(0.75 * part for part in to_rgb(colour))


def _halo() -> list[withStroke]:
    return [withStroke(linewidth=1.5, foreground="white")]


def _label_levels(axes: Axes, graph: Graph, longest: int) -> None:
    """Write the names of lines across, where curves are farther away."""
    for layer in graph.layers:
        if layer.shape == "level" and 0 < len(layer.words) <= longest:
            right = _is_crossed_at_left(axes, graph, float(layer.y[0]))
            axes.annotate(
                layer.words,
                (0.99 if right else 0.01, float(layer.y[0]) * graph.y.scale),
                (0, 1),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                ha="right" if right else "left",
                color="0.3",
                fontsize=6,
                path_effects=_halo(),
            )


def _is_crossed_at_left(axes: Axes, graph: Graph, level: float) -> bool:
    """Return True if most points near the height are in the left half."""
    near = np.ptp(axes.get_ylim()) / graph.y.scale / 12
    drawn = [layer for layer in graph.layers if layer.shape != "level"]
    found = [layer.x[np.abs(layer.y - level) < near] * graph.x.scale for layer in drawn]
    across = np.concatenate([*found, np.zeros(0)])
    return len(across) > 0 and float(np.median(across)) < float(np.mean(axes.get_xlim()))


def _label_ends(figure: Figure, axes: Axes, graph: Graph) -> None:
    """Write each name at the height of its line's end, apart from the others."""
    named = _named(graph)
    ends = {}
    for words, layer in named.items():
        top = layer.y if layer.top is None else layer.top
        tail = max(1, len(layer) // 20)
        height = float(np.median((layer.y[-tail:] + top[-tail:]) / 2)) * graph.y.scale
        ends[words] = float(axes.transData.transform((0, height))[1]) * 72 / figure.dpi
    floor = float(axes.transAxes.transform((0, 0))[1]) * 72 / figure.dpi + _LINE_HEIGHT / 2
    places = _apart(list(ends.values()))
    lift = max(0.0, floor - min(places))
    right = axes.get_xlim()[1]
    for (words, layer), place, height in zip(named.items(), places, ends.values(), strict=True):
        level = axes.transData.inverted().transform((0, height * figure.dpi / 72))[1]
        axes.annotate(
            words,
            (right, level),
            (4, place + lift - height),
            textcoords="offset points",
            va="center",
            color=_dark(colour_of(layer)),
            annotation_clip=False,
        )


def _apart(heights: Sequence[float]) -> list[float]:
    """Return heights that are a line apart, in the same order and around the same middle."""
    order = np.argsort(heights, kind="stable")
    placed = np.array(heights, dtype=float)[order]
    for _ in range(50):
        gaps = np.maximum(_LINE_HEIGHT - np.diff(placed), 0)
        if not gaps.max(initial=0) > 0.05:
            break
        placed[1:] += gaps / 2
        placed[:-1] -= gaps / 2
    result = np.empty(len(placed))
    result[order] = placed
    return [float(each) for each in result]


def _label_curves(axes: Axes, graph: Graph) -> None:
    """Write the names of distributions right of their curves, at different shares."""
    curves = [(w, layer) for w, layer in _named(graph).items() if layer.shape == "stairs"]
    curves.sort(key=lambda curve: float(np.median(curve[1].x)))
    shares = np.linspace(0.85, 0.15, len(curves)) if len(curves) > 1 else [0.75]
    for (words, layer), share in zip(curves, shares, strict=True):
        at = min(int(np.searchsorted(layer.y, share)), len(layer) - 1)
        axes.annotate(
            words,
            (float(layer.x[at]) * graph.x.scale, share * graph.y.scale),
            (4, 0),
            textcoords="offset points",
            va="center",
            color=_dark(colour_of(layer)),
            path_effects=_halo(),
        )


def _legend(figure: Figure, named: dict[str, Layer]) -> None:
    handles = [_sample(words, layer) for words, layer in named.items()]
    longest = max(map(len, named))
    fitting = max(1, int(figure.get_figwidth() * 72 / (30 + 4.2 * longest)))
    size = matplotlib.rcParams["legend.fontsize"]
    figure.legend(handles=handles, loc="outside upper center", ncols=fitting, fontsize=size)


def _sample(words: str, layer: Layer) -> Line2D | Patch:
    look, number = look_of(layer.look), layer.series or 0
    colour = colour_of(layer)
    if layer.shape in ("band", "boxes"):
        hatch = HATCHES[number % len(HATCHES)]
        return Patch(facecolor=colour, alpha=0.6, hatch=hatch, edgecolor="white", label=words)
    mark = MARKERS[look.mark] if look.mark else ""
    is_line = layer.shape != "dots"
    dash: Any = DASHES[number % len(DASHES)] if is_line else "none"
    return Line2D([], [], color=colour, linestyle=dash, marker=mark, markersize=3, label=words)
