"""Figures and tables of runs and sweeps for papers, each with its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from analysis import rendering
from analysis.fmt import with_unit
from analysis.graphs.layers import FORMATS, WIDTHS, GraphGroup, PaperSize
from analysis.measures.expressions import parse
from analysis.measures.metrics import Metric, is_metric, metric
from analysis.measures.results import RunResults, measure_all
from analysis.measures.sweep_folder import SweepRecord, read_sweep
from analysis.pages import sweep_graphs as of_sweep
from analysis.pages.sweep import cell_table
from analysis.pages.sweep_courses import courses, shares
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting import over_seeds
from analysis.reporting.run_distributions import distribution
from analysis.reporting.studies import ReportOf, plain, with_metrics
from analysis.reporting.tables import Listing
from analysis.statistics.sweep_samples import SweepSamples, read_samples
from analysis.table import csv_lines
from testbed.lab.libraries import require
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Files:
    """Contents of files that share their stem."""

    def files(self, stem: str, ending: str) -> list[tuple[str, bytes]]:
        """Return the names and contents of all files."""
        raise NotImplementedError

    def save(self, file: Path | str) -> list[Path]:
        place = Path(file)
        files = self.files(place.stem, place.suffix.removeprefix("."))
        rendering.write(place.parent, files, "figure")
        return [place.parent / name for name, _ in files]


@dataclass(frozen=True)
class PaperTable(_Files):
    """A table: `save` writes it as LaTeX and as CSV; `keys` columns say what a row is."""

    listing: Listing
    size: PaperSize = field(default_factory=PaperSize)
    keys: int = 1

    @property
    def data(self) -> str:
        return csv_lines([self.listing.head, *self.listing.rows])

    @property
    def latex(self) -> str:
        """The table as LaTeX (booktabs, tabularx); columns that do not fit form further blocks."""
        about = " ".join(map(_escaped, (f"{self.listing.title}.", *self.listing.notes)))
        columns = list(zip(self.listing.head, *self.listing.rows, strict=True))
        others = columns[self.keys :]
        fitting = max(1, int(self.size.inches / _WIDE) - self.keys)
        blocks = []
        for at in range(0, max(1, len(others)), fitting):
            shown = [*columns[: self.keys], *others[at : at + fitting]]
            head, *rows = (" & ".join(map(_escaped, row)) for row in zip(*shown, strict=True))
            figures, body = len(shown) - self.keys, " \\\\\n".join(rows)
            blocks.append(_BLOCK.format(keys=self.keys, others=figures, head=head, rows=body))
        return _LATEX.format(about=about, blocks="\n\\par\\medskip\n".join(blocks))

    def files(self, stem: str, ending: str = "tex") -> list[tuple[str, bytes]]:
        return [(f"{stem}.tex", self.latex.encode()), (f"{stem}.csv", self.data.encode())]

    def _repr_html_(self) -> str:
        rows = [("th", self.listing.head), *(("td", row) for row in self.listing.rows)]
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in rows)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


_LATEX = """\
% A table by tcplab. In the preamble: \\usepackage{{booktabs,tabularx}}
% {about}
\\begingroup\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\\parindent0pt
{blocks}
\\endgroup
"""
_BLOCK = """\
\\begin{{tabularx}}{{\\linewidth}}{{%
*{{{keys}}}{{>{{\\raggedright\\arraybackslash}}X}}*{{{others}}}{{>{{\\raggedleft\\arraybackslash}}X}}}}
\\toprule
{head} \\\\
\\midrule
{rows} \\\\
\\bottomrule
\\end{{tabularx}}"""
_WIDE = 0.85  # inches of a column, in which LaTeX breaks lines


Kind = Literal["series", "shares", "cdf", "box", "grid", "table"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TABLES = ("tex", "csv")
QUANTITIES = tuple(over_seeds.QUANTITIES)
_OPTIONS: dict[bool, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    False: (("cdf", "box"), ("series", "grid")),
    True: (("cdf", "box", "grid", "table"), ("series",)),
}
"""Kinds that draw a metric, and quantities over time: of a run, and of a sweep."""


@dataclass(frozen=True)
class FigureRequest:
    """A figure of `kind` of a run or sweep, of a `metric` or of `quantities` over time."""

    folder: Path
    kind: Kind = "series"
    size: PaperSize = field(default_factory=PaperSize)
    metric: str | None = None
    quantities: tuple[str, ...] = ()
    report_of: ReportOf = field(default=plain, repr=False)

    @property
    def is_sweep(self) -> bool:
        return (self.folder / "sweep.json").is_file()

    def checked(self) -> FigureRequest:
        """Return the request itself. Raises UsageError for one that cannot be drawn."""
        metrics, quantities = _OPTIONS[self.is_sweep]
        drawing = f"Kind '{self.kind}' of a {'sweep' if self.is_sweep else 'run'}"
        unknown = min(set(self.quantities) - set(QUANTITIES), default=None)
        paper, columns, key = self.size.paper, self.size.columns, (self.metric or "")[:60]
        if self.kind not in KINDS:
            raise UsageError(f"'{self.kind}' is no kind of figure.", _use(KINDS))
        if unknown:
            raise UsageError(f"'{unknown}' is no quantity of a series.", _use(QUANTITIES))
        if paper not in WIDTHS or columns not in (1, 2):
            remedy = f"Use 1 or 2 columns of {' or '.join(WIDTHS)}."
            raise UsageError(f"There is no width for {columns} columns of '{paper}'.", remedy)
        if key and self.kind not in metrics:
            problem = f"{drawing} draws no metric, so '{key}' would be left out."
            raise UsageError(problem, _choose(metrics, "--metric"))
        if self.quantities and self.kind not in quantities:
            problem = f"{drawing} draws no quantities over time."
            raise UsageError(problem, _choose(quantities, "--quantity"))
        if not self.is_sweep:
            _ = self.measure
        return self

    @property
    def over_time(self) -> tuple[str, ...]:
        return self.quantities or QUANTITIES

    @property
    def measure(self) -> Metric | None:
        """The metric of a run; an expression as one. Raises UsageError, UnknownMetric."""
        if not self.metric:
            return None
        return metric(self.metric) if is_metric(self.metric) else parse(self.metric).metric


def _use(names: Iterable[str]) -> str:
    return f"Use {', '.join(names)}."


def _choose(kinds: Iterable[str], option: str) -> str:
    return f"Choose --kind {' or '.join(kinds)}, or leave {option} out."


@dataclass(frozen=True)
class PaperFigure(_Files):
    """A figure: `save` writes it with its data, and a notebook shows it."""

    group: GraphGroup
    size: PaperSize

    @property
    def figure(self) -> Figure:
        from analysis.graphs.paper import paper_figure

        return paper_figure(self.group, self.size)

    @property
    def data(self) -> str:
        from analysis.graphs.paper import data_csv

        return data_csv(self.group)

    def files(self, stem: str, ending: str = "pdf") -> list[tuple[str, bytes]]:
        from analysis.graphs.paper import paper_file

        content = paper_file(self.group, ending, self.size)
        return [(f"{stem}.{ending}", content), (f"{stem}.csv", self.data.encode())]

    def _repr_svg_(self) -> str:
        return self.files("figure", "svg")[0][1].decode()


def require_ending(kind: str, file: Path) -> None:
    """Raise UsageError for a file whose ending is not that of a figure or a table."""
    what, endings = ("a table", TABLES) if kind == "table" else ("a figure", FORMATS)
    if file.suffix.removeprefix(".") not in endings:
        raise UsageError(
            f"'{file.name}' has no ending of {what}.", f"Use .{' or .'.join(endings)}."
        )


def make_figure(request: FigureRequest) -> PaperFigure | PaperTable:
    """Return the figure or table. Raises UsageError, and TcplabError for a folder without data."""
    request.checked()
    return _of_sweep(request) if request.is_sweep else _of_run(request)


def _of_run(request: FigureRequest) -> PaperFigure | PaperTable:
    problems, metric, size = Problems(), request.metric, request.size
    expressions = (metric,) if metric and not is_metric(metric) else ()
    run = with_metrics(read_run(request.folder, problems), expressions)
    if not run.trials:
        raise TcplabError(f"'{request.folder}' holds no repetition.", "Run the experiment again.")
    if request.kind == "cdf" and metric:
        return PaperFigure(_drawn(distribution(run, metric, problems), request), size)
    results = measure_all(run, problems)
    if request.kind == "table":
        table = request.report_of(run.experiment).table(results)
        rows = tuple((with_unit(row.name, row.unit), *row.ours) for row in table.rows)
        head = ("Quantity", *table.conditions)
        return PaperTable(Listing(table.title, head, rows, table.notes), size)
    if request.kind == "shares" and len(run.flows) < 2:
        raise UsageError(
            "Each run has a single flow, so there are no shares.", "Choose another kind."
        )
    drawn = _drawn(_group_of_run(results, request), request)
    if request.kind in ("series", "grid"):
        panels = over_seeds.Panels(results, request.kind == "grid").every
        size = size.in_rows(len(panels), len(request.over_time))
    return PaperFigure(drawn, size)


def _group_of_run(results: RunResults, request: FigureRequest) -> GraphGroup | None:
    match request.kind:
        case "shares":
            return over_seeds.shares(results)
        case "cdf":
            return over_seeds.delays(results)
        case "box":
            return over_seeds.boxes(results, request.measure)
    return over_seeds.series(results, request.over_time, apart=request.kind == "grid")


OfSweep = Callable[[SweepRecord, SweepSamples], GraphGroup | None]
_SWEEP_KINDS: dict[str, OfSweep] = {
    "shares": lambda sweep, _: shares(sweep),
    "cdf": of_sweep.distribution,
    "box": of_sweep.boxes,
    "grid": of_sweep.grid,
}


def _of_sweep(request: FigureRequest) -> PaperFigure | PaperTable:
    problems, size = Problems(), request.size
    sweep = read_sweep(request.folder, problems, request.metric)
    samples = read_samples(sweep, problems)
    if samples.is_empty:
        raise TcplabError(f"'{request.folder}' holds no values.", " ".join(problems.found))
    if request.kind == "table":
        head, rows = cell_table(sweep, samples)
        title = f"{sweep.metric.title}: medians over the seeds"
        listing = Listing(title, tuple(head), tuple(map(tuple, rows)))
        return PaperTable(listing, size, len(sweep.factors))
    if request.kind != "series":
        return PaperFigure(_drawn(_SWEEP_KINDS[request.kind](sweep, samples), request), size)
    groups = [group for group in courses(sweep, request.over_time) if group.graphs]
    graphs = tuple(graph for group in groups for graph in group.graphs)
    caption = groups[0].caption if groups else ""
    group = _drawn(GraphGroup("series", "Over time", caption, graphs), request)
    return PaperFigure(group, size.in_rows(len(graphs) // len(groups), len(groups)))


_LACKS = {
    "series": "no samples over time",
    "shares": "a single flow in each run",
    "cdf": "too few values for a distribution",
    "box": "too few seeds for boxes",
    "grid": "no samples of sockets",
}


def _drawn(group: GraphGroup | None, request: FigureRequest) -> GraphGroup:
    """Return the group that Matplotlib will draw, which is installed for the first one."""
    if group is None or not group.graphs:
        lacks = _LACKS[request.kind] + (f" of '{request.metric}'" if request.metric else "")
        raise UsageError(
            f"'{request.folder}' has {lacks}.",
            "Choose another kind, more seeds, or a flow: --metric 'exchange_p95_ms[web]'.",
        )
    require("figures")
    return group
