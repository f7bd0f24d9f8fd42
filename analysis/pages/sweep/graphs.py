"""Graphs of a sweep over its factors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.distributions import SHARE, curve, half
from analysis.graphs.layers import (
    DOT,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    line,
    marked,
    named,
    spread,
)
from analysis.graphs.ranges import SweptAxis, swept, ticked
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages.sweep import layout
from analysis.pages.sweep.boxes import boxes, value_axis
from analysis.pages.sweep.layout import Layout, Levels
from analysis.pages.sweep.maps import map_of_medians, map_of_ratios
from analysis.pages.sweep.shares import shares
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import FEWEST, Numbers
from analysis.statistics.sweep_samples import Place, SweepSamples
from analysis.statistics.wording import called

_SPACING = {
    "linear": "",
    "log": " The horizontal axis is logarithmic.",
    "even": " Its values are evenly spaced.",
}
_MOST_DOTS = 400
"""Dots of one level; of more, evenly spread quantiles are shown, which look the same."""
_BAND = replace(DOT, mark="", faint=True)


def graphs(
    sweep: SweepRecord, samples: SweepSamples, comparisons: Sequence[LevelComparison]
) -> list[GraphGroup]:
    """Return the graphs that suit the sweep, the main one first."""
    if samples.is_empty:
        return []
    drawn = [
        grid(sweep, samples),
        map_of_ratios(sweep, comparisons),
        map_of_medians(sweep, samples),
        boxes(sweep, samples),
        distribution(sweep, samples),
        flows(sweep, samples),
        shares(sweep),
    ]
    return [group for group in drawn if group]


def grid(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup:
    """Return small multiples over the factors: lines along a quantity, or every run."""
    along = layout.for_lines(sweep)
    if along and along.across is not None:
        return _lines(along, along.across, samples)
    return _runs(sweep, samples)


def distribution(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the distribution over the seeds; None for one seed."""
    if int(samples.counts.max()) < 2:
        return None
    return _curves("distribution", "runs", layout.for_runs(sweep), samples, samples.at)


