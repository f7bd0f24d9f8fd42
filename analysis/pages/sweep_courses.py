"""The flows of a sweep's runs over time, and their shares over the levels of a factor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.graphs.distributions import SHARE
from analysis.graphs.layers import DOT, Graph, GraphGroup, Layer, SeriesLook, named
from analysis.measures.sweep_folder import BINS, SERIES, Numbers, SweepRecord, lines_of
from analysis.pages import sweep_layout
from analysis.reporting.effects import Row, swept_cells
from analysis.reporting.over_seeds import QUANTITIES, SeriesPanel, banded, series_caption
from analysis.statistics.sweep_samples import Place
from analysis.table import ColumnTable
from topologies import untrusted
from topologies.errors import UsageError
from topologies.units import Rate
from topologies.untrusted import StrangeFile

_BINS = tuple(map(str, range(1, BINS + 1)))


@dataclass(frozen=True)
class SweptCourses:
    """The rows of series.csv over equal parts of `seconds`, by cell, quantity and flow."""

    seconds: Numbers
    values: Numbers
    of: Mapping[tuple[Place, str, str], Sequence[int]]
    flows: tuple[str, ...]

    @property
    def edges(self) -> Numbers:
        return np.linspace(0, float(self.seconds.max()), BINS + 1)

    def rows(self, place: Place, quantity: str, flow: str) -> Numbers:
        """Return a row for each seed at these times; NaN after the end of its run."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        chosen = list(self.of.get((place, quantity, flow), ()))
        places = (middles / self.seconds[chosen, None] * BINS).astype(int)
        found = np.take_along_axis(self.values[chosen], np.minimum(places, BINS - 1), 1)
        return np.where(places < BINS, found, np.nan)


def read_courses(sweep: SweepRecord) -> SweptCourses | None:
    """Return the series of a sweep; None for a sweep of before, or a file that is no table."""
    try:
        text = untrusted.content(sweep.path, SERIES).decode()
        table = ColumnTable.of_csv(text, dict.fromkeys(("seconds", *_BINS), float))
        return _courses(sweep, table) if len(table) else None
    except (OSError, ValueError, KeyError, StrangeFile):
        return None


def _courses(sweep: SweepRecord, table: ColumnTable) -> SweptCourses:
    names = [factor.name for factor in sweep.factors]
    of: dict[tuple[Place, str, str], list[int]] = {}
    for at, row in enumerate(table.select(*names, "quantity", "flow").as_rows()):
        of.setdefault((sweep.place(row), row["quantity"], row["flow"]), []).append(at)
    values = np.array([table[name].filled(np.nan) for name in _BINS]).T
    seconds = np.maximum(np.nan_to_num(table["seconds"].filled(1.0), nan=1.0), 1e-9)
    return SweptCourses(seconds, values, of, tuple(dict.fromkeys(table["flow"].to_list())))


def courses(sweep: SweepRecord, quantities: Sequence[str] = tuple(QUANTITIES)) -> list[GraphGroup]:
    """Return small multiples for each quantity, a line for each flow or condition."""
    read = read_courses(sweep)
    if read is None:
        return []
    shape = sweep_layout.for_courses(sweep, len(read.flows) > 1)
    seeds = max(map(len, read.of.values()))
    return [
        GraphGroup(
            f"{name}_over_time",
            f"{QUANTITIES[name][0]} over time",
            series_caption(seeds, [name]) + shape.left_out,
            tuple(banded(name, _panels(read, shape, name), read.edges)),
        )
        for name in quantities
    ]


def _panels(read: SweptCourses, shape: sweep_layout.Layout, name: str) -> list[SeriesPanel]:
    panels = []
    for number, levels in enumerate(shape.panels):
        lines = {
            words or flow: read.rows(shape.place(at), name, flow)
            for words, at in shape.lines(levels)
            for flow in read.flows
        }
        link = _link_rate(shape.sweep, shape.place(levels))
        panels.append(SeriesPanel(str(number), shape.title(levels), lines, link))
    return panels


def _link_rate(sweep: SweepRecord, place: Place) -> float | None:
    """Return the rate of the link in kbit/s; None if the parameters do not say."""
    pairs = zip(sweep.factors, place, strict=True)
    swept = {factor.name: factor.values[level] for factor, level in pairs}
    try:
        return Rate.parse((sweep.parameters | swept).get("bw", "")).base / 1000
    except UsageError:
        return None


_GOODPUT = "goodput_kbit_s"
_STACK = SeriesLook("", DOT.colour)
_HALF = 0.38


def shares(sweep: SweepRecord) -> GraphGroup | None:
    """Return stacked shares of the goodput; None for a single flow or unreadable rows."""
    runs = {cell.place: cell.runs for cell in swept_cells(sweep) or ()}
    flows = dict.fromkeys(row["flow"] for cell in runs.values() for run in cell for row in run)
    if len(flows) < 2:
        return None
    stacked, shape = lines_of(list(flows)), sweep_layout.for_runs(sweep)
    below = named(shape.compared, shape.names)
    drawn = []
    for number, levels in enumerate(shape.panels):
        bars = [runs.get(shape.place(at), []) for _, at in shape.lines(levels)]
        layers = tuple(_stack(bars, stacked))
        drawn.append(Graph(f"shares_{number}", shape.title(levels), "", below, SHARE, layers))
    caption = f"Means over the seeds of each flow's goodput, as a share of all.{shape.left_out}"
    return GraphGroup("shares", "How flows share the link", caption, tuple(drawn))


def _stack(
    levels: Sequence[Sequence[Sequence[Row]]], stacked: Mapping[str, set[str]]
) -> Iterator[Layer]:
    below, at = np.zeros(len(levels)), np.arange(len(levels), dtype=float)
    ends = at - _HALF, at + _HALF
    for number, (words, chosen) in enumerate(stacked.items()):
        above = below + np.array([_mean_share(runs, chosen) for runs in levels])
        bars = ends[0], below, above, ends[1]
        yield Layer(_STACK, "boxes", *bars, words=words, series=number)
        below = above


def _mean_share(runs: Sequence[Sequence[Row]], chosen: set[str]) -> float:
    """Return the mean over the runs that carried data; 0 without one."""
    found = []
    for run in runs:
        rates = {row["flow"]: row[_GOODPUT] or 0.0 for row in run}
        if total := sum(rates.values()):
            found.append(sum(rate for flow, rate in rates.items() if flow in chosen) / total)
    return float(np.mean(found)) if found else 0.0
