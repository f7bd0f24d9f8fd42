"""Pictures of the graphs for a text: PNG and SVG."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter

from analysis import rendering
from analysis.graphs.capture import Capture
from analysis.graphs.drawn_layers import draw_layer, thinned
from analysis.graphs.ladder import safe_name
from analysis.graphs.layers import Axis, Graph, look_of
from analysis.graphs.webpage import MOST_PICTURED, DirectionView, Samples, views

SETTINGS: dict[Any, Any] = {
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "path.simplify": True,
    "text.parse_math": False,
}
MOST_NAMED = 12
"""Entries of a legend."""


def write_pictures(
    captures: Sequence[Capture],
    folder: Path,
    formats: Sequence[str] = ("png",),
    samples: Samples | None = None,
    most: int = MOST_PICTURED,
) -> list[Path]:
    """Write one file a graph and format, of at most `most` connections of each capture.

    Raises TcplabError if the folder cannot be written.
    """
    drawn = {name: graph for view in views(captures, samples, most) for name, graph in _named(view)}
    files = (
        (f"{name}.{ending}", picture(graph, ending))
        for name, graph in drawn.items()
        for ending in formats
    )
    rendering.write(folder, files, "graphs")
    return [folder / f"{name}.{ending}" for name in drawn for ending in formats]


def _named(view: DirectionView) -> Iterator[tuple[str, Graph]]:
    label = safe_name(view.direction.capture)
    for graph in view.graphs:
        of_all = graph.key in ("fairness", "jain")
        which = "" if of_all else f"{view.direction.short_name}_"
        if graph.layers:
            yield f"{label}_{which}{graph.key}", graph


def picture(graph: Graph, ending: str) -> bytes:
    entries = {layer.words or look_of(layer.look).words for layer in graph.layers}
    below = 0.65 + 0.22 * -(-min(len(entries), MOST_NAMED) // 2)  # room for the legend, in inches
    height = 4.4 + below
    with matplotlib.rc_context(SETTINGS), BytesIO() as buffer:
        figure = Figure(figsize=(9.0, height), dpi=100)
        FigureCanvasAgg(figure)
        # Fixed margins, because matplotlib's automatic layout draws everything twice.
        bottom, top = below / height, 1 - 0.35 / height
        figure.subplots_adjust(left=0.13, right=1 - 0.2 / 9, bottom=bottom, top=top)
        axes = figure.subplots()
        left, right = _ends(graph)
        for at, layer in enumerate(graph.layers):
            draw_layer(axes, layer, graph, at, right - left)
        _frame(axes, graph, left, right)
        _letters(axes, graph, right - left)
        _legend(figure, axes)
        figure.savefig(buffer, format=ending)
        return buffer.getvalue()


def _ends(graph: Graph) -> tuple[float, float]:
    columns = [
        column for layer in graph.layers for column in (layer.x, layer.end) if column is not None
    ]
    left = 0.0 if graph.over_time else min(float(column.min()) for column in columns)
    return left, max(left + 1, *(float(column.max()) for column in columns))


def _frame(axes: Axes, graph: Graph, left: float, right: float) -> None:
    axes.set_xlim(left * graph.x.scale, right * graph.x.scale)
    _scale(axes, graph)
    if graph.y.ticks:
        axes.set_ylim(-0.3, 2.3)
        axes.set_yticks(
            [value for value, _ in graph.y.ticks],
            [name.rpartition(":")[0] for _, name in graph.y.ticks],
        )
    else:
        axes.set_ylabel(_words(graph.y))
        axes.yaxis.set_major_formatter(_numbers(graph.y))
    axes.set_xlabel(_words(graph.x))
    axes.set_title(graph.title)


def _scale(axes: Axes, graph: Graph) -> None:
    """Scale to the layers that fit, so that a receive window far above is cut."""
    fitting = [layer for layer in graph.layers if look_of(layer.look).fit and layer.shape != "rate"]
    if fitting:
        low = min(float(layer.y.min()) for layer in fitting) * graph.y.scale
        high = (
            max(float((layer.y if layer.top is None else layer.top).max()) for layer in fitting)
            * graph.y.scale
        )
        room = (high - (0 if graph.y.zero else low)) * 0.07 or 1.0
        axes.set_ylim(low - room, high + room)
    if graph.y.zero:
        axes.set_ylim(bottom=0)


def _words(axis: Axis) -> str:
    return axis.label if axis.unit in ("B", "bit/s") else axis.name


def _numbers(axis: Axis) -> FuncFormatter | EngFormatter:
    if axis.unit in ("B", "bit/s"):
        return EngFormatter(unit=axis.unit)
    return FuncFormatter(lambda value, _: f"{value:g}")


def _letters(axes: Axes, graph: Graph, span: float) -> None:
    """Draw letters that cover no other; the last layers, the retransmissions, choose first."""
    taken: list[tuple[float, float]] = []
    for layer in reversed(graph.layers):
        letter = look_of(layer.look).letter
        if not letter or layer.shape != "bars":
            continue
        thin = thinned(layer, span)
        ends = np.column_stack(
            (
                (thin.x if thin.end is None else thin.end) * graph.x.scale,
                (thin.y if thin.top is None else thin.top) * graph.y.scale,
            )
        )
        for place, at in zip(axes.transData.transform(ends).tolist(), ends.tolist(), strict=True):
            if any(abs(place[0] - x) < 12 and abs(place[1] - y) < 13 for x, y in taken):  # pixels
                continue
            taken.append(place)
            axes.annotate(
                letter,
                at,
                (0, 4),
                textcoords="offset points",
                ha="center",
                color=look_of(layer.look).colour,
                fontsize=9,
                fontweight="bold",
                clip_on=True,
            )


def _legend(figure: Figure, axes: Axes) -> None:
    handles, words = axes.get_legend_handles_labels()
    figure.legend(
        handles[:MOST_NAMED], words[:MOST_NAMED], loc="lower center", ncols=2, fontsize=10
    )
