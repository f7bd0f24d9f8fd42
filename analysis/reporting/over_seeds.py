"""Graphs of all repetitions of a run over time: series with bands, and stacked shares."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.distributions import SHARE
from analysis.graphs.layers import (
    DOT,
    RATE,
    TIME,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    level,
)
from analysis.measures.results import FlowMeasures, Measured, RunResults

BINS = 80
"""Equal times of a series."""
MOST_LINES = 6
"""Flows beyond which those of one kind are a line together."""
_SECOND = 1e9
_AREA = SeriesLook("", DOT.colour, faint=True)
_LINE = SeriesLook("", DOT.colour, width=2)
_STACK = SeriesLook("", DOT.colour)
DELAY = Axis("queueing delay", "ms", zero=True)
WINDOW = Axis("window", "segments", zero=True)


@dataclass(frozen=True)
class DrawnLine:
    """Flows that are one line of a panel: of each repetition the trial and its flows."""

    words: str
    repetitions: tuple[tuple[Measured, tuple[FlowMeasures, ...]], ...]


@dataclass(frozen=True)
class Panels:
    """The lines of each panel: conditions of a single flow, or the flows of each condition.

    Conditions of a single flow are `apart` in a panel each.
    """

    results: RunResults
    apart: bool = False

    @cached_property
    def every(self) -> list[tuple[str, list[DrawnLine]]]:
        """Title and lines of each panel."""
        conditions = [
            (condition.label, [t for t in self.results.measured if t.trial.condition == condition])
            for condition in self.results.run.conditions
        ]
        shown = [(label, trials) for label, trials in conditions if trials]
        every = {flow.name for flow in self.results.run.flows}
        if len(self.results.run.flows) == 1:
            lines = [_line(label, trials, every) for label, trials in shown]
            return [(each.words, [each]) for each in lines] if self.apart else [("", lines)]
        if len(shown) == 1:
            return [("", self._of_flows(shown[0][1]))]
        return [(label, self._of_flows(trials)) for label, trials in shown]

    def _of_flows(self, trials: Sequence[Measured]) -> list[DrawnLine]:
        names = [flow.name for flow in self.results.run.flows]
        if len(names) <= MOST_LINES:
            return [_line(name, trials, {name}) for name in names]
        of_kinds = kinds(names)
        return [_line(words, trials, chosen) for words, chosen in of_kinds.items()]

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


def kinds(names: Sequence[str]) -> dict[str, set[str]]:
    """Return the flows of each kind, which is a name without its number, such as "8 cubic"."""
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(name.rstrip("0123456789").rstrip("_-") or name, set()).add(name)
    return {f"{len(of)} {kind}": of for kind, of in found.items()}


def _line(words: str, trials: Sequence[Measured], chosen: set[str]) -> DrawnLine:
    flows = ((t, tuple(f for f in t.flows if f.flow.name in chosen)) for t in trials)
    return DrawnLine(words, tuple(flows))


def _begin(trial: Measured) -> float | None:
    return min((flow.course.times[0] for flow in trial.flows if len(flow.course)), default=None)


OfFlow = Callable[[FlowMeasures, float, Numbers], Numbers]
"""Returns a quantity of a flow in each of the times between edges, whose zero is given."""


def _rate(flow: FlowMeasures, begin: float, edges: Numbers) -> Numbers:
    """Return newly delivered bytes, in kbit/s: an ACK that fills a gap delivers one segment."""
    course = flow.course
    if not len(course):
        return np.full(len(edges) - 1, np.nan)
    grown = np.diff(
        np.interp(edges, np.asarray(course.times) - begin, np.asarray(course.delivered))
    )
    rates: Numbers = grown * 8 / 1000 / np.diff(edges)
    return rates


def _held(name: str) -> OfFlow:
    """Return the last sample before the middle of each time, none outside the flow's life."""

    def of(flow: FlowMeasures, begin: float, edges: Numbers) -> Numbers:
        times, values = np.asarray(flow.course.times) - begin, getattr(flow.course, name)
        middles = (edges[1:] + edges[:-1]) / 2
        at = np.searchsorted(times, middles, side="right") - 1
        if not len(times):
            return np.full(len(middles), np.nan)
        outside = (at < 0) | (middles > times[-1])
        return np.where(outside, np.nan, np.asarray(values)[np.maximum(at, 0)])

    return of


@dataclass(frozen=True)
class SeriesQuantity:
    """A quantity over time, `of` a flow. Flows that share a line add up if it is a `sum`."""

    title: str
    axis: Axis
    of: OfFlow
    is_sum: bool = False


QUANTITIES = {
    "rate": SeriesQuantity("Rate", RATE, _rate, is_sum=True),
    "delay": SeriesQuantity("Queueing delay", DELAY, _held("delays")),
    "window": SeriesQuantity("Window", WINDOW, _held("windows")),
}
SERIES_CAPTION = (
    " Rate: bytes that the sender learns to have arrived; without SACK, an ACK that fills a gap can"
    " report several segments at once. Queueing delay: the socket's smoothed round trip less the"
    " flow's least. Window: the congestion window."
)


