"""The maps of a sweep: medians over two factors, and how each level compares with the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.figures import heat_map
from analysis.pages.sweep import layout
from analysis.pages.sweep.layout import Layout, Levels
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.run_pictures import Picture
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.metric_wording import labelled
from analysis.statistics.paired_tests import Numbers
from analysis.statistics.paired_wording import UNSHOWN
from analysis.statistics.sweep_samples import SweepSamples


def map_of_medians(sweep: SweepRecord, samples: SweepSamples) -> Picture | None:
    """None where there are no two factors beside the compared one."""
    shape = layout.for_maps(sweep)
    if shape is None:
        return None
    drawn = [
        heat_map.MapPanel(shape.title(levels), _plane(shape, samples.median, levels))
        for levels in shape.panels
    ]
    png = heat_map.draw_medians(drawn, _sides(shape), labelled(sweep.metric, samples.unit))
    caption = (
        "The median over the seeds. White: no run. All panels have one colour"
        f" scale.{shape.left_out}"
    )
    return Picture("medians.png", f"{sweep.metric.title}: the medians", caption, png)


def map_of_ratios(sweep: SweepRecord, comparisons: Sequence[LevelComparison]) -> Picture | None:
    """None where no difference to the baseline is shown, or where there are no ratios."""
    shape, axis = layout.for_maps(sweep), sweep.compare
    against = [
        comparison for comparison in comparisons if axis is not None and comparison.place[axis] == 0
    ]
    if shape is None or axis is None or not any(_is_shown(comparison) for comparison in against):
        return None
    ratios, unshown = _by_level(sweep, axis, against)
    baseline = sweep.factors[axis].values[0]
    panels = [levels for levels in shape.panels if levels[axis] > 0]
    drawn = [
        heat_map.MapPanel(
            _against(shape, axis, levels),
            _plane(shape, ratios, levels),
            _plane(shape, unshown, levels) > 0,
        )
        for levels in panels
    ]
    png = heat_map.draw_ratios(drawn, _sides(shape), f"ratio to {baseline}")
    caption = (
        f"The median over the seeds of the ratio to {baseline}: red is more, blue is less. Grey"
        " hatching: not shown to differ after Holm's correction. White: no ratio, because a value"
        f" is zero or missing.{shape.left_out}"
    )
    return Picture("ratios.png", f"{sweep.metric.title} against {baseline}", caption, png)


def _against(shape: Layout, axis: int, levels: Levels) -> str:
    names, others = (
        shape.sweep.factors[axis].values,
        tuple(other for other in shape.rest if other != axis),
    )
    where = shape.sweep.described(shape.place(levels), others)
    return f"{names[levels[axis]]} against {names[0]}" + (f", {where}" if where else "")


def _is_shown(comparison: LevelComparison) -> bool:
    return (
        comparison.verdict != UNSHOWN
        and comparison.paired is not None
        and comparison.paired.scale == "ratio"
    )


def _by_level(
    sweep: SweepRecord, axis: int, against: Sequence[LevelComparison]
) -> tuple[Numbers, Numbers]:
    """For each cell the ratio to the baseline, NaN for none, and 1 where no difference is shown."""
    ratios, unshown = np.full(sweep.shape, np.nan), np.zeros(sweep.shape)
    for comparison in against:
        place = (*comparison.place[:axis], comparison.second_level, *comparison.place[axis + 1 :])
        if comparison.paired is not None and comparison.paired.scale == "ratio":
            ratios[place], unshown[place] = (
                comparison.paired.estimate,
                comparison.verdict == UNSHOWN,
            )
    return ratios, unshown


def _plane(shape: Layout, cells: Numbers, levels: Levels) -> Numbers:
    """The rows and columns of one panel, rows from the top: a quantity grows upwards."""
    assert shape.across is not None and shape.series is not None
    free = (shape.across, shape.series)
    plane: Numbers = cells[
        tuple(slice(None) if axis in free else levels.get(axis, 0) for axis in range(cells.ndim))
    ]
    by_row = plane.T if shape.series > shape.across else plane
    return by_row[::-1] if shape.sweep.factors[shape.series].is_quantity else by_row


def _sides(shape: Layout) -> heat_map.MapAxes:
    assert shape.across is not None and shape.series is not None
    across, rows = shape.sweep.factors[shape.across], shape.sweep.factors[shape.series]
    names = rows.values[::-1] if rows.is_quantity else rows.values
    return heat_map.MapAxes(across.values, names, layout.axis_name(across), layout.axis_name(rows))
