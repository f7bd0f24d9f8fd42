"""Tables and graphs of every flow of a run: rates, delays, and response times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from statistics import fmean, median

import numpy as np

from analysis.fmt import NOTHING, spread, written
from analysis.graphs.capture import Numbers
from analysis.graphs.layers import (
    BLUE,
    MIDDLE,
    ORANGE,
    RATE,
    TIME,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    alone,
    level,
)
from analysis.measures.metrics import metric
from analysis.measures.results import FlowMeasures, Measured, RunResults
from analysis.measures.selection import main_group
from analysis.reporting.run_graphs import SEGMENTS
from analysis.reporting.tables import Listing


def rates_of_flows(results: RunResults) -> Listing | None:
    """Return a row for each condition: rate together, Jain's index, rates, the fastest first.

    The flows are those of one transport and direction, TCP's first. None for a single flow.
    """
    if len(results.run.flows) < 2:
        return None
    head = ("Condition", "Flows", "Together", "Jain's index", "Slowest", "Fastest", "Every flow")
    rows = tuple(_row(results, trial) for trial in results.first)
    notes = ["Mbit/s at the receivers, from the last lines of all flows' .server.txt."]
    if len(results.run.seeds) > 1:
        notes.append(
            f"Medians over the repetitions; every flow of seed {results.first[0].trial.seed}."
        )
    transports = {flow.protocol for flow in results.run.flows}
    title = "The rate of every TCP flow" if len(transports) > 1 else "The rate of every flow"
    return Listing(title, head, rows, tuple(notes))


def _row(results: RunResults, trial: Measured) -> tuple[str, ...]:
    condition = trial.trial.condition
    cells = [
        spread([scale * value for value in results.values(metric(f"flows.{name}"), condition)])
        for name, scale in (("total", 1e-3), ("jain", 1.0), ("least", 1e-3), ("most", 1e-3))
    ]
    main = main_group(str(flow.row["group"]) for flow in trial.flows)
    meant = [flow for flow in trial.flows if flow.row["group"] == main]
    rates = sorted(
        (flow.goodput / 1000 for flow in meant if flow.goodput is not None), reverse=True
    )
    return (condition.label, str(len(meant)), *cells, "  ".join(map(written, rates)))


def sharing(trials: Sequence[Measured]) -> GraphGroup | None:
    """Return a bar for each flow of these trials; None for a single flow."""
    if not trials or len(trials[0].flows) < 2:
        return None
    groups = [(one.trial.condition.label, _fastest_first(one)) for one in trials]
    starts = np.cumsum([1, *(len(flows) + 1 for _, flows in groups)])
    layers = [layer for kind in ("tcp", "udp") if len(layer := _bars(groups, starts, kind))]
    means = [(at, flows) for at, (_, flows) in zip(starts, groups, strict=False) if flows]
    alike = Layer(
        replace(MIDDLE, width=2, dash=True),
        "bars",
        np.array([at - 0.5 for at, _ in means]),
        (heights := np.array([fmean(rate for *_, rate in flows) for _, flows in means])),
        heights,
        np.array([at + len(flows) - 0.5 for at, flows in means]),
        words="what each would have if all were alike",
    )
    ticks = tuple(
        (float(at + (len(flows) - 1) / 2), label)
        for at, (label, flows) in zip(starts, groups, strict=False)
    )
    drawn = Graph(
        f"shares_{trials[0].trial.condition.name}",
        "How the flows share the link",
        f"Seed {trials[0].trial.seed}. Every bar is one flow, the fastest first; point at it for"
        " its name.",
        Axis("", "", ticks=ticks, range=(0.0, float(starts[-1]) - 1)),
        replace(RATE, label="rate at the receiver"),
        (*layers, alike),
    )
    return alone(drawn)


Shared = list[tuple[str, str, float]]
"""Of each flow of a condition its name, protocol and rate in kbit/s."""


def _fastest_first(measured: Measured) -> Shared:
    """UDP before TCP."""
    flows = [
        (flow.flow.name, flow.flow.protocol, flow.goodput)
        for flow in measured.flows
        if flow.goodput is not None
    ]
    return sorted(flows, key=lambda flow: (flow[1] != "udp", -flow[2]))


def _bars(groups: Sequence[tuple[str, Shared]], starts: Numbers, protocol: str) -> Layer:
    bars = [
        (start + at, f"{label}, {name}", rate)
        for start, (label, flows) in zip(starts, groups, strict=False)
        for at, (name, kind, rate) in enumerate(flows)
        if kind == protocol
    ]
    places = np.array([place for place, *_ in bars], dtype=float)
    colour = ORANGE if protocol == "udp" else BLUE
    return Layer(
        SeriesLook(f"{protocol.upper()} flow", colour),
        "boxes",
        places - 0.4,
        np.zeros(len(bars)),
        np.array([rate for *_, rate in bars]),
        places + 0.4,
        notes=tuple(name for _, name, _ in bars),
    )


_SECOND = 1_000_000_000


def all_flows(trials: Sequence[Measured], link: float | None) -> list[GraphGroup]:
    """Return rates and windows, a graph for each condition; `link` is the link's rate in kbit/s."""
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
    """Return the rate of the client in each of the first `seconds`, in kbit/s.

    A longer last interval counts for all its seconds.
    """
    rates = np.zeros(seconds)
    for line in flow.intervals:
        rates[round(line.start) : max(round(line.end), round(line.start) + 1)] = line.rate
    return rates


