"""Tables and graphs of every flow of a run: rates, delays, and response times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from analysis.fmt import NOTHING, spread, written
from analysis.graphs import layers as plots
from analysis.measures.metrics import metric
from analysis.measures.results import FlowMeasures, Measured, RunResults
from analysis.measures.selection import main_group
from analysis.reporting.tables import Listing
from topologies.notation import toml_file


def rates_of_flows(results: RunResults) -> Listing | None:
    """Return the rates of each condition's flows of one transport; None for one flow."""
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


def sharing(trials: Sequence[Measured]) -> plots.GraphGroup | None:
    """Return a bar for each flow of these trials; None for a single flow."""
    if not trials or len(trials[0].flows) < 2:
        return None
    groups = [(one.trial.condition.label, _fastest_first(one)) for one in trials]
    starts = np.cumsum([1, *(len(flows) + 1 for _, flows in groups)]).tolist()
    placed = [(at, label, flows) for at, (label, flows) in zip(starts, groups, strict=False)]
    layers = [layer for kind in ("tcp", "udp") if len(layer := _bars(placed, kind))]
    begins = np.array([at - 0.5 for at, _, flows in placed if flows])
    ends = np.array([at + len(flows) - 0.5 for at, _, flows in placed if flows])
    means = np.array([fmean(rate for *_, rate in flows) for *_, flows in placed if flows])
    words, look = (
        "what each would have if all were alike",
        replace(plots.MIDDLE, width=2, dash=True),
    )
    layers.append(plots.Layer(look, "bars", begins, means, means, ends, words=words))
    ticks = tuple((float(at + (len(flows) - 1) / 2), label) for at, label, flows in placed)
    drawn = plots.Graph(
        f"shares_{trials[0].trial.condition.name}",
        "How the flows share the link",
        f"Seed {trials[0].trial.seed}. Every bar is one flow, the fastest first; point at it for"
        " its name.",
        plots.Axis("", "", ticks=ticks, range=(0.0, float(starts[-1]) - 1)),
        replace(plots.RATE, label="rate at the receiver"),
        tuple(layers),
    )
    return plots.alone(drawn)


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


def _bars(groups: Sequence[tuple[int, str, Shared]], protocol: str) -> plots.Layer:
    bars = [
        (start + at, rate, f"{label}, {name}")
        for start, label, flows in groups
        for at, (name, kind, rate) in enumerate(flows)
        if kind == protocol
    ]
    places, rates = np.array([bar[:2] for bar in bars], dtype=float).reshape(-1, 2).T
    look = plots.SeriesLook(
        f"{protocol.upper()} flow", plots.ORANGE if protocol == "udp" else plots.BLUE
    )
    columns = places - 0.4, np.zeros(len(bars)), rates, places + 0.4
    return plots.Layer(look, "boxes", *columns, notes=tuple(name for *_, name in bars))


_TABLES = toml_file(Path(__file__).with_name("flows.toml"))
_OF_PORT = ("p50", "p95", "p99")
_MOST = 30  # rows; a run of hundreds of flows has more in its sweep's rows.csv


def waiting(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of delays; none for a run without captures at both ends."""
    return _listing(results, _TABLES["waiting"], with_ports=True)


def responding(results: RunResults) -> tuple[Listing, ...]:
    """Return the table of response times; none for a run without applications."""
    return _listing(results, _TABLES["responding"], with_ports=False)


def _listing(
    results: RunResults, table: Mapping[str, Any], with_ports: bool
) -> tuple[Listing, ...]:
    columns, rows = table["columns"], list[tuple[str, ...]]()
    for condition in results.run.conditions:
        trials = [trial for trial in results.measured if trial.trial.condition == condition]
        label = f"{condition.label}, " if len(results.run.conditions) > 1 else ""
        for port in trials[0].queues if trials and with_ports else ():
            found = [trial.queues[port] for trial in trials if port in trial.queues]
            cells = [spread([values[name] for values in found]) for name in _OF_PORT]
            rows.append((f"{label}{port}", *cells, *[NOTHING] * (len(columns) - len(cells))))
        for number, flow in enumerate(trials[0].flows if trials else ()):
            flows = [trial.flows[number] for trial in trials]
            cells = [_cell(flows, name) for name in columns.values()]
            rows.append((f"{label}{flow.flow.name}", *cells))
    known = [row for row in rows if set(row[1:]) != {NOTHING}]
    if not known:
        return ()
    more = (f"{len(known) - _MOST} more rows are left out.",) if len(known) > _MOST else ()
    head, notes = (table["of"], *columns), (*table["notes"], *more)
    return (Listing(table["title"], head, tuple(known[:_MOST]), notes),)


def _cell(flows: Sequence[FlowMeasures], name: str) -> str:
    """Return a quantity of a flow over the seeds; a time among the unended is at least so long."""
    share = name.removeprefix("exchange_").removesuffix("_ms")
    known = [(value, flow) for flow in flows if (value := flow.number(name)) is not None]
    values = [value for value, _ in known]
    bounds = [min(value, flow.at_least.get(share, inf)) for value, flow in known]
    if not values or isfinite(median(values)) or not isfinite(median(bounds)):
        return spread(values)
    return f"at least {written(median(bounds))}"
