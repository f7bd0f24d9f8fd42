"""Factors of a sweep along axes, by colour and by panels, and the sweep's maps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from analysis.fmt import with_unit
from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, SeriesLook, spans_decades
from analysis.measures.sweep_folder import CONDITION, SweepRecord, SweptFactor
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import DifferenceVerdict, Numbers
from analysis.statistics.sweep_samples import Place, SweepSamples

Levels = dict[int, int]
"""Value of some factors, both by number."""


@dataclass(frozen=True)
class Layout:
    """One graph of `sweep`: its axis, its series and its panels.

    `across` is the factor of the axis, `series` the one by colour or rows; `rest` has the panels.
    `panels` are the combinations that are shown, `left_out` is the sentence on the others.
    """

    sweep: SweepRecord
    across: int | None
    series: int | None
    rest: tuple[int, ...]
    panels: tuple[Levels, ...]
    left_out: str

    def title(self, levels: Levels) -> str:
        return self.sweep.described(self.place(levels), self.rest)

    def place(self, levels: Levels) -> Place:
        """Return the cell at `levels`; factors that are not named have one value only."""
        return tuple(levels.get(axis, 0) for axis in range(len(self.sweep.factors)))

    def lines(self, levels: Levels) -> list[tuple[str, Levels]]:
        """Return the lines of one panel by colour: the name and place of each."""
        if self.series is None:
            return [("", levels)]
        names = self.sweep.factors[self.series].values
        return [(name, levels | {self.series: level}) for level, name in enumerate(names)]

    def words(self, name: str) -> str:
        """Return what a line's level is called, such as "delay 50ms" or a condition's label."""
        return name if self.compared == CONDITION else f"{self.compared} {name}".strip()

    @property
    def compared(self) -> str:
        """Name of the factor with a colour per level; empty if there is none."""
        return "" if self.series is None else self.sweep.factors[self.series].short


def _layout(
    sweep: SweepRecord, across: int | None, series: int | None, rest: Sequence[int]
) -> Layout:
    every = [
        dict(zip(rest, levels, strict=True))
        for levels in product(*(range(sweep.shape[axis]) for axis in rest))
    ]
    kept = chosen(len(every))
    all_kept = len(kept) == len(every)
    left_out = (
        ""
        if all_kept
        else f" {len(kept)} of {len(every)} combinations are shown; the tables have all."
    )
    return Layout(sweep, across, series, tuple(rest), tuple(every[at] for at in kept), left_out)


def for_lines(sweep: SweepRecord) -> Layout | None:
    """Return lines along a quantity, preferably not the compared one; None without a quantity."""
    varied = _varied(sweep)
    across = _finest_quantity(sweep, [axis for axis in varied if axis != sweep.compare])
    if across is None:
        across = _finest_quantity(sweep, varied)
    if across is None:
        return None
    left = [axis for axis in varied if axis != across]
    series = (
        sweep.compare
        if sweep.compare in left
        else min(left, key=lambda axis: sweep.shape[axis], default=None)
    )
    return _layout(sweep, across, series, [axis for axis in left if axis != series])


def for_runs(sweep: SweepRecord) -> Layout:
    """Return single runs: colours by the compared or first factor, panels by others."""
    varied = _varied(sweep)
    series = sweep.compare if sweep.compare is not None else next(iter(varied), None)
    return _layout(sweep, None, series, [axis for axis in varied if axis != series])


def for_courses(sweep: SweepRecord, many_flows: bool) -> Layout:
    """Return a panel for each combination; conditions of a single flow share one by colour."""
    varied = _varied(sweep)
    conditions = [axis for axis in varied if sweep.factors[axis].name == CONDITION]
    series = None if many_flows else next(iter(conditions), None)
    return _layout(sweep, None, series, [axis for axis in varied if axis != series])


def for_maps(sweep: SweepRecord) -> Layout | None:
    """Return maps, columns by rows, of two factors that are not compared; None without two."""
    axes = [axis for axis in _varied(sweep) if axis != sweep.compare]
    if len(axes) < 2:
        return None
    across = _quantity_or_first(sweep, axes)
    left = [axis for axis in axes if axis != across]
    rows = _quantity_or_first(sweep, left)
    compared = [] if sweep.compare is None else [sweep.compare]
    return _layout(sweep, across, rows, [axis for axis in left if axis != rows] + compared)


def _varied(sweep: SweepRecord) -> list[int]:
    return [axis for axis, count in enumerate(sweep.shape) if count > 1]


def _finest_quantity(sweep: SweepRecord, axes: Sequence[int]) -> int | None:
    """Return the quantity with the most values, the first of equals."""
    quantities = [axis for axis in axes if sweep.factors[axis].is_quantity]
    return max(quantities, key=lambda axis: sweep.shape[axis], default=None)


def _quantity_or_first(sweep: SweepRecord, axes: Sequence[int]) -> int:
    quantity = _finest_quantity(sweep, axes)
    return axes[0] if quantity is None else quantity


MOST_PANELS = 12


def chosen(count: int, most: int = MOST_PANELS) -> list[int]:
    """Return up to `most` of `count` places, evenly spread with both ends."""
    if not count:
        return []
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))})


def axis_name(factor: SweptFactor) -> str:
    """Return the factor with its meaning, for an axis."""
    meaning = factor.meaning.rstrip(".")
    return f"{factor.short}: {meaning[:1].lower()}{meaning[1:]}" if meaning else factor.short


_ROW = 34
"""Pixels of a row of cells."""
_BEYOND = 1e9
"""Ratio above all that are measured."""
_RATIO = 3.0
"""The ratio from which on, up or down, a cell has the scale's last colour; or the greatest."""


