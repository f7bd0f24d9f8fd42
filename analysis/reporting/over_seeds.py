"""Graphs of all repetitions: series with bands, stacked shares, curves of delays, and boxes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from analysis.fmt import called, counted
from analysis.graphs.distributions import SHARE, box, curves
from analysis.graphs.layers import (
    DOT,
    RATE,
    TIME,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    caption,
    holding,
    level,
    named,
)
from analysis.measures.metrics import Metric
from analysis.measures.results import FlowMeasures, Measured, RunResults
from analysis.measures.sweep_folder import BINS, Numbers, begin_of, binned, lines_of, mean

_SECOND = 1e9
_AREA = SeriesLook("", DOT.colour, faint=True)
_LINE = SeriesLook("", DOT.colour, width=2)
_STACK = SeriesLook("", DOT.colour)
_PROBE = SeriesLook("", DOT.colour, "circle")
DELAY = Axis("queueing delay", "ms", zero=True)
WINDOW = Axis("window", "segments", zero=True)


@dataclass(frozen=True)
class DrawnLine:
    """Flows that are one line of a panel: of each repetition the trial and its flows."""

    words: str
    repetitions: tuple[tuple[Measured, tuple[FlowMeasures, ...]], ...]


@dataclass(frozen=True)
class Panels:
    """The lines of each panel: conditions of one flow (or `apart`), or flows."""

    results: RunResults
    apart: bool = False

    @cached_property
    def every(self) -> list[tuple[str, list[DrawnLine]]]:
        run = self.results.run
        conditions = [
            (condition.label, [t for t in self.results.measured if t.trial.condition == condition])
            for condition in run.conditions
        ]
        shown = [(label, trials) for label, trials in conditions if trials]
        if len(run.flows) == 1:
            lines = [_line(label, trials, {run.flow.name}) for label, trials in shown]
            return [(each.words, [each]) for each in lines] if self.apart else [("", lines)]
        of_lines = lines_of([flow.name for flow in run.flows]).items()
        return [
            (label * (len(shown) > 1), [_line(words, trials, names) for words, names in of_lines])
            for label, trials in shown
        ]

    @cached_property
    def edges(self) -> Numbers:
        """The ends of equal times, in seconds since the first sample of a trial."""
        ends = [
            flow.course.times[-1] - begin
            for trial in self.results.measured
            if (begin := _begin(trial)) is not None
            for flow in trial.flows
            if len(flow.course)
        ]
        return np.linspace(0, max(ends, default=1.0), BINS + 1)

    @property
    def sampled(self) -> bool:
        return any(len(flow.course) for trial in self.results.measured for flow in trial.flows)


def _line(words: str, trials: Sequence[Measured], chosen: set[str]) -> DrawnLine:
    flows = ((t, tuple(f for f in t.flows if f.flow.name in chosen)) for t in trials)
    return DrawnLine(words, tuple(flows))


def _begin(trial: Measured) -> float | None:
    return begin_of([flow.course for flow in trial.flows])


QUANTITIES = {
    "rate": ("Rate", RATE),
    "delay": ("Queueing delay", DELAY),
    "window": ("Window", WINDOW),
}
"""Title and axis of each quantity over time."""


@dataclass(frozen=True)
class SeriesPanel:
    """A panel of a series: for each line a row of values for each seed; NaN where one has none."""

    key: str
    title: str
    lines: Mapping[str, Numbers]
    link: float | None = None  # the link's rate in kbit/s


def series(
    results: RunResults, quantities: Sequence[str] = tuple(QUANTITIES), apart: bool = False
) -> GraphGroup | None:
    """Return quantities over time with a band over the seeds, single flows perhaps `apart`."""
    panels, seeds, drawn = Panels(results, apart), results.repeated, list[Graph]()
    for name in quantities if panels.sampled else ():
        of_panels = [
            SeriesPanel(
                str(at),
                title,
                {line.words: _values(line, name, panels.edges) for line in lines},
                results.link_rate,
            )
            for at, (title, lines) in enumerate(panels.every)
        ]
        drawn += banded(name, of_panels, panels.edges)
    title = "Course over all seeds" if seeds > 1 else "Course"
    words = series_caption(seeds, quantities)
    return GraphGroup("series", title, words, tuple(drawn)) if drawn else None


def series_caption(seeds: int, quantities: Sequence[str]) -> str:
    """Return what lines and bands are, and the meanings of the quantities."""
    drawn = f"Lines: median of {seeds} seeds; bands: all of them." if seeds > 1 else "One seed."
    return drawn + "".join(map(caption, quantities))


def banded(name: str, panels: Sequence[SeriesPanel], edges: Numbers) -> list[Graph]:
    """Return a graph for each panel that has values, all on one axis."""
    (title, axis), drawn = QUANTITIES[name], list[Graph]()
    for panel in panels:
        layers = [
            layer
            for number, (words, values) in enumerate(panel.lines.items())
            for layer in _banded(values, edges, number, words)
        ]
        if name == "rate" and panel.link and layers:
            layers.append(level(panel.link, "link"))
        heading = f"{title}, {panel.title}" if panel.title else title
        key = f"series_{name}_{panel.key}"
        drawn += [Graph(key, heading, "", TIME, axis, tuple(layers))] if layers else []
    layers = [layer for each in drawn for layer in each.layers]
    tops = [layer.y if layer.top is None else layer.top for layer in layers]
    top = max((float(each.max()) for each in tops), default=1.0)
    return [replace(each, y=replace(each.y, range=(0.0, 1.15 * top or 1.0))) for each in drawn]


def _values(line: DrawnLine, name: str, edges: Numbers) -> Numbers:
    """Return a row of values for each repetition; NaN where a flow has none."""
    rows = [
        binned(name, [flow.course for flow in flows], begin, edges)
        for trial, flows in line.repetitions
        if (begin := _begin(trial)) is not None and flows
    ]
    return np.array(rows)


def _banded(values: Numbers, edges: Numbers, number: int, words: str) -> Iterator[Layer]:
    """Yield the band and the median; a time is drawn if half of the seeds have a value."""
    if not len(values):
        return
    known = (~np.isnan(values)).sum(axis=0) * 2 >= len(values)
    if not known.any():
        return
    x = ((edges[1:] + edges[:-1]) / 2 * _SECOND)[known]
    there = values[:, known]
    if len(values) > 1:
        low, top = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
        yield Layer(_AREA, "band", x, low, top, words=words, series=number)
    yield Layer(_LINE, "line", x, np.nanmedian(there, axis=0), words=words, series=number)


def shares(results: RunResults) -> GraphGroup | None:
    """Return each flow's share of all rates over time, stacked; None for a single flow."""
    panels, seeds = Panels(results), results.repeated
    if len(results.run.flows) < 2 or not panels.sampled:
        return None
    drawn = tuple(
        Graph(f"stacked_{at}", title, "", TIME, SHARE, tuple(_stacked(lines, panels.edges)))
        for at, (title, lines) in enumerate(panels.every)
    )
    words = f"Means over {seeds} seeds" if seeds > 1 else "One seed"
    words += " of the acknowledged bytes of each flow, as a share of those of all."
    return GraphGroup("stacked", "How flows share the link over time", words, drawn)


