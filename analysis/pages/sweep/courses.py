"""The flows of a sweep's runs over time: small multiples with a band over the seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.graphs.layers import GraphGroup
from analysis.measures.course_bins import BINS, Numbers
from analysis.measures.sweep_folder import SERIES, SweepRecord
from analysis.pages.sweep import layout
from analysis.reporting.over_seeds import QUANTITIES, SeriesPanel, banded, series_caption
from analysis.statistics.sweep_samples import Place
from analysis.tabular.table import ColumnTable
from topologies.foundation import untrusted
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Rate
from topologies.foundation.untrusted import StrangeFile

_BINS = tuple(map(str, range(1, BINS + 1)))


@dataclass(frozen=True)
class SweptCourses:
    """The rows of series.csv: `values` over equal parts of each row's `seconds`.

    `of` has the rows of a cell by quantity and flow, one for each seed.
    """

    seconds: Numbers
    values: Numbers
    of: Mapping[tuple[Place, str, str], Sequence[int]]
    flows: tuple[str, ...]

    @property
    def edges(self) -> Numbers:
        """The ends of equal times that hold all runs."""
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
    codes = [dict(factor.codes) for factor in sweep.factors]
    names = [factor.name for factor in sweep.factors]
    of: dict[tuple[Place, str, str], list[int]] = {}
    for at, row in enumerate(table.select(*names, "quantity", "flow").as_rows()):
        place = tuple(levels[row[name]] for levels, name in zip(codes, names, strict=True))
        of.setdefault((place, row["quantity"], row["flow"]), []).append(at)
    values = np.array([table[name].filled(np.nan) for name in _BINS]).T
    seconds = np.maximum(np.nan_to_num(table["seconds"].filled(1.0), nan=1.0), 1e-9)
    return SweptCourses(seconds, values, of, tuple(dict.fromkeys(table["flow"].to_list())))


def courses(sweep: SweepRecord, quantities: Sequence[str] = tuple(QUANTITIES)) -> list[GraphGroup]:
    """Return a group for each quantity: small multiples on the same axes.

    Each combination has a panel, with a line for each flow or condition. None are drawn for a sweep
    without series.
    """
    read = read_courses(sweep)
    if read is None:
        return []
    shape, seeds = layout.for_courses(sweep, len(read.flows) > 1), max(map(len, read.of.values()))
    return [
        GraphGroup(
            f"{name}_over_time",
            f"{QUANTITIES[name][0]} over time",
            series_caption(seeds, [name]) + shape.left_out,
            tuple(banded(name, _panels(read, shape, name), read.edges)),
        )
        for name in quantities
    ]


def _panels(read: SweptCourses, shape: layout.Layout, name: str) -> list[SeriesPanel]:
    return [
        SeriesPanel(
            str(number),
            shape.title(levels),
            {
                words or flow: read.rows(shape.place(at), name, flow)
                for words, at in shape.lines(levels)
                for flow in read.flows
            },
            _link_rate(shape.sweep, shape.place(levels)),
        )
        for number, levels in enumerate(shape.panels)
    ]


def _link_rate(sweep: SweepRecord, place: Place) -> float | None:
    """Return the rate of the link in kbit/s; None if the parameters do not say."""
    swept = {
        factor.name: factor.values[level]
        for factor, level in zip(sweep.factors, place, strict=True)
    }
    try:
        return Rate.parse((sweep.parameters | swept).get("bw", "")).base / 1000
    except UsageError:
        return None