def series(
    results: RunResults, quantities: Sequence[str] = tuple(QUANTITIES), apart: bool = False
) -> GraphGroup | None:
    """Return quantities over time, with a band over the seeds; None without samples.

    Conditions of a single flow are `apart` in a panel each.
    """
    panels, seeds = Panels(results, apart), len({t.trial.seed for t in results.measured})
    if not panels.sampled:
        return None
    drawn = tuple(
        _series(panels, quantity, at)
        for quantity in map(QUANTITIES.__getitem__, quantities)
        for at in range(len(panels.every))
    )
    caption = f"Lines: median of {seeds} seeds; bands: all of them." if seeds > 1 else "One seed."
    kept = tuple(graph for graph in drawn if graph.layers)
    shared = {graph.y.label: 0.0 for graph in kept}
    for graph in kept:
        shared[graph.y.label] = max(shared[graph.y.label], _top(graph))
    aligned = tuple(
        replace(graph, y=replace(graph.y, range=(0.0, 1.15 * shared[graph.y.label] or 1.0)))
        for graph in kept
    )
    title = "Course over all seeds" if seeds > 1 else "Course"
    return GraphGroup("series", title, caption + SERIES_CAPTION, aligned) if kept else None


def _top(graph: Graph) -> float:
    return max(float((layer.y if layer.top is None else layer.top).max()) for layer in graph.layers)


def _series(panels: Panels, quantity: SeriesQuantity, at: int) -> Graph:
    title, lines = panels.every[at]
    layers = [
        layer
        for number, line in enumerate(lines)
        for layer in _banded(_values(line, quantity, panels.edges), panels.edges, number, line)
    ]
    link = panels.results.link_rate
    if quantity.is_sum and link and layers:
        layers.append(level(link, "link"))
    key = f"series_{quantity.title.split()[-1].lower()}_{at}"
    heading = f"{quantity.title}, {title}" if title else quantity.title
    return Graph(key, heading, "", TIME, quantity.axis, tuple(layers))


def _values(line: DrawnLine, quantity: SeriesQuantity, edges: Numbers) -> Numbers:
    """Return a row of values for each repetition; NaN where a flow has none."""
    together = np.nansum if quantity.is_sum else _mean
    rows = []
    for trial, flows in line.repetitions:
        begin = _begin(trial)
        if begin is None or not flows:
            continue
        of_flows = np.array([quantity.of(flow, begin, edges) for flow in flows])
        none = np.isnan(of_flows).all(axis=0)
        rows.append(np.where(none, np.nan, together(of_flows, axis=0)))
    return np.array(rows)


def _mean(values: Numbers, axis: int) -> Numbers:
    """Return the mean of the values that are there, 0 of none."""
    counts = np.maximum((~np.isnan(values)).sum(axis=axis), 1)
    means: Numbers = np.nansum(values, axis=axis) / counts
    return means


def _banded(values: Numbers, edges: Numbers, number: int, line: DrawnLine) -> Iterator[Layer]:
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
        yield Layer(_AREA, "band", x, low, top, words=line.words, series=number)
    yield Layer(_LINE, "line", x, np.nanmedian(there, axis=0), words=line.words, series=number)


def shares(results: RunResults) -> GraphGroup | None:
    """Return each flow's share of all rates over time, stacked; None for a single flow."""
    panels, seeds = Panels(results), len({t.trial.seed for t in results.measured})
    if len(results.run.flows) < 2 or not panels.sampled:
        return None
    drawn = tuple(
        Graph(
            f"stacked_{at}",
            title,
            "",
            TIME,
            SHARE,
            tuple(_stacked(lines, panels.edges)),
        )
        for at, (title, lines) in enumerate(panels.every)
    )
    words = f"Means over {seeds} seeds" if seeds > 1 else "One seed"
    caption = f"{words} of the acknowledged bytes of each flow, as a share of those of all."
    return GraphGroup("stacked", "How flows share the link over time", caption, drawn)


def _stacked(lines: Sequence[DrawnLine], edges: Numbers) -> Iterator[Layer]:
    rates = [(line.words, _values(line, QUANTITIES["rate"], edges)) for line in lines]
    means = [(words, _mean(each, 0)) for words, each in rates if len(each)]
    total = sum((mean for _, mean in means), np.zeros(len(edges) - 1))
    known = total > 0
    x, below = ((edges[1:] + edges[:-1]) / 2 * _SECOND)[known], np.zeros(int(known.sum()))
    for number, (words, mean) in enumerate(means):
        above = below + mean[known] / total[known]
        yield Layer(_STACK, "band", x, below, above, words=words, series=number)
        below = above
