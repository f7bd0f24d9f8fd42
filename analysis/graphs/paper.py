"""Figures for papers, each with its data as CSV, and pictures of captures."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from analysis import rendering
from analysis.graphs import drawn_layers
from analysis.graphs import layers as plots
from analysis.graphs.capture import Capture, Numbers
from analysis.graphs.ladder import safe_name
from analysis.graphs.stored import latest
from analysis.graphs.webpage import MOST_PICTURED, DirectionView, Samples, views
from analysis.table import csv_lines
from topologies.errors import UsageError


class _PgfRenderer(RendererPgf):
    """Matplotlib's renderer, which measures text itself: LaTeX need not be installed."""

    get_text_width_height_descent = RendererBase.get_text_width_height_descent


_PGF = (
    "%% A figure by tcplab. In the preamble: \\usepackage{pgf}\\usepackage[strings]{underscore}\n"
    "%% In the text: \\input{FILE.pgf}\n"
    "\\begingroup\\makeatletter\\def\\mathdefault#1{#1}\\sffamily\\scriptsize\n"
    "\\begin{pgfpicture}\n"
    "\\pgfpathrectangle{\\pgfpointorigin}{\\pgfqpoint{%fin}{%fin}}\n"
    "\\pgfusepath{use as bounding box, clip}\n"
)


def pgf_text(figure: Figure) -> str:
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keeps the places
    figure.set_dpi(72)
    width, height = figure.get_size_inches()
    with StringIO() as text:
        text.write(_PGF % (width, height))
        renderer: Any = _PgfRenderer(figure, text)  # type: ignore[no-untyped-call]
        mixed: Any = MixedModeRenderer(figure, width, height, figure.dpi, renderer)  # type: ignore[no-untyped-call]
        figure.draw(mixed)
        text.write("\\end{pgfpicture}\\makeatother\\endgroup\n")
        return text.getvalue()


_SETTINGS = matplotlib.rc_params_from_file(
    Path(__file__).with_name("paper.mplstyle"), use_default_template=False
)
_LEGEND = 0.15  # inches of height of a legend's line
_AROUND, _BEFORE = 0.45, 0.5
"""Inches of a panel's height for its title and its times, and left of a row."""
_CHARACTER = 3.8  # points of a character's width
_VALUE = (27.0, 12.0)  # points of width and of height for a value of an axis
_SIZE = 0.6  # scale of strokes and marks, which are made for a screen
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class _Room:
    """Inches of a panel without its words."""

    wide: float
    high: float

    @property
    def values(self) -> tuple[int, int]:
        wide, high = _VALUE
        return min(5, int(self.wide * 72 / wide)), min(5, int(self.high * 72 / high))


def _filled(words: str, inches: float) -> str:
    """Return lines of at most so many inches, unless a word is longer."""
    characters = max(8, int(inches * 72 / _CHARACTER))
    return textwrap.fill(words, characters, break_long_words=False)


Row = list[tuple[Axes, plots.Graph]]


