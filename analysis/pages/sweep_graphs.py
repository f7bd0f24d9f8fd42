"""Graphs of a sweep over its factors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from analysis.fmt import called, with_unit
from analysis.graphs import layers as plots
from analysis.graphs.distributions import SHARE, box, curves, fewer, swept, ticked
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages import sweep_layout
from analysis.pages.sweep_courses import courses, shares
from analysis.pages.sweep_differences import differences, metrics_that_differ
from analysis.pages.sweep_layout import Layout, Levels
from analysis.reporting.over_seeds import FEWEST_OF_A_BOX, box_axis
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import FEWEST, Numbers
from analysis.statistics.sweep_samples import Place, SweepSamples

_SPACING = {
    "linear": "",
    "log": " The horizontal axis is logarithmic.",
    "even": " Its values are evenly spaced.",
}
_BAND = replace(plots.DOT, mark="", faint=True)


def graphs(
    sweep: SweepRecord, samples: SweepSamples, comparisons: Sequence[LevelComparison]
) -> list[plots.GraphGroup]:
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


def grid(sweep: SweepRecord, samples: SweepSamples) -> plots.GraphGroup:
    """Return small multiples over the factors: lines along a quantity, or every run."""
    along = sweep_layout.for_lines(sweep)
    if along and along.across is not None:
        return _lines(along, along.across, samples)
    return _runs(sweep, samples)


def distribution(sweep: SweepRecord, samples: SweepSamples) -> plots.GraphGroup | None:
    """Return the distribution over the seeds; None for one seed."""
    if int(samples.counts.max()) < 2:
        return None
    return _curves("distribution", "runs", sweep_layout.for_runs(sweep), samples, samples.at)


def flows(sweep: SweepRecord, samples: SweepSamples) -> plots.GraphGroup | None:
    """Return the distribution over the flows; None for runs of one flow."""
    by_flow, none = samples.by_flow, np.empty(0)
    if not by_flow:
        return None
    shape = sweep_layout.for_runs(sweep)
    return _curves("flows", "flows", shape, samples, lambda at: by_flow.get(at, none))


def boxes(sweep: SweepRecord, samples: SweepSamples) -> plots.GraphGroup | None:
    """Return a box over the seeds for each level; None with fewer than three seeds."""
    if int(samples.counts.max()) < FEWEST_OF_A_BOX:
        return None
    shape = sweep_layout.for_runs(sweep)
    every = np.concatenate([samples.at(place) for place in samples.places])
    up = box_axis(value_axis(sweep, samples, []), every.tolist())

    def draw(series: int, name: str, at: Levels) -> list[plots.Layer]:
        return box(samples.at(shape.place(at)), float(series), series, name)

    drawn = shape.graphs("boxes", (plots.named(shape.compared, shape.names), up), draw)
    title = f"{sweep.metric.title}: middle half of the runs"
    return plots.GraphGroup("boxes", title, plots.caption("boxes") + shape.left_out, drawn)


def value_axis(sweep: SweepRecord, samples: SweepSamples, values: Sequence[float]) -> plots.Axis:
    name = with_unit(sweep.metric.title, samples.unit)
    plain = plots.Axis(name, "")
    if scale := _RATES.get(samples.unit):
        plain = plots.Axis(name.removesuffix(f" ({samples.unit})"), "bit/s", scale)
    return box_axis(plain, values) if len(values) else plain


_RATES = {"kbit/s": 1e3, "Mbit/s": 1e6, "bit/s": 1.0}


def _seeds(samples: SweepSamples) -> str:
    most = int(samples.counts.max())
    if most >= FEWEST:
        return ""
    return f" {'One seed' if most == 1 else f'{most} seeds'}: no interval."


def _lines(shape: Layout, across: int, samples: SweepSamples) -> plots.GraphGroup:
    factor, metric = shape.sweep.factors[across], shape.sweep.metric
    axis, meaning = swept(factor.values, samples.amounts[across]), factor.meaning.rstrip(".")
    label = f"{factor.short}: {meaning[:1].lower()}{meaning[1:]}" if meaning else factor.short
    ends = [end for interval in samples.intervals.values() for end in (interval.low, interval.high)]
    up = value_axis(shape.sweep, samples, [*samples.median[samples.counts > 0], *ends])

    def draw(series: int, name: str, at: Levels) -> list[plots.Layer]:
        layers = shape.line(axis, samples.median, series, (name, at))
        places = zip(axis.positions, shape.cells(at), strict=True)
        return [*_behind(samples, sorted(places), series, shape.words(name) or "median"), *layers]

    height = 360 if len(shape.panels) < 3 else 260
    drawn = shape.graphs("lines", (ticked(axis, label), up), draw, height)
    caption = _lines_caption(shape.sweep, samples, axis.spacing) + shape.left_out
    return plots.GraphGroup("lines", f"{metric.title} against {factor.short}", caption, drawn)


def _lines_caption(sweep: SweepRecord, samples: SweepSamples, spacing: str) -> str:
    drawn = "Each mark is a median, each dot one run."
    if samples.intervals:
        drawn = plots.caption("intervals")
    elif int(samples.counts.max()) == 1:
        drawn = "Each mark is one run."
    if samples.intervals and sweep.compare is not None:
        drawn += plots.caption("in_the_table")
    return drawn + _seeds(samples) + _SPACING[spacing]


def _behind(
    samples: SweepSamples, places: Sequence[tuple[float, Place]], series: int, words: str
) -> list[plots.Layer]:
    """Return the band of intervals behind a line, or without any a dot for each of several runs."""
    known = [(at, place) for at, place in places if samples.counts[place] > 0]
    found = [(at, samples.intervals.get(place), samples.median[place]) for at, place in known]
    if any(interval for _, interval, _ in found):
        rows = [(at, i.low, i.high) if i else (at, median, median) for at, i, median in found]
        at, low, high = np.array(rows, dtype=float).T
        return [plots.Layer(_BAND, "band", at, low, high, words=words, series=series)]
    runs = [(at, value) for at, place in known for value in samples.at(place)]
    if len(runs) <= len(known):
        return []
    x, y = np.array(runs, dtype=float).T
    return [plots.Layer(plots.DOT, "dots", x, y, words=words, series=series)]


def _runs(sweep: SweepRecord, samples: SweepSamples) -> plots.GraphGroup:
    shape = sweep_layout.for_runs(sweep)
    places = [shape.place(at) for levels in shape.panels for _, at in shape.lines(levels)]
    every = np.concatenate([samples.at(place) for place in places])
    axes = plots.named(shape.compared, shape.names), value_axis(sweep, samples, every.tolist())

    def draw(series: int, _name: str, at: Levels) -> list[plots.Layer]:
        return _level_dots(samples, shape.place(at), series)

    bar = ", the bar its 95 % interval" if samples.intervals else ""
    single = "Each mark is one run." if int(samples.counts.max()) == 1 else ""
    drawn_as = single or f"Every small dot is one run; the large mark is the median{bar}."
    caption = f"{drawn_as}{_seeds(samples)}{shape.left_out}"
    drawn = shape.graphs("runs", axes, draw)
    return plots.GraphGroup("runs", f"{sweep.metric.title}: every run", caption, drawn)


def _level_dots(samples: SweepSamples, place: Place, series: int) -> list[plots.Layer]:
    values = fewer(samples.at(place))
    if not len(values):
        return []
    across = series - 0.14 + 0.2 * plots.spread(len(values))
    order = np.argsort(across)
    middle, at = np.array([float(np.median(values))]), np.array([series + 0.14])
    look = plots.marked(series, width=3)
    runs = plots.Layer(
        plots.DOT, "dots", across[order], values[order], words="one run", series=series
    )
    if len(values) == 1:
        return [replace(runs, look=look, x=np.array([float(series)]))]
    layers = [runs, plots.Layer(look, "dots", at, middle, words="median", series=series)]
    if interval := samples.intervals.get(place):
        low, high = np.array([[float(interval.low)], [float(interval.high)]])
        bar = plots.SeriesLook("", look.colour, width=3)
        words = "its 95 % interval"
        layers.append(plots.Layer(bar, "bars", at, low, high, at, words=words, series=series))
    return layers


def _curves(
    key: str, of: str, shape: Layout, samples: SweepSamples, values: Callable[[Place], Numbers]
) -> plots.GraphGroup:
    metric = shape.sweep.metric
    caption = (
        plots.caption("curves", of=of)
        + (" Each panel has a separate horizontal scale." if len(shape.panels) > 1 else "")
        + shape.left_out
    )
    drawn = tuple(
        graph
        for number, levels in enumerate(shape.panels)
        for graph in _curve_panel(f"{key}_{number}", of, shape, samples, levels, values)
    )
    return plots.GraphGroup(key, f"How {called(metric)} is distributed over {of}", caption, drawn)


def _curve_panel(
    key: str,
    of: str,
    shape: Layout,
    samples: SweepSamples,
    levels: Levels,
    values: Callable[[Place], Numbers],
) -> tuple[plots.Graph, ...]:
    lines = {shape.words(name) or of: values(shape.place(at)) for name, at in shape.lines(levels)}
    every = np.concatenate([*lines.values()])
    everything = every[np.isfinite(every)].tolist()
    if not everything:
        return ()
    axis = value_axis(shape.sweep, samples, everything)
    if not axis.log:
        low, high = min(everything), max(everything)
        room = 0.06 * (high - low) or abs(high) / 25 or 1.0
        axis = replace(axis, zero=False, range=(low - room, high + room))
    share = replace(SHARE, label=f"share of {of}")
    return curves(key, shape.title(levels), axis, lines, share)
