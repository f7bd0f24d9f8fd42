"""Rates and congestion windows of all flows over time, as graphs of each condition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.layers import TIME, Axis, Graph, GraphGroup, Layer
from analysis.graphs.plain_layers import RATE, level
from analysis.measures.results import FlowMeasures, Measured
from analysis.reporting.run_graphs import SEGMENTS

_SECOND = 1_000_000_000


def all_flows(trials: Sequence[Measured], link: float | None) -> list[GraphGroup]:
    """Two groups, a graph for each condition in both; `link` is the link's rate in kbit/s."""
    shown = [trial for trial in trials if any(flow.intervals for flow in trial.flows)]
    if not shown:
        return []
    name, seed = shown[0].trial.condition.name, shown[0].trial.seed
    several = " Each flow is a band, and their upper edge is the sum." * (len(shown[0].flows) > 1)
    rates = GraphGroup(
        f"rates_{name}",
        "Rate of all flows over time",
        f"Seed {seed}. What iperf's clients wrote in each second; at first it waits in their own"
        f" buffers, so a second can stand above the link's rate.{several}",
        tuple(_rates(trial, link) for trial in shown),
    )
    sampled = [trial for trial in shown if any(flow.samples for flow in trial.flows)]
    windows = GraphGroup(
        f"windows_{name}",
        "Congestion windows over time",
        f"Seed {seed}. The congestion window of each flow, sampled like ss -ti.",
        tuple(map(_windows, sampled)),
    )
    return [rates, windows] if sampled else [rates]


def per_second(flow: FlowMeasures, seconds: int) -> Numbers:
    """What the client sent in each of the first `seconds`, in kbit/s.

    A longer last interval counts for all its seconds.
    """
    rates = np.zeros(seconds)
    for line in flow.intervals:
        rates[round(line.start) : max(round(line.end), round(line.start) + 1)] = line.rate
    return rates


def _rates(trial: Measured, link: float | None) -> Graph:
    """Bands above each other, of steps of a second."""
    ends = [round(flow.intervals[-1].end) for flow in trial.flows if flow.intervals]
    seconds = max(ends, default=1)
    edges = np.repeat(np.arange(seconds + 1), 2)[1:-1] * _SECOND
    layers, below = list[Layer](), np.zeros(seconds)
    for number, flow in enumerate(trial.flows):
        above = below + per_second(flow, seconds)
        low, high = (np.repeat(values, 2) for values in (below, above))
        layers.append(Layer("data", "band", edges, low, high, words="a flow", series=number % 2))
        below = above
    total = Layer("goodput", "line", edges, np.repeat(below, 2), words="all flows")
    marks = [level(link, "the link's rate")] if link else []
    label, key = trial.trial.condition.label, f"rates_of_{trial.trial.condition.name}"
    return Graph(key, label, "", TIME, RATE, (*layers, total, *marks))


def _windows(trial: Measured) -> Graph:
    layers = [_window(flow, number) for number, flow in enumerate(trial.flows) if flow.samples]
    label, key = trial.trial.condition.label, f"windows_of_{trial.trial.condition.name}"
    axis: Axis = SEGMENTS
    return Graph(key, label, "", TIME, axis, tuple(layers))


def _window(flow: FlowMeasures, number: int) -> Layer:
    times = [round(1e9 * (sample.time - flow.samples[0].time)) for sample in flow.samples]
    windows = [sample.cwnd for sample in flow.samples]
    return Layer(
        "cwnd", "stairs", np.array(times), np.array(windows), words=flow.flow.name, series=number
    )
