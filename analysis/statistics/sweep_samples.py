"""The rows of a sweep folder as samples: one value per run, one per seed for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import polars as pl

from analysis.records.problems import Problems
from analysis.records.row_columns import METRICS, Metric
from analysis.records.sweep_folder import CONDITION, SweepRecord, SweptFactor
from analysis.statistics.paired_tests import MedianInterval, Numbers, median_interval
from topologies.errors import TcplabError

Place = tuple[int, ...]
"""For each factor, which of its values."""

_MOST_VALUES = 20_000_000
_GREATEST = 1e100
"""Nothing that is measured comes near."""


@dataclass(frozen=True)
class SweepSamples:
    """The chosen metric in `unit`, and the medians of all metrics.

    `values` has an axis per factor and a last one for the seeds, NaN for no value.

    `medians` are those of all metrics by cell, each in the unit of `units`; `amounts` the
    factors' values as numbers, None for words and for values that no row has; `by_flow` the
    values of single flows where runs have several.
    """

    values: Numbers
    unit: str
    seeds: tuple[int, ...]
    medians: dict[str, Numbers]
    units: dict[str, str]
    amounts: tuple[tuple[float | None, ...], ...]
    by_flow: dict[Place, Numbers]
    has_many_flows: bool

    def at(self, place: Place) -> Numbers:
        """The values of one cell, one per seed that has one."""
        row: Numbers = self.values[place]
        return row[~np.isnan(row)]

    @property
    def places(self) -> Iterator[Place]:
        """All cells, in the order of the grid."""
        return np.ndindex(self.values.shape[:-1])

    @cached_property
    def intervals(self) -> dict[Place, MedianInterval]:
        """The interval of each cell that has one."""
        found = ((place, median_interval(self.at(place))) for place in self.places)
        return {place: interval for place, interval in found if interval}

    @cached_property
    def median(self) -> Numbers:
        """The median of each cell, NaN where there is no value."""
        counts = (~np.isnan(self.values)).sum(axis=-1)
        medians = np.full(counts.shape, np.nan)
        if counts.any():
            medians[counts > 0] = np.nanmedian(self.values[counts > 0], axis=-1)
        return medians

    @property
    def counts(self) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """How many seeds each cell has."""
        counted: np.ndarray[tuple[int, ...], np.dtype[np.intp]] = (~np.isnan(self.values)).sum(
            axis=-1
        )
        return counted

    @property
    def is_empty(self) -> bool:
        return not self.counts.any()


def read_samples(sweep: SweepRecord, problems: Problems) -> SweepSamples:
    """Reads rows.parquet.

    Whatever is missing or broken in it is a problem, and the samples are then empty.
    """
    rows = _usable(_read(sweep, problems), sweep, problems)
    runs = rows.group_by("cell", "seed").agg(*map(_of_run, METRICS))
    missing = runs[sweep.metric.name].null_count()
    if missing:
        problems.add(
            f"{missing} of {len(runs)} runs have no value of the chosen metric: they are left out."
        )
    units = {metric.name: _unit(metric, runs[metric.name]) for metric in METRICS}
    unit, divisor = units[sweep.metric.name]
    seeds = tuple(sorted(runs["seed"].unique().to_list()))
    many = len(rows) > len(runs)
    return SweepSamples(
        _cube(sweep, runs, seeds) / divisor,
        unit,
        seeds,
        _medians(sweep, runs, units),
        {name: unit for name, (unit, _) in units.items()},
        tuple(_amounts(rows, factor, place) for place, factor in enumerate(sweep.factors)),
        _by_flow(sweep, rows, divisor) if many and not sweep.metric.of_run else {},
        many,
    )


def _read(sweep: SweepRecord, problems: Problems) -> pl.DataFrame:
    names = {factor.name for factor in sweep.factors} | {CONDITION}
    numbers = {factor.column for factor in sweep.factors if factor.is_quantity} | {
        metric.name for metric in METRICS
    }
    schema = (
        dict.fromkeys(names, pl.String) | dict.fromkeys(numbers, pl.Float64) | {"seed": pl.Int64()}
    )
    try:
        rows = pl.read_parquet(sweep.path / "rows.parquet")
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        missing = isinstance(error, FileNotFoundError)
        problems.add(
            f"rows.parquet {'is missing' if missing else 'cannot be read'}: there is nothing to"
            " compare."
        )
        return pl.DataFrame(schema=schema)
    absent = (names | {"seed", sweep.metric.name}) - set(rows.columns)
    if absent:
        problems.add(
            f"rows.parquet has no column {sorted(absent)[0]}: there is nothing to compare."
        )
        return pl.DataFrame(schema=schema)
    return rows.select(
        (
            pl.col(name).cast(kind, strict=False) if name in rows.columns else pl.lit(None, kind)
        ).alias(name)
        for name, kind in schema.items()
    )


def _usable(rows: pl.DataFrame, sweep: SweepRecord, problems: Problems) -> pl.DataFrame:
    """The rows with the number of their cell, without those that sweep.json knows nothing of."""
    cell = pl.lit(0, pl.Int64)
    for place, factor in enumerate(sweep.factors):
        cell = cell * len(factor.values) + _level(factor, place)
    finite = [_finite(metric.name) for metric in METRICS]
    numbered = rows.with_columns(cell.alias("cell"), *finite).drop_nulls(("cell", "seed"))
    lost = len(rows) - len(numbered)
    if lost:
        problems.add(
            f"{lost} rows of rows.parquet have a value that sweep.json does not list: they are left"
            " out."
        )
    return numbered


def _level(factor: SweptFactor, place: int) -> pl.Expr:
    """The place of the factor's value, null where it is not listed."""
    values, places = zip(*factor.codes, strict=True)
    return pl.col(factor.name).replace_strict(values, places, default=None, return_dtype=pl.Int64)