def flows(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the distribution over the flows; None for runs of one flow."""
    by_flow, none = samples.by_flow, np.empty(0)
    if not by_flow:
        return None
    shape = layout.for_runs(sweep)
    return _curves("flows", "flows", shape, samples, lambda at: by_flow.get(at, none))


def _seeds(samples: SweepSamples) -> str:
    """Return the remark on too few seeds for an interval."""
    most = int(samples.counts.max())
    if most >= FEWEST:
        return ""
    return f" {'One seed' if most == 1 else f'{most} seeds'}: no interval."


def _lines(shape: Layout, across: int, samples: SweepSamples) -> GraphGroup:
    factor, metric = shape.sweep.factors[across], shape.sweep.metric
    axis = swept(factor.values, samples.amounts[across])
    below = ticked(axis, layout.axis_name(factor))
    ends = [end for interval in samples.intervals.values() for end in (interval.low, interval.high)]
    beside = value_axis(shape.sweep, samples, [*samples.median[samples.counts > 0], *ends])
    drawn = tuple(
        Graph(
            f"lines_{number}",
            shape.title(levels),
            "",
            below,
            beside,
            tuple(
                layer
                for series, (name, at) in enumerate(shape.lines(levels))
                for layer in _line(shape, across, samples, axis, (series, name, at))
            ),
            over_time=False,
            height=360 if len(shape.panels) < 3 else 260,
        )
        for number, levels in enumerate(shape.panels)
    )
    caption = _lines_caption(shape.sweep, samples, axis.spacing) + shape.left_out
    return GraphGroup("lines", f"{metric.title} against {factor.short}", caption, drawn)


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
    shape: Layout,
    across: int,
    samples: SweepSamples,
    axis: SweptAxis,
    of: tuple[int, str, Levels],
) -> list[Layer]:
    """Return the band, the single runs where there is none, and the line of one level."""
    series, name, levels = of
    every = [
        (position, shape.place(levels | {across: step}))
        for step, position in enumerate(axis.positions)
    ]
    known = sorted((at, place) for at, place in every if samples.counts[place] > 0)
    if not known:
        return []
    words = shape.words(name) or "median"
    at = np.array([position for position, _ in known])
    medians = np.array([float(samples.median[place]) for _, place in known])
    layers = [*line(at, medians, series, words)]
    if any(place in samples.intervals for _, place in known):
        low, high = _ends(samples, [place for _, place in known], medians)
        band = Layer(_BAND, "band", at, low, high, words=words, series=series)
        return [band, *layers]
    runs = [(position, value) for position, place in known for value in samples.at(place)]
    if len(runs) > len(known):
        x, y = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
        layers.insert(0, Layer(DOT, "dots", x, y, words=words, series=series))
    return layers


def _ends(
    samples: SweepSamples, places: Sequence[Place], medians: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the ends of the band, which has no width without an interval."""
    intervals = [samples.intervals.get(place) for place in places]
    low = [m if i is None else i.low for m, i in zip(medians, intervals, strict=True)]
    high = [m if i is None else i.high for m, i in zip(medians, intervals, strict=True)]
    return np.array(low, dtype=float), np.array(high, dtype=float)


def _runs(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup:
    shape = layout.for_runs(sweep)
    every = np.concatenate(
        [samples.at(shape.place(at)) for levels in shape.panels for _, at in shape.lines(levels)]
    )
    axis = value_axis(sweep, samples, every.tolist())
    drawn = tuple(
        _dots(shape, samples, axis, levels, number) for number, levels in enumerate(shape.panels)
    )
    bar = ", the bar its 95 % interval" if samples.intervals else ""
    caption = (
        "Every small dot is one run; the large mark is the"
        f" median{bar}.{_seeds(samples)}{shape.left_out}"
    )
    return GraphGroup("runs", f"{sweep.metric.title}: every run", caption, drawn)


def _dots(shape: Layout, samples: SweepSamples, axis: Axis, levels: Levels, number: int) -> Graph:
    lines = shape.lines(levels)
    layers = [
        layer
        for series, (_, at) in enumerate(lines)
        for layer in _level_dots(samples, shape.place(at), series)
    ]
    below = named(shape.compared, [name for name, _ in lines])
    return Graph(
        f"runs_{number}", shape.title(levels), "", below, axis, tuple(layers), over_time=False
    )


def _level_dots(samples: SweepSamples, place: Place, series: int) -> list[Layer]:
    values = samples.at(place)
    if not len(values):
        return []
    if len(values) > _MOST_DOTS:
        values = np.quantile(values, np.linspace(0, 1, _MOST_DOTS))
    across = series - 0.14 + 0.2 * spread(len(values))
    order = np.argsort(across)
    middle, at = np.array([float(np.median(values))]), np.array([series + 0.14])
    look = marked(series, width=3)
    layers = [
        Layer(DOT, "dots", across[order], values[order], words="one run", series=series),
        Layer(look, "dots", at, middle, words="median", series=series),
    ]
    interval = samples.intervals.get(place)
    if interval:
        low, high = np.array([float(interval.low)]), np.array([float(interval.high)])
        bar = SeriesLook("", look.colour, width=3)
        words = "its 95 % interval"
        layers.append(Layer(bar, "bars", at, low, high, at, words=words, series=series))
    return layers


def _curves(
    key: str, of: str, shape: Layout, samples: SweepSamples, values: Callable[[Place], Numbers]
) -> GraphGroup:
    metric = shape.sweep.metric
    caption = (
        f"At each value, the share of {of} that had at most this value: further right is larger,"
        f" steeper is steadier. The mark is the median of the {of}."
        + (" Each panel has a separate horizontal scale." if len(shape.panels) > 1 else "")
        + shape.left_out
    )
    drawn = tuple(
        graph
        for number, levels in enumerate(shape.panels)
        if (graph := _curve_panel(f"{key}_{number}", of, shape, samples, (levels, values)))
    )
    return GraphGroup(key, f"How {called(metric)} is distributed over {of}", caption, drawn)


def _curve_panel(
    key: str,
    of: str,
    shape: Layout,
    samples: SweepSamples,
    panel: tuple[Levels, Callable[[Place], Numbers]],
) -> Graph | None:
    levels, values = panel
    found = [
        (series, name, np.sort(values(shape.place(at))))
        for series, (name, at) in enumerate(shape.lines(levels))
    ]
    known = [each for each in found if len(each[2])]
    if not known:
        return None
    everything = np.concatenate([ordered for *_, ordered in known]).tolist()
    axis = value_axis(shape.sweep, samples, everything)
    if not axis.log:
        low, high = min(everything), max(everything)
        room = 0.06 * (high - low) or abs(high) or 1.0
        axis = replace(axis, zero=False, range=(low - room, high + room))
    layers = [
        layer
        for series, name, ordered in known
        for layer in curve(shape.words(name) or of, ordered, series)
    ]
    share = replace(SHARE, label=f"share of {of}")
    title = shape.title(levels)
    return Graph(key, title, "", axis, share, (*layers, half()), over_time=False)