def paper_figure(group: plots.GraphGroup, size: plots.PaperSize) -> Figure:
    with matplotlib.rc_context(_SETTINGS):
        graphs = [_in_unit(_fitted(graph)) for graph in group.graphs]
        across = size.across or size.fitting(len(graphs), 2 * size.columns - 1)
        # If the panels of a row are set, the first of a quantity begins one.
        by_quantity = size.across is not None
        parts = [list(of) for _, of in groupby(graphs, lambda each: each.y.name * by_quantity)]
        down = [of[at : at + across] for of in parts for at in range(0, len(of), across)]
        named = drawn_layers.named_layers(graphs)
        high = min(size.panel, plots.PAGE / len(down))
        room = _Room((size.inches - _BEFORE) / across, high - _AROUND)
        lines = -(-len(named) // drawn_layers.legend_columns(named, size.inches))
        height = high * len(down) + 0.4 + _LEGEND * lines
        figure = Figure(figsize=(size.inches, height), layout="constrained")
        FigureCanvasAgg(figure)
        every = figure.subplots(len(down), across, squeeze=False)
        rows = [list(zip(row, of, strict=False)) for row, of in zip(every, down, strict=True)]
        end = latest(graphs) * plots.TIME.scale or 1.0
        for axes, graph in chain(*rows):
            _draw(axes, graph, end, room)
        for row, of in zip(every, down, strict=True):
            for axes in row[len(of) :]:
                axes.set_axis_off()
        _share_labels(rows, room)
        if named:
            drawn_layers.draw_legend(figure, named)
        # The first sentence says what bands, boxes and dots are.
        sentence = group.caption.partition(". ")[0].rstrip(".") + "." * bool(group.caption)
        words = textwrap.fill(sentence, int(size.inches * 72 / 3.1))
        figure.supxlabel(words, x=0.01, ha="left", fontsize=6, color="0.35")
        return figure


def paper_file(group: plots.GraphGroup, ending: str, size: plots.PaperSize) -> bytes:
    """Return the group as pdf, svg, png or pgf: the same bytes each time. Raises UsageError."""
    if ending not in plots.FORMATS:
        raise UsageError(
            f"'.{ending}' is no format of figures.", f"Use .{', .'.join(plots.FORMATS)}."
        )
    figure = paper_figure(group, size)
    with matplotlib.rc_context(_SETTINGS):
        if ending == "pgf":
            return pgf_text(figure).encode()
        with BytesIO() as buffer:
            # Without a date, which would differ.
            dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending, {})
            caption = "Description" if ending != "pdf" else "Subject"
            about = {"Title": group.title, caption: group.caption, **dates}
            figure.savefig(buffer, format=ending, metadata=about)
            return buffer.getvalue()


_PICTURE = plots.PaperSize(columns=2, panel=4.0)


def write_pictures(
    captures: Sequence[Capture],
    folder: Path,
    formats: Sequence[str] = ("png",),
    samples: Samples | None = None,
    most: int = MOST_PICTURED,
) -> list[Path]:
    """Write one file a graph and format, of `most` connections a capture. Raises TcplabError."""
    drawn = {name: graph for view in views(captures, samples, most) for name, graph in _named(view)}
    files = (
        (f"{name}.{ending}", paper_file(plots.alone(graph), ending, _PICTURE))
        for name, graph in drawn.items()
        for ending in formats
    )
    rendering.write(folder, files, "graphs")
    return [folder / f"{name}.{ending}" for name in drawn for ending in formats]


def _named(view: DirectionView) -> Iterator[tuple[str, plots.Graph]]:
    label, number = safe_name(view.direction.capture), view.direction.connection
    for graph in view.graphs:
        of_all = graph.key in ("fairness", "jain")
        which = "" if of_all else f"_{number}_{'a2b' if view.direction.forward else 'b2a'}"
        if graph.layers:
            yield f"{label}{which}_{graph.key}", graph


def _fitted(graph: plots.Graph) -> plots.Graph:
    """Return the graph as high as the layers that fit: a receive window may be far above."""
    fitting = [layer for layer in graph.layers if plots.look_of(layer.look).fit]
    if graph.y.range or not 0 < len(fitting) < len(graph.layers):
        return graph
    tops = [layer.y if layer.top is None else layer.top for layer in fitting]
    most = max(float(top.max(initial=0.0)) for top in tops)
    return replace(graph, y=plots.holding(graph.y, [0.0, most]))


def _in_unit(graph: plots.Graph) -> plots.Graph:
    """Return the graph with a prefix in the units of its axes, as a paper writes them."""
    across = [column for layer in graph.layers for column in (layer.x, layer.end)]
    up = [
        column
        for layer in graph.layers
        for column in (
            drawn_layers.steepness(layer)[1] if layer.shape == "rate" and len(layer) else layer.y,
            layer.top,
        )
    ]
    return replace(graph, x=_prefixed(graph.x, across), y=_prefixed(graph.y, up))