def _stacked(of_panel: Sequence[DrawnLine], edges: Numbers) -> Iterator[Layer]:
    rates = [(line.words, _values(line, "rate", edges)) for line in of_panel]
    means = [(words, mean(each, 0)) for words, each in rates if len(each)]
    total = sum((mean for _, mean in means), np.zeros(len(edges) - 1))
    known = total > 0
    x, below = ((edges[1:] + edges[:-1]) / 2 * _SECOND)[known], np.zeros(int(known.sum()))
    for number, (words, rate) in enumerate(means):
        above = below + rate[known] / total[known]
        yield Layer(_STACK, "band", x, below, above, words=words, series=number)
        below = above


RESPONSE = Axis("response time", "ms", zero=True)
FEWEST_OVER_TIME = 20  # exchanges of an application that are a course over time
FEWEST_OF_A_BOX = 3  # values that have quartiles


def delays(results: RunResults) -> GraphGroup | None:
    """Return the distribution of the samples of queueing delay; None without samples."""
    panels, seeds = Panels(results), results.repeated
    drawn = tuple(
        graph
        for at, (title, lines) in enumerate(panels.every)
        for graph in curves(f"delays_{at}", title, DELAY, {x.words: _delays(x) for x in lines})
    )
    words = caption("delays", seeds=counted(seeds, "seed"))
    return GraphGroup("delays", "Distribution of queueing delay", words, drawn) if drawn else None


