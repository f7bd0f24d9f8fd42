"""Figures for papers: a group of graphs at the width of a column, and its data as CSV."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
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

from analysis.graphs.direct_labels import label_lines, needs_legend
from analysis.graphs.drawn_layers import draw_layer
from analysis.graphs.layers import TIME, Axis, Graph, GraphGroup
from analysis.graphs.stored import latest
from analysis.tabular.table import csv_lines
from topologies.foundation.errors import UsageError

WIDTHS = {"ieee": (3.5, 7.16), "acm": (3.33, 7.0)}
"""Inches of one column and of the text's width: IEEE's transactions, ACM's acmart sigconf."""
FORMATS = ("pdf", "svg", "png", "pgf")
_SETTINGS: dict[Any, Any] = {
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.titlesize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.4,
    "hatch.linewidth": 0.4,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "pgf.rcfonts": False,  # the fonts of the paper
    "savefig.dpi": 300,
    "svg.hashsalt": "tcplab",  # the same bytes each time
    "text.parse_math": False,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
}
_PANEL, _LEGEND = 1.5, 0.3
"""Inches of height of a panel, and of a legend."""
_LONGEST_LABEL = 24
"""Characters of a line of a label that is as high as a panel."""
_SIZE = 0.6
"""Scale of strokes and marks, which are made for a screen."""
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class PaperSize:
    """The `paper` (ieee, acm), how many of its `columns` a figure takes, and panels in a row."""

    paper: str = "ieee"
    columns: int = 1
    across: int | None = None

    @property
    def inches(self) -> float:
        return WIDTHS[self.paper][self.columns - 1]