def _prefixed(axis: plots.Axis, columns: Sequence[Numbers | None]) -> plots.Axis:
    if axis.unit not in ("B", "bit/s"):
        return axis
    ends = [float(np.abs(each).max(initial=0)) for each in columns if each is not None]
    reach = max((*ends, *(axis.range or ())), default=0.0) * axis.scale
    factor, prefix = next((each for each in _PREFIXES if reach >= each[0]), (1.0, ""))
    return replace(axis, unit=prefix + axis.unit, scale=axis.scale / factor)


def _draw(axes: Axes, graph: plots.Graph, end: float, room: _Room) -> None:
    ends = [each for layer in graph.layers for each in (layer.x, layer.end) if each is not None]
    span = max((float(np.ptp(each)) for each in ends), default=1.0) or 1.0
    for at, layer in enumerate(graph.layers):
        drawn_layers.draw_layer(axes, layer, graph, at, span, _SIZE)
    _scale(axes.xaxis, axes.set_xlim, axes.set_xscale, graph.x, room.values[0])
    _scale(axes.yaxis, axes.set_ylim, axes.set_yscale, graph.y, room.values[1])
    if graph.over_time:
        axes.set_xlim(0, end)
    heading = graph.title
    if heading.lower().partition(",")[0] == graph.y.label:  # which is written next to the axis
        heading = heading.partition(",")[2].lstrip()
    if "\n" in _filled(heading, room.wide):
        heading = ",\n".join(_filled(part, room.wide) for part in heading.split(", "))
    axes.set_title(heading, loc="left", pad=3)


def _scale(axis: Any, limit: Any, scale: Any, of: plots.Axis, values: int) -> None:
    if of.log:
        scale("log")
    if of.range:
        limit(of.range[0] * of.scale, of.range[1] * of.scale)
    elif of.zero:
        limit(0)
    if of.ticks:
        axis.set_major_locator(FixedLocator([value * of.scale for value, _ in of.ticks]))
        names = [name for _, name in of.ticks]
        axis.set_major_formatter(FuncFormatter(lambda _, at: names[at] if at is not None else ""))
        axis.set_minor_formatter(NullFormatter())
        axis.set_minor_locator(FixedLocator([]))
    elif not of.log:
        axis.set_major_locator(MaxNLocator(values, steps=[1, 2, 2.5, 5, 10]))


def _share_labels(rows: Sequence[Row], room: _Room) -> None:
    """Name each axis and its values once: below a column, and left of a row of equal panels."""
    for at, row in enumerate(rows):
        below = rows[at + 1] if at + 1 < len(rows) else []
        for place, (axes, graph) in enumerate(row):
            under = below[place][1] if place < len(below) else None
            left = row[place - 1][1] if place else None
            if under is None or under.x.name != graph.x.name:
                axes.set_xlabel(_filled(graph.x.name, room.wide))
            elif graph.over_time and under.over_time:
                axes.tick_params(labelbottom=False)
            if left is None or left.y.name != graph.y.name:
                axes.set_ylabel(_filled(graph.y.name, room.high))
            elif graph.y.range and graph.y == left.y:
                axes.tick_params(labelleft=False)


def data_csv(group: plots.GraphGroup) -> str:
    """Return all that is drawn, a row for each mark, in the units of the axes."""
    return csv_lines([_HEAD, *(row for graph in group.graphs for row in _rows(_in_unit(graph)))])


_HEAD = ("panel", "series", "mark", "x_axis", "x", "x_end", "y_axis", "y", "y_end")


def _rows(graph: plots.Graph) -> Iterator[tuple[Any, ...]]:
    names, x, y = dict(graph.x.ticks) if not graph.x.unit else {}, graph.x, graph.y
    for layer in graph.layers:
        columns = ((layer.x, x), (layer.end, x), (layer.y, y), (layer.top, y))
        cells = [
            [""] * len(layer)
            if column is None
            else [f"{value:.7g}" for value in (column * axis.scale).tolist()]
            for column, axis in columns
        ]
        about = (graph.title or graph.key, layer.words, layer.shape)
        for start, end, low, top in zip(*cells, strict=True):
            yield (*about, x.name, names.get(float(start), start), end, y.name, low, top)