def _finite(name: str) -> pl.Expr:
    return pl.when(pl.col(name).abs() < _GREATEST).then(pl.col(name)).alias(name)


def _of_run(metric: Metric) -> pl.Expr:
    """The run's value: flows of one run are not independent.

    It has none if a flow has none, or starved ones hide.
    """
    column = pl.col(metric.name)
    if metric.of_run:
        return column.first()
    return pl.when(column.null_count() == 0).then(column.mean()).alias(metric.name)


def _unit(metric: Metric, values: pl.Series) -> tuple[str, float]:
    """The unit that the page uses for a metric, and how many of the metric's own it holds."""
    greatest = values.max()
    if metric.unit == "kbit/s" and isinstance(greatest, float) and greatest >= 10_000:
        return "Mbit/s", 1000.0
    return metric.unit, 1.0


def _cube(sweep: SweepRecord, runs: pl.DataFrame, seeds: tuple[int, ...]) -> Numbers:
    cells = prod(sweep.shape)
    if cells * len(seeds) > _MOST_VALUES:
        raise TcplabError(
            f"The sweep has {cells:,} cells and {len(seeds):,} seeds.", "Sweep fewer values."
        )
    values = np.full((cells, len(seeds)), np.nan)
    places = np.searchsorted(np.array(seeds, dtype=np.int64), runs["seed"].to_numpy())
    values[runs["cell"].to_numpy(), places] = (
        runs[sweep.metric.name].fill_null(float("nan")).to_numpy()
    )
    return values.reshape(*sweep.shape, len(seeds))


def _medians(
    sweep: SweepRecord, runs: pl.DataFrame, units: dict[str, tuple[str, float]]
) -> dict[str, Numbers]:
    cells = runs.group_by("cell").agg(pl.col(metric.name).median() for metric in METRICS)
    medians = {}
    for name, (_, divisor) in units.items():
        values = np.full(prod(sweep.shape), np.nan)
        values[cells["cell"].to_numpy()] = cells[name].fill_null(float("nan")).to_numpy() / divisor
        medians[name] = values.reshape(sweep.shape)
    return medians


def _amounts(rows: pl.DataFrame, factor: SweptFactor, place: int) -> tuple[float | None, ...]:
    """The numbers behind the factor's values, as the rows have them."""
    if not factor.is_quantity:
        return (None,) * len(factor.values)
    first = rows.group_by(factor.name).agg(
        pl.col(factor.column).filter(pl.col(factor.column).is_finite()).first()
    )
    known = dict(first.iter_rows())
    return tuple(known.get(value) for value in factor.values)


def _by_flow(sweep: SweepRecord, rows: pl.DataFrame, divisor: float) -> dict[Place, Numbers]:
    grouped = (
        rows.select("cell", pl.col(sweep.metric.name) / divisor).drop_nulls().group_by("cell").all()
    )
    places = list(np.ndindex(sweep.shape))
    return {
        places[cell]: np.array(values, dtype=np.float64) for cell, values in grouped.iter_rows()
    }