def map_of_medians(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the map; None unless two factors vary next to the compared one."""
    shape = for_maps(sweep)
    if shape is None:
        return None
    known = samples.median[np.isfinite(samples.median)]
    tints = _amounts(samples.median, known)
    value = with_unit(sweep.metric.title, samples.unit)
    look = SeriesLook(value, "#000000", tints="amount")
    drawn = tuple(
        _map(f"medians_{number}", shape.title(levels), shape, levels, (look, samples.median, tints))
        for number, levels in enumerate(shape.panels)
    )
    caption = (
        f"The median over the seeds of {value}: dark is {known.min():,.4g}, bright is"
        f" {known.max():,.4g}. Empty: no run. All panels have one colour scale.{shape.left_out}"
    )
    return GraphGroup("medians", f"{sweep.metric.title}: the medians", caption, drawn)


def _amounts(values: Numbers, known: Numbers) -> Numbers:
    """Return from 0 for the least to 1 for the greatest, by logarithms over decades."""
    scaled = np.log10 if spans_decades(known.tolist()) else np.asarray
    low, high = float(scaled(known.min())), float(scaled(known.max()))
    tints: Numbers = (scaled(values) - low) / ((high - low) or 1.0)
    return np.minimum(tints, 1.0)


def map_of_ratios(sweep: SweepRecord, comparisons: Sequence[LevelComparison]) -> GraphGroup | None:
    """Return the map; None without ratios or shown differences to the baseline."""
    shape, axis = for_maps(sweep), sweep.compare
    against = [
        comparison for comparison in comparisons if axis is not None and comparison.place[axis] == 0
    ]
    if shape is None or axis is None or not any(_is_shown(comparison) for comparison in against):
        return None
    ratios, unshown = _by_level(sweep, axis, against)
    baseline = sweep.factors[axis].values[0]
    furthest = min(_RATIO, max(1.01, _furthest(ratios)))
    tints = np.where(unshown > 0, -1.0, 0.5 + _logs(ratios) / np.log(furthest) / 2)
    look = SeriesLook(f"ratio to {baseline}", "#000000", tints="ratio")
    panels = [levels for levels in shape.panels if levels[axis] > 0]
    drawn = tuple(
        _map(
            f"ratios_{number}", _against(shape, axis, levels), shape, levels, (look, ratios, tints)
        )
        for number, levels in enumerate(panels)
    )
    caption = (
        f"The median over the seeds of the ratio to {baseline}: red is more, blue is less, up to"
        f" {furthest:.3g} times and beyond. Grey and struck through: not shown to differ after"
        f" Holm's correction. Empty: no ratio, because a value is zero or missing.{shape.left_out}"
    )
    return GraphGroup("ratios", f"{sweep.metric.title} against {baseline}", caption, drawn)


def _furthest(ratios: Numbers) -> float:
    return float(np.exp(np.nanmax(np.abs(_logs(ratios)))))


def _logs(ratios: Numbers) -> Numbers:
    """Return logarithms that are finite for a ratio of 0, or an infinite one, too."""
    return np.log(np.clip(ratios, 1 / _BEYOND, _BEYOND))


def _against(shape: Layout, axis: int, levels: Levels) -> str:
    names, others = (
        shape.sweep.factors[axis].values,
        tuple(other for other in shape.rest if other != axis),
    )
    where = shape.sweep.described(shape.place(levels), others)
    return f"{names[levels[axis]]} against {names[0]}" + (f", {where}" if where else "")


def _is_shown(comparison: LevelComparison) -> bool:
    return (
        comparison.verdict != DifferenceVerdict.UNSHOWN
        and comparison.paired is not None
        and comparison.paired.scale == "ratio"
    )


def _by_level(
    sweep: SweepRecord, axis: int, against: Sequence[LevelComparison]
) -> tuple[Numbers, Numbers]:
    """Return each cell's ratio to the baseline or NaN, and 1 where no difference is shown."""
    ratios, unshown = np.full(sweep.shape, np.nan), np.zeros(sweep.shape)
    for comparison in against:
        place = (*comparison.place[:axis], comparison.second_level, *comparison.place[axis + 1 :])
        if comparison.paired is not None and comparison.paired.scale == "ratio":
            ratios[place], unshown[place] = (
                comparison.paired.estimate,
                comparison.verdict == DifferenceVerdict.UNSHOWN,
            )
    return ratios, unshown


def _map(
    key: str, title: str, shape: Layout, levels: Levels, cells: tuple[SeriesLook, Numbers, Numbers]
) -> Graph:
    """Return one panel: the factor `across` has the columns, `series` the rows."""
    assert shape.across is not None and shape.series is not None
    look, values, tints = cells
    plane, shades = _plane(shape, values, levels), _plane(shape, tints, levels)
    rows, columns = np.nonzero(np.isfinite(plane) & np.isfinite(shades))
    order = np.argsort(columns, kind="stable")
    rows, columns = rows[order], columns[order]
    layer = Layer(
        look,
        "cells",
        columns.astype(float),
        rows.astype(float),
        fields={look.words: plane[rows, columns]},
        tint=shades[rows, columns],
    )
    across, beside = shape.sweep.factors[shape.across], shape.sweep.factors[shape.series]
    height = 58 + max(3, len(beside.values)) * _ROW
    return Graph(key, title, "", _names(across), _names(beside), (layer,), height=height)


def _names(factor: SweptFactor) -> Axis:
    ticks = tuple((float(at), name) for at, name in enumerate(factor.values))
    return Axis(axis_name(factor), "", ticks=ticks, range=(-0.5, len(ticks) - 0.5))


def _plane(shape: Layout, cells: Numbers, levels: Levels) -> Numbers:
    assert shape.across is not None and shape.series is not None
    free = (shape.across, shape.series)
    plane: Numbers = cells[
        tuple(slice(None) if axis in free else levels.get(axis, 0) for axis in range(cells.ndim))
    ]
    return plane.T if shape.series > shape.across else plane
