"""Names of lines next to them, or one legend where they have no room."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from analysis.graphs.drawn_layers import DASHES, HATCHES, MARKERS, colour_of
from analysis.graphs.layers import Graph, Layer, look_of

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
    """Return the colour dark enough for text."""
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
    """Put one legend above all panels."""
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