def _delays(line: DrawnLine) -> Numbers:
    pooled = [flow.course.delays for _, flows in line.repetitions for flow in flows]
    return np.concatenate([np.zeros(0), *(np.asarray(each) for each in pooled)])


def answered(results: RunResults) -> GraphGroup | None:
    """Return how long each exchange took at its time, of the first seed; None if they are few."""
    drawn = []
    for trial in results.first:
        layers = tuple(each for each in _answered(trial) if len(each) >= FEWEST_OVER_TIME)
        key, title = f"answered_{trial.trial.condition.name}", "Round trip of each probe"
        drawn += [Graph(key, title, "", TIME, RESPONSE, layers)] if layers else []
    return GraphGroup("answered", "Exchanges over time", "", tuple(drawn)) if drawn else None


def _answered(trial: Measured) -> Iterator[Layer]:
    begin = _begin(trial) or 0.0
    flows = {flow.flow.name: flow for flow in trial.flows if flow.taken}
    for number, (words, chosen) in enumerate(lines_of([*flows]).items()):
        begun = np.concatenate([np.asarray(flows[name].begun) for name in chosen]) - begin
        taken = np.concatenate([np.asarray(flows[name].taken) for name in chosen])
        rows = np.argsort(begun, kind="stable")
        rows = rows[np.isfinite(begun[rows])]
        yield Layer(_PROBE, "dots", begun[rows] * _SECOND, taken[rows], words=words, series=number)


def boxes(results: RunResults, metric: Metric | None = None) -> GraphGroup | None:
    """Return a box for each condition, or of each flow's goodput; None without three values."""
    if metric is not None:
        found = [(c.label, results.values(metric, c)) for c in results.run.conditions]
        axis, title = axis_for(called(metric).removeprefix("the "), metric.unit), metric.title
        panels = [("", found)]
    else:
        panels = [
            (heading, [(line.words, _goodput(line)) for line in lines])
            for heading, lines in Panels(results).every
        ]
        axis, title = replace(RATE, label="goodput"), "Goodput"
    samples = [values for _, boxed in panels for _, values in boxed]
    if not any(len(values) >= FEWEST_OF_A_BOX for values in samples):
        return None
    axis = box_axis(axis, list(chain(*samples)))
    drawn = []
    for number, (heading, boxed) in enumerate(panels):
        layers = [
            layer
            for at, (name, values) in enumerate(boxed)
            for layer in box(np.array(values, dtype=float), float(at), at, name)
        ]
        names = named("", [name for name, _ in boxed])
        drawn.append(Graph(f"boxes_{number}", heading, "", names, axis, tuple(layers)))
    return GraphGroup("boxes", f"{title} over the seeds", caption("boxes"), tuple(drawn))


def box_axis(axis: Axis, values: Sequence[float]) -> Axis:
    """Return the axis with room for all values; one far from zero leaves zero out."""
    known = [value for value in values if np.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low * 2 < high or low == high == 0:
        return holding(axis, values)
    room = 0.08 * (high - low) or abs(high) / 10 or 1.0
    return replace(axis, zero=False, range=(low - room, high + room))


def axis_for(label: str, unit: str) -> Axis:
    """Return the axis of a metric; a rate has the prefix that fits."""
    return replace(RATE, label=label) if unit == "kbit/s" else Axis(label, unit, zero=True)


def _goodput(line: DrawnLine) -> list[float]:
    rates = (
        [flow.goodput for flow in flows if flow.goodput is not None]
        for _, flows in line.repetitions
    )
    return [sum(each) for each in rates if each]
