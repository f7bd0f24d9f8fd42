"""The maps of a sweep: medians over two factors, and how each level compares with the baseline."""

from collections.abc import Sequence

import numpy as np

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, SeriesLook, spans_decades
from analysis.measures.sweep_folder import SweepRecord, SweptFactor
from analysis.pages.sweep import layout
from analysis.pages.sweep.layout import Layout, Levels
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import Numbers
from analysis.statistics.sweep_samples import SweepSamples
from analysis.statistics.wording import DifferenceVerdict, with_unit

_ROW = 34
"""Pixels of a row of cells."""
_RATIO = 3.0
"""The ratio from which on, up or down, a cell has the scale's last colour; or the greatest."""


def map_of_medians(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the map; None unless two factors vary next to the compared one."""
    shape = layout.for_maps(sweep)
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
    return tints


def map_of_ratios(sweep: SweepRecord, comparisons: Sequence[LevelComparison]) -> GraphGroup | None:
    """Return the map; None without ratios or shown differences to the baseline."""
    shape, axis = layout.for_maps(sweep), sweep.compare
    against = [
        comparison for comparison in comparisons if axis is not None and comparison.place[axis] == 0
    ]
    if shape is None or axis is None or not any(_is_shown(comparison) for comparison in against):
        return None
    ratios, unshown = _by_level(sweep, axis, against)
    baseline = sweep.factors[axis].values[0]
    furthest = min(_RATIO, max(1.01, _furthest(ratios)))
    tints = np.where(unshown > 0, -1.0, 0.5 + np.log(ratios) / np.log(furthest) / 2)
    look = SeriesLook(f"ratio to {baseline}", "#000000", tints="ratio")
    panels = [levels for levels in shape.panels if levels[axis] > 0]
    drawn = tuple(
        _map(
            f"ratios_{number}",
            _against(shape, axis, levels),
            shape,
            levels,
            (look, ratios, tints),
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
    return float(np.exp(np.nanmax(np.abs(np.log(ratios)))))


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
    key: str,
    title: str,
    shape: Layout,
    levels: Levels,
    cells: tuple[SeriesLook, Numbers, Numbers],
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
    return Axis(layout.axis_name(factor), "", ticks=ticks, range=(-0.5, len(ticks) - 0.5))


def _plane(shape: Layout, cells: Numbers, levels: Levels) -> Numbers:
    """Return the rows and columns of one panel."""
    assert shape.across is not None and shape.series is not None
    free = (shape.across, shape.series)
    plane: Numbers = cells[
        tuple(slice(None) if axis in free else levels.get(axis, 0) for axis in range(cells.ndim))
    ]
    return plane.T if shape.series > shape.across else plane