def paper_figure(group: GraphGroup, size: PaperSize) -> Figure:
    """Return the group as a figure of Matplotlib."""
    with matplotlib.rc_context(_SETTINGS):
        graphs = [_in_unit(graph) for graph in group.graphs]
        across = size.across or min(len(graphs), 1 if size.columns == 1 else 3)
        down = -(-len(graphs) // across)
        height = _PANEL * down + 0.25 + _LEGEND * needs_legend(graphs)
        figure = Figure(figsize=(size.inches, height), layout="constrained")
        FigureCanvasAgg(figure)
        every = figure.subplots(down, across, squeeze=False).ravel().tolist()
        end = latest(graphs) * TIME.scale or 1.0
        for axes, graph in zip(every, graphs, strict=False):
            _draw(axes, graph, end)
        for axes in every[len(graphs) :]:
            axes.set_axis_off()
        _share_labels(every[: len(graphs)], graphs, across)
        label_lines(figure, every, graphs, across)
        _explain(figure, group.caption)
        return figure


def _explain(figure: Figure, caption: str) -> None:
    """Write the first sentence of the caption below: it says what bands, boxes and dots are."""
    sentence = caption.partition(". ")[0].rstrip(".") + "."
    wide = int(figure.get_figwidth() * 72 / 3.1)
    words = textwrap.fill(sentence, wide) if caption else ""
    figure.supxlabel(words, x=0.01, ha="left", fontsize=6, color="0.35")


def paper_file(group: GraphGroup, ending: str, size: PaperSize) -> bytes:
    """Return the group as a file: pdf, svg, png or pgf, the same bytes for the same data.

    Raises UsageError for another ending.
    """
    if ending not in FORMATS:
        raise UsageError(f"'.{ending}' is no format of figures.", f"Use .{', .'.join(FORMATS)}.")
    figure = paper_figure(group, size)
    with matplotlib.rc_context(_SETTINGS):
        if ending == "pgf":
            return _pgf(figure).encode()
        with BytesIO() as buffer:
            figure.savefig(buffer, format=ending, metadata=_about(group, ending))
            return buffer.getvalue()


def _about(group: GraphGroup, ending: str) -> dict[str, Any]:
    """Return title and caption for the file's head, without a date, which would differ."""
    dates: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    caption = "Description" if ending != "pdf" else "Subject"
    return {"Title": group.title, caption: group.caption, **dates.get(ending, {})}


class _PgfRenderer(RendererPgf):
    """Matplotlib's renderer, which measures text itself: LaTeX need not be installed."""

    def get_text_width_height_descent(
        self, s: str, prop: Any, ismath: Any
    ) -> tuple[float, float, float]:
        found: tuple[float, float, float] = RendererBase.get_text_width_height_descent(
            self, s, prop, ismath
        )
        return found


_PGF = (
    "%% A figure by tcplab. In the preamble: \\usepackage{pgf}\\usepackage[strings]{underscore}\n"
    "%% In the text: \\input{FILE.pgf}\n"
    "\\begingroup\\makeatletter\\def\\mathdefault#1{#1}\\sffamily\\scriptsize\n"
    "\\begin{pgfpicture}\n"
    "\\pgfpathrectangle{\\pgfpointorigin}{\\pgfqpoint{%fin}{%fin}}\n"
    "\\pgfusepath{use as bounding box, clip}\n"
)


def _pgf(figure: Figure) -> str:
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


def _in_unit(graph: Graph) -> Graph:
    """Return the graph with a prefix in the units of its axes, as a paper writes them."""
    return replace(
        graph, x=_prefixed(graph.x, _reach(graph, 0)), y=_prefixed(graph.y, _reach(graph, 1))
    )


def _reach(graph: Graph, axis: int) -> float:
    ends = [
        float(np.abs(column).max(initial=0))
        for layer in graph.layers
        for column in ((layer.x, layer.end), (layer.y, layer.top))[axis]
        if column is not None
    ]
    return max(ends, default=0.0) * (graph.x, graph.y)[axis].scale


def _prefixed(axis: Axis, reach: float) -> Axis:
    if axis.unit not in ("B", "bit/s"):
        return axis
    factor, prefix = next((each for each in _PREFIXES if reach >= each[0]), (1.0, ""))
    return replace(axis, unit=prefix + axis.unit, scale=axis.scale / factor)


def _words(axis: Axis) -> str:
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label


def _draw(axes: Axes, graph: Graph, end: float) -> None:
    ends = [each for layer in graph.layers for each in (layer.x, layer.end) if each is not None]
    span = max((float(np.ptp(each)) for each in ends), default=1.0) or 1.0
    for at, layer in enumerate(graph.layers):
        draw_layer(axes, layer, graph, at, span, _SIZE)
    _scale(axes.xaxis, axes.set_xlim, axes.set_xscale, graph.x)
    _scale(axes.yaxis, axes.set_ylim, axes.set_yscale, graph.y)
    if graph.over_time:
        axes.set_xlim(0, end)
    if graph.title.lower() != graph.y.label:
        axes.set_title(graph.title, loc="left", pad=3)


def _scale(axis: Any, limit: Any, scale: Any, of: Axis) -> None:
    """Set the scale, the range and the ticks of one axis."""
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
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def _share_labels(every: Sequence[Axes], graphs: Sequence[Graph], across: int) -> None:
    """Name each axis once: below a column, and left of a row whose panels are alike."""
    for at, (axes, graph) in enumerate(zip(every, graphs, strict=True)):
        below = graphs[at + across] if at + across < len(graphs) else None
        before = graphs[at - 1] if at % across else None
        if below is None or _words(below.x) != _words(graph.x):
            axes.set_xlabel(_words(graph.x))
        if before is None or _words(before.y) != _words(graph.y):
            axes.set_ylabel(textwrap.fill(_words(graph.y), _LONGEST_LABEL))


def data_csv(group: GraphGroup) -> str:
    """Return all that is drawn, a row for each mark, in the units of the axes."""
    return csv_lines([_HEAD, *(row for graph in group.graphs for row in _rows(_in_unit(graph)))])


_HEAD = ("panel", "series", "mark", "x_axis", "x", "x_end", "y_axis", "y", "y_end")


def _rows(graph: Graph) -> Iterator[tuple[Any, ...]]:
    """Yield the marks; an axis of names has these."""
    names = dict(graph.x.ticks) if not graph.x.unit else {}
    for layer in graph.layers:
        columns = (layer.x, layer.end, layer.y, layer.top)
        scales = (graph.x.scale, graph.x.scale, graph.y.scale, graph.y.scale)
        cells = [
            [""] * len(layer) if column is None else [f"{v:.7g}" for v in (column * scale).tolist()]
            for column, scale in zip(columns, scales, strict=True)
        ]
        for x, x_end, y, y_end in zip(*cells, strict=True):
            name = names.get(float(x), x)
            start = (graph.title or graph.key, layer.words, layer.shape)
            yield (*start, _words(graph.x), name, x_end, _words(graph.y), y, y_end)
