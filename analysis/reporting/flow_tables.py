"""The rates of every flow as a table and as bars, for studies with several flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from analysis.graphs.capture import Numbers
from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, alone
from analysis.graphs.looks import SeriesLook
from analysis.graphs.plain_layers import MIDDLE, RATE
from analysis.measures.metrics import metric
from analysis.measures.results import Measured, RunResults, spread, written
from analysis.rendering.colours import BLUE, ORANGE
from analysis.reporting.tables import Listing


def rates_of_flows(results: RunResults, group: str = "flows") -> Listing | None:
    """A row for each condition: the sum, Jain's index, the rates of all flows, the fastest first.

    `group` is `flows` for all of them, `tcp` for those beside a UDP flow
    (analysis.measures.readings). None for a single flow.
    """
    if len(results.run.flows) < 2:
        return None
    head = ("Condition", "Flows", "Sum", "Jain's index", "Slowest", "Fastest", "Every flow")
    rows = tuple(_row(results, trial, group) for trial in results.first)
    notes = ["Mbit/s at the receivers, from the last lines of all flows' .server.txt."]
    if len(results.run.seeds) > 1:
        notes.append(
            f"Medians over the repetitions; every flow of seed {results.first[0].trial.seed}."
        )
    title = "The rate of every TCP flow" if group == "tcp" else "The rate of every flow"
    return Listing(title, head, rows, tuple(notes))


def _row(results: RunResults, trial: Measured, group: str) -> tuple[str, ...]:
    condition = trial.trial.condition
    cells = [
        spread([scale * value for value in results.values(metric(f"{group}.{name}"), condition)])
        for name, scale in (("total", 1e-3), ("jain", 1.0), ("least", 1e-3), ("most", 1e-3))
    ]
    meant = [flow for flow in trial.flows if group == "flows" or flow.flow.protocol == group]
    rates = sorted(
        (flow.goodput / 1000 for flow in meant if flow.goodput is not None), reverse=True
    )
    return (condition.label, str(len(meant)), *cells, "  ".join(map(written, rates)))


def sharing(trials: Sequence[Measured]) -> GraphGroup | None:
    """A bar for each flow of these trials; None for a single flow."""
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
        over_time=False,
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
