"""Graphs of a sweep over its factors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from analysis.fmt import called, with_unit
from analysis.graphs.distributions import SHARE, SweptAxis, curve, fewer, half, swept, ticked
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
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages import sweep_layout
from analysis.pages.sweep_courses import courses, shares
from analysis.pages.sweep_differences import differences, metrics_that_differ
from analysis.pages.sweep_layout import Layout, Levels
from analysis.reporting.over_seeds import BOX_CAPTION, FEWEST_OF_A_BOX, box_axis, boxed_graph
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import FEWEST, Numbers
from analysis.statistics.sweep_samples import Place, SweepSamples

_SPACING = {
    "linear": "",
    "log": " The horizontal axis is logarithmic.",
    "even": " Its values are evenly spaced.",
}
_BAND = replace(DOT, mark="", faint=True)


def graphs(
    sweep: SweepRecord, samples: SweepSamples, comparisons: Sequence[LevelComparison]
) -> list[GraphGroup]:
    if samples.is_empty:
        return []
    drawn = [
        differences(sweep, samples, comparisons),
        grid(sweep, samples),
        metrics_that_differ(sweep, samples),
        boxes(sweep, samples),
        distribution(sweep, samples),
        flows(sweep, samples),
        shares(sweep),
        *courses(sweep),
    ]
    return [group for group in drawn if group]


def grid(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup:
    """Return small multiples over the factors: lines along a quantity, or every run."""
    along = sweep_layout.for_lines(sweep)
    if along and along.across is not None:
        return _lines(along, along.across, samples)
    return _runs(sweep, samples)


def distribution(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the distribution over the seeds; None for one seed."""
    if int(samples.counts.max()) < 2:
        return None
    return _curves("distribution", "runs", sweep_layout.for_runs(sweep), samples, samples.at)


def flows(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the distribution over the flows; None for runs of one flow."""
    by_flow, none = samples.by_flow, np.empty(0)
    if not by_flow:
        return None
    shape = sweep_layout.for_runs(sweep)
    return _curves("flows", "flows", shape, samples, lambda at: by_flow.get(at, none))


def boxes(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return a box over the seeds for each level; None with fewer than three seeds."""
    if int(samples.counts.max()) < FEWEST_OF_A_BOX:
        return None
    shape, metric = sweep_layout.for_runs(sweep), sweep.metric
    every = np.concatenate([samples.at(place) for place in samples.places])
    axis = box_axis(value_axis(sweep, samples, []), every.tolist())
    drawn = tuple(
        boxed_graph(
            f"boxes_{number}",
            shape.title(levels),
            [(name, samples.at(shape.place(at))) for name, at in shape.lines(levels)],
            axis,
            shape.compared,
        )
        for number, levels in enumerate(shape.panels)
    )
    caption = BOX_CAPTION + shape.left_out
    return GraphGroup("boxes", f"{metric.title}: middle half of the runs", caption, drawn)


def value_axis(sweep: SweepRecord, samples: SweepSamples, values: Sequence[float]) -> Axis:
    name = with_unit(sweep.metric.title, samples.unit)
    plain = Axis(name, "")
    if samples.unit in _RATES:
        label = name.removesuffix(f" ({samples.unit})")
        plain = Axis(label, "bit/s", _RATES[samples.unit])
    return box_axis(plain, values) if len(values) else plain


_RATES = {"kbit/s": 1e3, "Mbit/s": 1e6, "bit/s": 1.0}


def _seeds(samples: SweepSamples) -> str:
    most = int(samples.counts.max())
    if most >= FEWEST:
        return ""
    return f" {'One seed' if most == 1 else f'{most} seeds'}: no interval."


def _lines(shape: Layout, across: int, samples: SweepSamples) -> GraphGroup:
    factor, metric = shape.sweep.factors[across], shape.sweep.metric
    axis = swept(factor.values, samples.amounts[across])
    below = ticked(axis, sweep_layout.axis_name(factor))
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
    shape: Layout, across: int, samples: SweepSamples, axis: SweptAxis, of: tuple[int, str, Levels]
) -> list[Layer]:
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
        intervals = [samples.intervals.get(place) for _, place in known]
        pairs = zip(intervals, medians.tolist(), strict=True)
        low, high = np.array([(i.low, i.high) if i else (m, m) for i, m in pairs]).T
        band = Layer(_BAND, "band", at, low, high, words=words, series=series)
        return [band, *layers]
    runs = [(position, value) for position, place in known for value in samples.at(place)]
    if len(runs) > len(known):
        x, y = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
        layers.insert(0, Layer(DOT, "dots", x, y, words=words, series=series))
    return layers


def _runs(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup:
    shape = sweep_layout.for_runs(sweep)
    every = np.concatenate(
        [samples.at(shape.place(at)) for levels in shape.panels for _, at in shape.lines(levels)]
    )
    axis = value_axis(sweep, samples, every.tolist())
    drawn = tuple(
        _dots(shape, samples, axis, levels, number) for number, levels in enumerate(shape.panels)
    )
    bar = ", the bar its 95 % interval" if samples.intervals else ""
    single = "Each mark is one run." if int(samples.counts.max()) == 1 else ""
    drawn_as = single or f"Every small dot is one run; the large mark is the median{bar}."
    caption = f"{drawn_as}{_seeds(samples)}{shape.left_out}"
    return GraphGroup("runs", f"{sweep.metric.title}: every run", caption, drawn)


def _dots(shape: Layout, samples: SweepSamples, axis: Axis, levels: Levels, number: int) -> Graph:
    lines = shape.lines(levels)
    layers = [
        layer
        for series, (_, at) in enumerate(lines)
        for layer in _level_dots(samples, shape.place(at), series)
    ]
    below = named(shape.compared, [name for name, _ in lines])
    return Graph(f"runs_{number}", shape.title(levels), "", below, axis, tuple(layers))


def _level_dots(samples: SweepSamples, place: Place, series: int) -> list[Layer]:
    values = fewer(samples.at(place))
    if not len(values):
        return []
    across = series - 0.14 + 0.2 * spread(len(values))
    order = np.argsort(across)
    middle, at = np.array([float(np.median(values))]), np.array([series + 0.14])
    look = marked(series, width=3)
    runs = Layer(DOT, "dots", across[order], values[order], words="one run", series=series)
    if len(values) == 1:
        return [replace(runs, look=look, x=np.array([float(series)]))]
    layers = [runs, Layer(look, "dots", at, middle, words="median", series=series)]
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
    known = [each for each in found if np.isfinite(each[2]).any()]
    if not known:
        return None
    values_of_all = np.concatenate([ordered for *_, ordered in known])
    everything = values_of_all[np.isfinite(values_of_all)].tolist()
    axis = value_axis(shape.sweep, samples, everything)
    if not axis.log:
        low, high = min(everything), max(everything)
        room = 0.06 * (high - low) or abs(high) / 25 or 1.0
        axis = replace(axis, zero=False, range=(low - room, high + room))
    layers = [
        layer
        for series, name, ordered in known
        for layer in curve(shape.words(name) or of, ordered, series)
    ]
    share = replace(SHARE, label=f"share of {of}")
    title = shape.title(levels)
    return Graph(key, title, "", axis, share, (*layers, half()))
