"""Values of the terms of expressions, from the files of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from analysis.measures.expressions import Term, Window
from analysis.measures.flow_readings import FlowReadings, Span
from analysis.measures.readings import TrialReadings
from analysis.measures.together import jain, rate

if TYPE_CHECKING:
    from analysis.measures.packets import PortTraffic


def term_value(readings: TrialReadings, term: Term) -> float | None:
    """Return the term's value under the trial's condition; None if it has none.

    A flow that should have a value and has none leaves the term without one: a flow that starved
    must not improve a mean.
    """
    if not term.metric.of_flows:
        value: float | None = term.metric.value(readings)
        return value
    span = _span(readings, term.window)
    if term.window and span is None:
        return None
    flows = _within(readings.chosen(term.flows, term.metric.transport), span)
    if term.metric.is_rate and term.statistic in ("", "jain"):
        return _of_rates(readings, term, flows, span)
    found = [term.metric.value(flow) for flow in flows]
    if term.metric.name == "queueing":
        found += [_waits(port, span) for port in _ports(readings, term.flows)]
    if not found or any(value is None for value in found):
        return None
    return _statistic(term.statistic or term.metric.together or "mean", found)


def _span(readings: TrialReadings, window: Window | None) -> Span | None:
    """Return the window since 1970; its end is at most that of the last flow."""
    if window is None or readings.begin is None:
        return None
    begin = readings.begin
    until = _end(readings, begin) if window.until is None else window.until
    return Span(begin + window.since, begin + until) if until > window.since else None


def _end(readings: TrialReadings, begin: float) -> float:
    """Return the end of the last flow, by its receiver or else by its last sample."""
    ends = [flow.end for flow in readings.by_flow if flow.server] or [
        flow.every_sample[-1].time - begin for flow in readings.by_flow if flow.every_sample
    ]
    return max(ends, default=0.0)


def _within(flows: Iterable[FlowReadings], span: Span | None) -> list[FlowReadings]:
    return [flow.within(span) if span else flow for flow in flows]


def _of_rates(
    readings: TrialReadings, term: Term, flows: Sequence[FlowReadings], span: Span | None
) -> float | None:
    """Return the flows' rate together or its fairness; None for several transports or ways."""
    if len({readings.groups[flow.flow.name] for flow in flows}) != 1:
        return None
    if term.statistic == "jain":
        rates = [flow.rates.get("goodput", 0.0) for flow in flows]
        return jain(rates) if any(rates) and all(flow.rates for flow in flows) else None
    named = {
        flow.flow.name: flow for globs in term.spanned for flow in readings.chosen(globs)
    }.values()
    return rate(flows, _within(named, span))


def _ports(readings: TrialReadings, globs: str) -> list[PortTraffic]:
    """Return the traffic of the ports that a selection names."""
    traffic = readings.traffic
    if traffic is None or not globs or not traffic.whole:
        return []
    wanted = globs.split(",")
    return [
        crossing
        for crossing in traffic.crossing
        if any(fnmatchcase(port.name, glob) for port in crossing.ports for glob in wanted)
    ]


def _waits(port: PortTraffic, span: Span | None) -> Any:
    some = port.within(round(1e9 * span.since), round(1e9 * span.until)) if span else port
    return some.wait.clip(0) / 1e6


def _statistic(name: str, found: Sequence[Any]) -> float | None:
    """Return a statistic of all values of all flows; None without any."""
    import numpy as np  # late: a run has no use for its libraries

    values = np.concatenate([np.atleast_1d(np.asarray(value, float)) for value in found])
    if not len(values):
        return None
    if name.startswith("p"):
        return float(np.percentile(values, float(name[1:])))
    if name == "jain":
        return jain(values.tolist())
    return float(getattr(np, name)(values))