def _rates(trial: Measured, link: float | None) -> Graph:
    """Draw bands above each other, of steps of a second."""
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
    return Graph(key, label, "", TIME, SEGMENTS, tuple(layers))


def _window(flow: FlowMeasures, number: int) -> Layer:
    times = [round(1e9 * (sample.time - flow.samples[0].time)) for sample in flow.samples]
    windows = [sample.cwnd for sample in flow.samples]
    return Layer(
        "cwnd", "stairs", np.array(times), np.array(windows), words=flow.flow.name, series=number
    )


_OF_FLOW = {
    "Queueing, median (ms)": "queueing_p50_ms",
    "95 %": "queueing_p95_ms",
    "99 %": "queueing_p99_ms",
    "One-way delay, median (ms)": "delay_p50_ms",
    "95 % ": "delay_p95_ms",
    "99 % ": "delay_p99_ms",
    "While all send, 95 % (ms)": "delay_under_load_p95_ms",
    "Complete after (s)": "completion_s",
}
_OF_EXCHANGES = {
    "Planned": "exchanges_planned",
    "Begun": "exchanges_begun",
    "Ended": "exchanges",
    "Failed": "exchanges_failed",
    "Time, median (ms)": "exchange_p50_ms",
    "95 %": "exchange_p95_ms",
    "99 %": "exchange_p99_ms",
    "Late (%)": "late_percent",
}
_OF_PORT = ("p50", "p95", "p99")
_MOST = 30
"""Rows; a run of hundreds of flows has more in its sweep's rows.csv."""
_NOTES = (
    "Each packet's queueing delay is its one-way delay less that of a lone packet; a delay that"
    " varies adds to it. A row of a port has the packets of all flows that cross it.",
    "A flow is complete from its first SYN to the last ACK, both in the sender's capture.",
)
_EXCHANGE = (
    "An exchange is a request and its answer, an object of a page, a probe, or a call's datagram."
    " One that did not end counts as the longest; users ask as often as time allows.",
)


def waiting(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of delays; none for a run without captures at both ends."""
    rows = [
        row
        for label, trials in _conditions(results)
        for row in (*_of_ports(label, trials), *_of_flows(label, trials, _OF_FLOW))
    ]
    return _listing("How long packets waited", ("Port or flow", *_OF_FLOW), rows, _NOTES)


def responding(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of response times; none for a run without applications."""
    rows = [
        row
        for label, trials in _conditions(results)
        for row in _of_flows(label, trials, _OF_EXCHANGES)
    ]
    return _listing("How long exchanges took", ("Flow", *_OF_EXCHANGES), rows, _EXCHANGE)


def _conditions(results: RunResults) -> Iterator[tuple[str, list[Measured]]]:
    """Yield the trials of each condition, and how their rows begin."""
    several = len(results.run.conditions) > 1
    for condition in results.run.conditions:
        trials = [trial for trial in results.measured if trial.trial.condition == condition]
        if trials:
            yield (f"{condition.label}, " if several else ""), trials


def _listing(
    title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], notes: tuple[str, ...]
) -> tuple[Listing, ...]:
    known = [row for row in rows if set(row[1:]) != {NOTHING}]
    if not known:
        return ()
    more = (f"{len(known) - _MOST} more rows are left out.",) if len(known) > _MOST else ()
    return (Listing(title, head, tuple(known[:_MOST]), (*notes, *more)),)


def _of_ports(label: str, trials: Sequence[Measured]) -> Iterator[tuple[str, ...]]:
    for port in trials[0].queues:
        found = [trial.queues[port] for trial in trials if port in trial.queues]
        cells = (spread([values[name] for values in found]) for name in _OF_PORT)
        yield (f"{label}{port}", *cells, *[NOTHING] * (len(_OF_FLOW) - len(_OF_PORT)))


def _of_flows(
    label: str, trials: Sequence[Measured], columns: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    for number, flow in enumerate(trials[0].flows):
        flows = [trial.flows[number] for trial in trials]
        yield (f"{label}{flow.flow.name}", *(_cell(flows, name) for name in columns.values()))


def _cell(flows: Sequence[FlowMeasures], name: str) -> str:
    """Return a quantity of a flow over the seeds; a time among the unended is at least so long."""
    share = name.removeprefix("exchange_").removesuffix("_ms")
    known = [
        (value, flow.at_least.get(share, inf))
        for flow in flows
        if (value := flow.number(name)) is not None
    ]
    values, bounds = [value for value, _ in known], [min(both) for both in known]
    if not values or isfinite(median(values)) or not isfinite(median(bounds)):
        return spread(values)
    return f"at least {written(median(bounds))}"
