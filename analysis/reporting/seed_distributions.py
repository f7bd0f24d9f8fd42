"""Distributions over the repetitions of a run: curves of delays, and boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.distributions import SHARE, box, curve, half
from analysis.graphs.layers import RATE, Axis, Graph, GraphGroup, Layer, holding, named
from analysis.measures.metrics import Metric
from analysis.measures.results import RunResults
from analysis.reporting.over_seeds import DELAY, DrawnLine, Panels
from analysis.statistics.wording import called, numbered, with_unit

RESPONSE = Axis("response time", "ms", zero=True)
FEWEST_OF_A_BOX = 3
"""Values that have quartiles."""


def delays(results: RunResults) -> GraphGroup | None:
    """Return the distribution of the samples of queueing delay; None without samples."""
    panels, seeds = Panels(results), len({t.trial.seed for t in results.measured})
    drawn = tuple(
        Graph(f"delays_{at}", title, "", DELAY, SHARE, (*layers, half()))
        for at, (title, lines) in enumerate(panels.every)
        if (layers := [layer for n, line in enumerate(lines) for layer in _delays(line, n)])
    )
    caption = (
        "The share of samples with at most this delay: the socket's smoothed round trip less the"
        f" flow's least, of {numbered(seeds, 'seed')}. The mark is the median."
    )
    return GraphGroup("delays", "Distribution of queueing delay", caption, drawn) if drawn else None


def _delays(line: DrawnLine, number: int) -> list[Layer]:
    pooled = [flow.course.delays for _, flows in line.repetitions for flow in flows]
    values = np.sort(np.concatenate([np.asarray(each) for each in pooled] or [np.zeros(0)]))
    return curve(line.words, values, number) if len(values) else []


def responses(results: RunResults) -> GraphGroup | None:
    """Return the distribution of each application's exchanges; None for a run without any."""
    names = {flow.flow.name for trial in results.measured for flow in trial.flows if flow.taken}
    drawn = tuple(
        Graph(f"responses_{name}", name if len(names) > 1 else "", "", RESPONSE, SHARE, layers)
        for name in sorted(names)
        if (layers := (*_responses(results, name), half()))
    )
    caption = "The share of exchanges that took at most this time. The mark is the median."
    title = "Distribution of response times"
    return GraphGroup("responses", title, caption, drawn) if drawn else None


def _responses(results: RunResults, name: str) -> Iterator[Layer]:
    """Yield the curve of a flow under each condition, of all seeds."""
    for number, condition in enumerate(results.run.conditions):
        pooled = [
            flow.taken
            for trial in results.measured
            if trial.trial.condition == condition
            for flow in trial.flows
            if flow.flow.name == name and flow.taken
        ]
        if pooled:
            yield from curve(condition.label, np.sort(np.concatenate(pooled)), number)


def boxes(results: RunResults, metric: Metric | None = None) -> GraphGroup | None:
    """Return a box over the seeds for each condition, or of each flow's goodput without a metric.

    None with fewer than three values everywhere.
    """
    if metric is not None:
        found = [(c.label, results.values(metric, c)) for c in results.run.conditions]
        panels, axis = [("", found)], _axis(metric)
        title = metric.title
    else:
        panels = [
            (heading, [(line.words, _goodput(line)) for line in lines])
            for heading, lines in Panels(results).every
        ]
        axis, title = replace(RATE, label="goodput"), "Goodput"
    every = [value for _, boxed in panels for _, values in boxed for value in values]
    if not any(len(values) >= FEWEST_OF_A_BOX for _, boxed in panels for _, values in boxed):
        return None
    drawn = tuple(
        boxed_graph(f"boxes_{at}", heading, found, box_axis(axis, every))
        for at, (heading, found) in enumerate(panels)
    )
    return GraphGroup("boxes", f"{title} over the seeds", BOX_CAPTION, drawn)


def box_axis(axis: Axis, values: Sequence[float]) -> Axis:
    """Return the axis with room for all values; one far from zero leaves zero out."""
    low, high = min(values), max(values)
    if low * 2 < high:
        return holding(axis, values)
    room = 0.08 * (high - low) or abs(high) / 10 or 1.0
    return replace(axis, zero=False, range=(low - room, high + room))


BOX_CAPTION = (
    "A box is the middle half of the runs, its stroke the median; whiskers end within 1.5 box"
    " heights; each dot is a run."
)


def _axis(metric: Metric) -> Axis:
    if metric.unit == "kbit/s":
        return replace(RATE, label=called(metric))
    return Axis(with_unit(metric.title, metric.unit), "", zero=True)


def _goodput(line: DrawnLine) -> list[float]:
    rates = (
        [flow.goodput for flow in flows if flow.goodput is not None]
        for _, flows in line.repetitions
    )
    return [sum(each) for each in rates if each]


def boxed_graph(
    key: str,
    title: str,
    found: Sequence[tuple[str, Sequence[float] | Numbers]],
    axis: Axis,
    below: str = "",
) -> Graph:
    """Return a graph of a box for each name with its values."""
    layers = [
        layer
        for at, (name, values) in enumerate(found)
        if len(values)
        for layer in box(np.array(values, dtype=float), float(at), at, name)
    ]
    names = named(below, [name for name, _ in found])
    return Graph(key, title, "", names, axis, tuple(layers))
