"""The graphs of a sweep: lines against a quantity or single runs, maps, distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from analysis.figures import distribution, swept_lines
from analysis.figures.panels import LevelLook
from analysis.figures.swept_axis import swept
from analysis.pages.sweep import layout
from analysis.pages.sweep.layout import Layout, Levels
from analysis.pages.sweep.maps import map_of_medians, map_of_ratios
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.run_pictures import Picture
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.metric_wording import called, labelled
from analysis.statistics.paired_tests import FEWEST, MedianInterval, Numbers
from analysis.statistics.sweep_samples import Place, SweepSamples

_SPACING = {
    "linear": "",
    "log": " The horizontal axis is logarithmic.",
    "even": " Its values are evenly spaced.",
}


def pictures(
    sweep: SweepRecord, samples: SweepSamples, comparisons: Sequence[LevelComparison]
) -> list[Picture]:
    """The graphs that suit the sweep, the main one first."""
    if samples.is_empty:
        return []
    along = layout.for_lines(sweep)
    main = (
        _lines(along, along.across, samples)
        if along and along.across is not None
        else _runs(sweep, samples)
    )
    maps = (map_of_ratios(sweep, comparisons), map_of_medians(sweep, samples))
    drawn = (main, *maps, _distribution(sweep, samples), _flows(sweep, samples))
    return [picture for picture in drawn if picture]


def _seeds(samples: SweepSamples) -> str:
    """What the reader must know of the number of seeds."""
    most = int(samples.counts.max())
    return (
        ""
        if most >= FEWEST
        else " One seed: no interval."
        if most == 1
        else f" {most} seeds: no interval."
    )


def _lines(shape: Layout, across: int, samples: SweepSamples) -> Picture:
    factor, metric = shape.sweep.factors[across], shape.sweep.metric
    drawn = [
        swept_lines.LinesPanel(
            shape.title(levels),
            [_line(shape, across, samples, look, at) for look, at in shape.lines(levels)],
        )
        for levels in shape.panels
    ]
    axis = swept(factor.values, samples.amounts[across])
    png = swept_lines.draw(
        drawn, axis, layout.axis_name(factor), labelled(metric, samples.unit), shape.compared
    )
    caption = _lines_caption(shape.sweep, samples, axis.spacing) + shape.left_out
    return Picture("lines.png", f"{metric.title} against {factor.short}", caption, png)


def _lines_caption(sweep: SweepRecord, samples: SweepSamples, spacing: str) -> str:
    if samples.intervals:
        drawn = "Each mark is the median over the seeds, the band its 95 % interval."
    else:
        drawn = (
            "Each mark is one run."
            if int(samples.counts.max()) == 1
            else "Each mark is a median, each dot one run."
        )
    if samples.intervals and sweep.compare is not None:
        drawn += (
            " Whether two levels differ is in the table: it compares them seed by seed, so a"
            " difference can be shown where bands overlap."
        )
    return drawn + _seeds(samples) + _SPACING[spacing]


def _line(
    shape: Layout, across: int, samples: SweepSamples, look: LevelLook, levels: Levels
) -> swept_lines.LevelLine:
    places = [shape.place(levels | {across: step}) for step in range(shape.sweep.shape[across])]
    return swept_lines.LevelLine(
        look,
        [samples.at(place) for place in places],
        [float(samples.median[place]) for place in places],
        [samples.intervals.get(place) for place in places],
    )


def _panels(
    shape: Layout, values: Callable[[Place], Numbers], intervals: Mapping[Place, MedianInterval]
) -> list[distribution.DistributionPanel]:
    def sample(look: LevelLook, levels: Levels) -> distribution.LevelSample:
        place = shape.place(levels)
        return distribution.LevelSample(look, values(place), intervals.get(place))

    return [
        distribution.DistributionPanel(
            shape.title(levels), [sample(look, at) for look, at in shape.lines(levels)]
        )
        for levels in shape.panels
    ]


def _runs(sweep: SweepRecord, samples: SweepSamples) -> Picture:
    shape = layout.for_runs(sweep)
    drawn = _panels(shape, samples.at, samples.intervals)
    png = distribution.draw_dots(drawn, labelled(sweep.metric, samples.unit), shape.compared)
    bar = ", the bar its 95 % interval" if samples.intervals else ""
    caption = (
        "Every faint dot is one run; the large mark is the"
        f" median{bar}.{_seeds(samples)}{shape.left_out}"
    )
    return Picture("runs.png", f"{sweep.metric.title}: every run", caption, png)


def _distribution(sweep: SweepRecord, samples: SweepSamples) -> Picture | None:
    """Over runs; a single run has none."""
    if int(samples.counts.max()) < 2:
        return None
    shape = layout.for_runs(sweep)
    return _curves(
        "distribution.png",
        "runs",
        shape,
        samples.unit,
        _panels(shape, samples.at, samples.intervals),
    )


def _flows(sweep: SweepRecord, samples: SweepSamples) -> Picture | None:
    """Over single flows, where runs have several."""
    if not samples.by_flow:
        return None
    shape, none = layout.for_runs(sweep), np.empty(0)
    drawn = _panels(shape, lambda place: samples.by_flow.get(place, none), {})
    return _curves("flows.png", "flows", shape, samples.unit, drawn)


def _curves(
    name: str, of: str, shape: Layout, unit: str, drawn: list[distribution.DistributionPanel]
) -> Picture:
    metric = shape.sweep.metric
    scales = " Each panel has its own horizontal scale." if len(drawn) > 1 else ""
    caption = (
        f"At each value, the share of {of} that had at most this value: further right is larger,"
        f" steeper is steadier. The mark is the median of the {of}.{scales}{shape.left_out}"
    )
    png = distribution.draw_curves(drawn, labelled(metric, unit), f"share of {of}", shape.compared)
    return Picture(name, f"How {called(metric)} is distributed over {of}", caption, png)
