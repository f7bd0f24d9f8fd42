"""The rows of a sweep folder as samples, and prediction intervals of a further run.

docs/studies/published-numbers.md has the measured coverage of each interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, floor, isfinite, log, prod, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.measures.metrics import Metric
from analysis.measures.selection import main_group
from analysis.measures.sweep_folder import GROUP, ROWS, SweepRecord, SweptFactor, read_rows
from analysis.records.json_reader import Problems
from analysis.statistics.paired_tests import MedianInterval, Numbers, median_interval
from analysis.statistics.tests import CONFIDENCE, student_quantile
from analysis.table import ColumnTable, RowGroups, TableColumn
from topologies.errors import TcplabError
from topologies.untrusted import StrangeFile

Place = tuple[int, ...]  # for each factor, which of its values

_MOST_VALUES = 20_000_000
_GREATEST = 1e100  # limit above all measurements


@dataclass(frozen=True)
class SweepSamples:
    """The chosen metric in `unit`, and the medians of all metrics.

    `values` has an axis per factor and a last one for the seeds, NaN for no value.

    `medians` are those of all metrics by cell, each in the unit of `units`; `amounts` the
    factors' values as numbers, None for words and for values that no row has; `by_flow` the
    values of single flows where runs have several. `rows` has the shape of `values` and a number
    for each run, the same for runs of which all that was measured is the same.
    """

    values: Numbers
    unit: str
    seeds: tuple[int, ...]
    medians: dict[str, Numbers]
    units: dict[str, str]
    amounts: tuple[tuple[float | None, ...], ...]
    by_flow: dict[Place, Numbers]
    has_many_flows: bool
    rows: Numbers | None = None

    def at(self, place: Place) -> Numbers:
        """The values of one cell, one per seed that has one."""
        row: Numbers = self.values[place]
        return row[~np.isnan(row)]

    def trajectories(self, places: Sequence[Place]) -> list[tuple[float, ...]] | None:
        """Return the runs of these cells for each seed that has them all, as numbers of `rows`."""
        if self.rows is None:
            return None
        of_seeds = np.stack([self.rows[place] for place in places], axis=-1)
        return [tuple(each) for each in of_seeds[~np.isnan(of_seeds).any(axis=-1)].tolist()]

    @property
    def places(self) -> Iterator[Place]:
        """All cells, in the order of the grid."""
        return np.ndindex(self.values.shape[:-1])

    @cached_property
    def intervals(self) -> dict[Place, MedianInterval]:
        found = ((place, median_interval(self.at(place))) for place in self.places)
        return {place: interval for place, interval in found if interval}

    @cached_property
    def median(self) -> Numbers:
        """The median of each cell, NaN where there is no value."""
        return _median(self.values)

    @property
    def counts(self) -> NDArray[np.intp]:
        """The number of seeds of each cell."""
        counted: NDArray[np.intp] = (~np.isnan(self.values)).sum(axis=-1)
        return counted

    @property
    def is_empty(self) -> bool:
        return not self.counts.any()


def read_samples(sweep: SweepRecord, problems: Problems) -> SweepSamples:
    """Read rows.csv; if it is missing or broken, that is a problem, and the samples are empty."""
    rows = _usable(_read(sweep, problems), sweep, problems)
    groups, metrics = RowGroups(rows["cell"].values, rows["seed"].values), sweep.metrics
    transports = {metric.transport for metric in metrics.values()}
    flows = {transport: _standing(rows, groups, transport) for transport in transports}
    runs = {
        name: _of_run(rows[name].values, groups, flows[metric.transport], metric)
        for name, metric in metrics.items()
    }
    chosen, many = sweep.metric.name, len(rows) > len(groups)
    if missing := int(np.isnan(runs[chosen]).sum()):
        of_all = f"{missing:,} of {len(groups):,} runs"
        problems.add(f"{of_all} have no value of the chosen metric: they are left out.")
    # The page has rates of ten Mbit/s in Mbit/s.
    is_large = {
        name: metric.unit == "kbit/s" and (runs[name] >= 10_000).any()
        for name, metric in metrics.items()
    }
    units = {name: "Mbit/s" if is_large[name] else metrics[name].unit for name in metrics}
    first, own = rows.rows(groups.first), rows.rows(flows[sweep.metric.transport])
    seeds = tuple(np.unique(first["seed"].values).tolist())
    cubes = {
        name: _cube(sweep, first, seeds, found) / (1000 if is_large[name] else 1)
        for name, found in runs.items()
    }
    # Values of single flows, where runs have several.
    values = own[chosen].values / (1000 if is_large[chosen] else 1)
    flows_of = own.select("cell").having(values=values).rows(~np.isnan(values)).parts("cell")
    places = list(np.ndindex(sweep.shape))
    by_flow = {places[cell]: part["values"].values for cell, part in flows_of.items()}
    return SweepSamples(
        cubes[chosen],
        units[chosen],
        seeds,
        {name: _median(cube) for name, cube in cubes.items()},
        units,
        tuple(_amounts(rows, factor) for factor in sweep.factors),
        by_flow if many and not sweep.metric.of_run else {},
        many,
        _cube(sweep, first, seeds, _numbered(rows, groups, metrics)),
    )


def _numbered(rows: ColumnTable, runs: RowGroups, metrics: Iterable[str]) -> Numbers:
    """Return a number for each run, the same for those with the same values of all metrics."""
    values = np.column_stack([rows[name].values for name in metrics])
    numbers: dict[bytes, int] = {}
    of_runs = (values[own].tobytes() for own in runs.rows)
    return np.array([numbers.setdefault(each, len(numbers)) for each in of_runs], np.float64)


def _read(sweep: SweepRecord, problems: Problems) -> ColumnTable:
    """All columns that are needed, without rows if the file cannot be used."""
    needed = {"seed", *(factor.name for factor in sweep.factors), sweep.metric.name}
    amounts = {factor.column for factor in sweep.factors if factor.is_quantity}
    every = [*needed, *amounts, GROUP, *sweep.metrics]
    empty = ColumnTable({name: TableColumn.of([]) for name in every})
    try:
        rows = read_rows(sweep)
    except (OSError, ValueError, StrangeFile) as error:
        missing = isinstance(error, FileNotFoundError)
        problems.add(f"{ROWS} {'is missing' if missing else 'cannot be read'}: there is no value.")
        return empty
    absent = sorted(needed - set(rows))
    if absent:
        problems.add(f"{ROWS} has no column {absent[0]}: there is no value.")
        return empty
    lacking = TableColumn(np.zeros(len(rows)), np.zeros(len(rows), np.bool_))
    return ColumnTable({name: rows.columns.get(name, lacking) for name in every})


def _usable(rows: ColumnTable, sweep: SweepRecord, problems: Problems) -> ColumnTable:
    """The listed rows with the number of their cell; impossible metrics are NaN."""
    cell, is_known = np.zeros(len(rows), np.int64), rows["seed"].is_known
    for factor in sweep.factors:
        places = factor.codes
        level = np.array([places.get(value, -1) for value in rows[factor.name].to_list()], np.int64)
        cell, is_known = cell * len(factor.values) + level, is_known & (level >= 0)
    lost = len(rows) - int(is_known.sum())
    if lost:
        why = "have a value that sweep.json does not list: they are left out."
        problems.add(f"{lost} rows of {ROWS} {why}")
    metrics = dict[str, Numbers]()
    for name, metric in sweep.metrics.items():
        values: Numbers = rows[name].filled(np.nan).astype(np.float64)
        is_possible = abs(values) < _GREATEST
        if metric.unit in ("ms", "s") or not metric.column:  # of what did not end, or a multiple
            is_possible |= np.isposinf(values)
        metrics[name] = np.where(is_possible, values, np.nan)
    numbered = rows.having(cell=cell, seed=rows["seed"].values.astype(np.int64), **metrics)
    return numbered.rows(is_known)


def _standing(rows: ColumnTable, runs: RowGroups, transport: str) -> NDArray[Any]:
    names = rows[GROUP].to_list()
    standing = np.ones(len(rows), np.bool_)
    for run in runs.rows:
        groups = [name for name in (names[row] for row in run) if name and transport in name]
        main = main_group(groups) if groups else None
        standing[run] = [names[row] == main for row in run]
    return standing


def _of_run(values: Numbers, runs: RowGroups, flows: NDArray[Any], metric: Metric) -> Numbers:
    """The run's value, the mean over its `flows`; NaN if one has none, or starved ones hide."""
    if metric.of_run:
        return values[runs.first]
    counts = runs.sums(flows)
    sums = runs.sums(np.where(flows, values, 0.0))
    means: Numbers = np.full(len(runs), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _cube(sweep: SweepRecord, runs: ColumnTable, seeds: tuple[int, ...], found: Numbers) -> Numbers:
    """A value of each run, with an axis per factor and a last one for the seeds."""
    cells = prod(sweep.shape)
    if cells * len(seeds) > _MOST_VALUES:
        size = f"{cells:,} cells and {len(seeds):,} seeds"
        raise TcplabError(f"The sweep has {size}.", "Sweep fewer values.")
    values = np.full((cells, len(seeds)), np.nan)
    places = np.searchsorted(np.array(seeds, dtype=np.int64), runs["seed"].values)
    values[runs["cell"].values, places] = found
    return values.reshape(*sweep.shape, len(seeds))


def _median(values: Numbers) -> Numbers:
    """Over the last axis, of the values that are there; NaN where there is none."""
    counts = (~np.isnan(values)).sum(axis=-1)
    medians = np.full(counts.shape, np.nan)
    if counts.any():
        medians[counts > 0] = np.nanmedian(values[counts > 0], axis=-1)
    return medians


def _amounts(rows: ColumnTable, factor: SweptFactor) -> tuple[float | None, ...]:
    """The numbers behind the factor's values, as the rows have them."""
    if not factor.is_quantity:
        return (None,) * len(factor.values)
    known: dict[str, float] = {}
    columns = (rows[name].to_list() for name in (factor.name, factor.column))
    for value, amount in zip(*columns, strict=True):
        if amount is not None and isfinite(amount):
            known.setdefault(value, amount)
    return tuple(known.get(value) for value in factor.values)


RANKED_FROM = 39
"""Runs from which the order alone gives 95 %: a further one lies outside their ends in 2 of 40."""
_LARGEST = 700.0  # logarithm of what is still a number; a stranger's values may scatter further
_ROUNDING = 1e-9
"""Share of an end by which two floating-point numbers may miss each other and still be the same."""


@dataclass(frozen=True)
class ValueSpan:
    """All from `low` to `high`, in the unit of the row."""

    low: float
    high: float

    def meets(self, other: ValueSpan) -> bool:
        """Return True if both have a value in common."""
        ends = ((self.high, other.low), (other.high, self.low))
        return all(high + _ROUNDING * abs(high) >= low for high, low in ends)


def next_run(values: Sequence[float]) -> ValueSpan:
    """Return the 95 % interval of a further run, in the values' unit, from two values on.

    From 39 values on by their order: a further one is outside the r-th from either end with
    probability 2r/(n + 1), whatever the distribution (Hahn and Meeker, Statistical Intervals,
    1991, chapter 5). Of few values that would leave out far more than 5 %; so below it is
    mean +- t(n - 1) s sqrt(1 + 1/n) of the logarithms (their chapter 4; Geisser, Predictive
    Inference, 1993), exact if these are normal, and never less than from the least to the
    greatest value. Without logarithms, as for a count of 0, the same of the values.
    """
    ordered, count = sorted(values), len(values)
    if count >= RANKED_FROM:
        rank = floor((1 - CONFIDENCE) / 2 * (count + 1))
        return ValueSpan(ordered[rank - 1], ordered[-rank])
    if ordered[0] > 0:
        span = _students(list(map(log, ordered)), 1.0)
        span = ValueSpan(exp(span.low), exp(min(span.high, _LARGEST)))
    else:
        span = _students(ordered, 1.0)
    return ValueSpan(min(span.low, ordered[0]), max(span.high, ordered[-1]))


def next_mean(values: Sequence[float], further: int) -> ValueSpan:
    """Return the 95 % interval of the mean of `further` runs, if means are normal.

    mean +- t(n - 1) s sqrt(1/n + 1/further), in the values' unit: a mean of several is near the
    normal distribution though its runs are not.
    """
    return _students(values, 1 / further)


def true_mean(values: Sequence[float]) -> ValueSpan:
    """Return the 95 % interval of the mean of all runs: Student, from two values on."""
    return _students(values, 0.0)


def _students(values: Sequence[float], share: float) -> ValueSpan:
    """The interval for a number whose variance is `share` of a run's."""
    quantile = student_quantile(len(values) - 1, (1 + CONFIDENCE) / 2)
    half = quantile * stdev(values) * sqrt(share + 1 / len(values))
    return ValueSpan(fmean(values) - half, fmean(values) + half)
