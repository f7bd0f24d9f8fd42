"""Readings of a trial's files: groups of values that metrics and terms take their values from.

A group is read when it is first asked for. A value that a group lacks could not be measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from analysis.measures import captures
from analysis.measures.captures import End
from analysis.measures.expressions import Term, Window
from analysis.measures.flow_readings import (
    FlowReadings,
    Span,
    Values,
    percentile,
    percentiles,
    read_samples,
)
from analysis.measures.links import PortTraffic
from analysis.measures.metrics import PAUSE, Row, columns
from analysis.measures.selection import chosen, groups_of, jain, of_transport, rate, shared
from analysis.measures.trial_network import TrialNetwork
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.trial_files import CountersFile
from analysis.table import ColumnTable
from topologies.spec import TopologySpec


class TrialReadings:
    """The values of a trial; without `problems` a broken file raises ValueError or OSError."""

    def __init__(self, run: RunRecord, trial: Trial, problems: Problems | None = None) -> None:
        self.run, self.trial = run, trial
        self.problems = problems if problems is not None else Problems()
        self.hosts_sending = sorted({flow.sender for flow in run.flows})
        samples = {host: read_samples(trial, host, problems) for host in self.hosts_sending}
        starts = trial.starts(run.flows, self.problems)
        self.by_flow = []
        for flow, start in zip(run.flows, starts, strict=True):
            own = samples[flow.sender].get(str(flow.port), ())
            self.by_flow.append(FlowReadings(trial, flow, own, problems, start, self.traffic))

    @cached_property
    def _network(self) -> TopologySpec | None:
        return self.run.spec.topology.network()

    @cached_property
    def groups(self) -> dict[str, str]:
        return groups_of(self.run.flows, self._network)

    @cached_property
    def traffic(self) -> TrialNetwork | None:
        """The packets at both ends; None without captures or a network."""
        network = self._network if self.run.captures else None
        return TrialNetwork(self.run, self.trial, network) if network and network.nodes else None

    @cached_property
    def queues(self) -> Mapping[str, Values]:
        """Percentiles of the waiting times at each port, or at several in a row, in ms."""
        traffic = self.traffic
        if traffic is None or not traffic.whole or not traffic.segmented:
            return {}
        return {
            " to ".join(port.name for port in crossing.ports): percentiles(
                crossing.wait.clip(0) / 1e6
            )
            for crossing in traffic.crossing
            if crossing.arrived.any()
        }

    @cached_property
    def begin(self) -> float | None:
        """The second since 1970 from which starts and windows count."""
        if self.traffic and self.traffic.begin is not None:
            return self.traffic.begin
        sampled = [flow for flow in self.by_flow if flow.every_sample]
        return min((flow.every_sample[0].time - flow.start for flow in sampled), default=None)

    @cached_property
    def rows(self) -> list[Row]:
        named = columns().items()
        of_run = {name: each.value(self) if each.of_run else None for name, each in named}
        condition = self.trial.condition.name
        return [
            {"condition": condition, "flow": flow.flow.name, "group": self.groups[flow.flow.name]}
            | {name: of_run[name] if each.of_run else each.value(flow) for name, each in named}
            for flow in self.by_flow
        ]

    @cached_property
    def senders(self) -> Values:
        """TCP's counters of all senders."""
        grown = [self._counters.growth(host) for host in self.hosts_sending]
        sent, again = _sum(grown, "TcpOutSegs"), _sum(grown, "TcpRetransSegs")
        # OutSegs leaves out segments with nothing but resent bytes (RFC 4022, tcpOutSegs).
        shares = {"resent": again / (sent + again), "resent_of_new": again / sent} if sent else {}
        values = {name: 100 * share for name, share in shares.items()}
        timeouts = "TcpExtTCPTimeouts"
        if all(timeouts in host for host in grown):  # else the kernel does not count all of them
            values["timeouts"] = _sum(grown, timeouts)
        return values

    @cached_property
    def ports(self) -> Values:
        """All ports together; tc counts as tcpdump does if hosts cut up their segments."""
        qdiscs = self.trial.files.qdiscs(self.problems)
        ports = [qdiscs.port_loss(port) for port in qdiscs.after]
        lost = sum(port.lost for port in ports)
        dropped = sum(port.dropped + port.policed for port in ports)
        offered = sum(port.offered for port in ports)
        counted = {"dropped": dropped, "marked": sum(map(qdiscs.marks, qdiscs.after))}
        if not offered or not self.run.counts_segments:
            return counted
        return counted | {"lost": 100 * lost / offered, "drop_share": 100 * dropped / offered}

    @cached_property
    def reordered(self) -> Values:
        """TCP's counters of all hosts on the order of segments, by SACK, Reno or timestamps."""
        grown = [self._counters.growth(host) for host in self._counters.after]
        kinds = ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder")
        return {
            "seen": sum(_sum(grown, kind) for kind in kinds),
            "queued": _sum(grown, "TcpExtTCPOFOQueue"),
            "dsacks": _sum(grown, "TcpExtTCPDSACKRecv"),
        }

    @cached_property
    def hosts(self) -> Values:
        hosts = self.trial.files.reordering()
        return {"dropped": sum(map(hosts.host_drops, hosts.after))} if hosts else {}

    @cached_property
    def grown(self) -> Values:
        return self._counters.growth(self.run.flow.sender)

    @cached_property
    def client(self) -> Values:
        return self.by_flow[0].client

    @cached_property
    def server(self) -> Values:
        return self.by_flow[0].server

    @cached_property
    def path(self) -> Values:
        port = self.trial.files.qdiscs(self.problems).data_port()
        if not port or not self.run.counts_segments:
            return {}
        shares = {"share": 100 * port.share, "drop_share": 100 * port.drop_share}
        return {"lost": port.lost, "dropped": port.dropped} | shares

    @cached_property
    def drops(self) -> Values:
        causes = captures.drop_causes(self.run, self.trial)
        if causes is None:
            return {}
        values = {
            "random": causes.random,
            "full_queue": causes.full_queue,
            "active_queue_management": causes.managed,
            "policed": causes.policed,
            "hosts": sum(causes.hosts.values()),
        }
        return values | ({} if causes.unasked is None else {"unasked": causes.unasked})

    @cached_property
    def socket(self) -> Values:
        return self.by_flow[0].socket if len(self.by_flow) == 1 else {}

    @cached_property
    def trips(self) -> Values:
        """The flows' median round trip, their least, and the excess: queues and jitter."""
        trips, least = (
            [flow.socket[name] for flow in self.by_flow if name in flow.socket]
            for name in ("rtt_median", "least_rtt")
        )
        if not trips or not least:
            return {}
        typical, shortest = median(trips), min(least)
        above = max(0.0, typical - shortest)
        return {"typical": typical, "least": shortest, "above_least": above}

    @cached_property
    def flows(self) -> Values:
        return shared(self.chosen(""))

    def chosen(self, globs: str, transport: str = "") -> list[FlowReadings]:
        flows = of_transport([each.flow for each in self.by_flow], transport)
        flows = chosen(flows, globs, self.groups, self.trial.condition.sysctls)
        return [each for each in self.by_flow if each.flow in flows]

    @cached_property
    def udp(self) -> Values:
        """The one UDP flow next to TCP flows."""
        udp = [flow for flow in self.by_flow if flow.flow.protocol == "udp"]
        if not len(udp) == 1 < len(self.by_flow):
            return {}
        (flow,) = udp
        values = {"sent": flow.client.get("rate"), "rate": flow.server.get("rate")}
        values |= {name: flow.datagrams.get(name) for name in ("lost", "share", "jitter")}
        values["datagrams"] = flow.datagrams.get("sent")
        return {name: float(value) for name, value in values.items() if value is not None}

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """The captures at the ends of the first flow, the sender's first, without unusable ones."""
        flow, read = self.run.flow, captures.read_end
        sender = read(self.run, self.trial, "sender", flow.sender, self.problems)
        receiver = read(self.run, self.trial, "receiver", flow.receiver, self.problems)
        return tuple(end for end in (sender, receiver) if end)

    def _end(self, role: str) -> End | None:
        return next((end for end in self.ends if end.role == role), None)

    @cached_property
    def sender(self) -> Values:
        end = self._end("sender")
        if end is None:
            return {}
        return end.values() | ({"resent": captures.resent(end.data)} if len(end.data) else {})

    @cached_property
    def receiver(self) -> Values:
        end = self._end("receiver")
        return end.values() if end else {}

    @cached_property
    def pauses(self) -> Values:
        end = self._end("sender")
        if end is None or not len(end.data):
            return {}
        gaps = captures.pauses(end.data, PAUSE)
        return {"count": len(gaps), "total": sum(gaps), "longest": max(gaps, default=0.0)}

    @cached_property
    def arrived(self) -> ColumnTable | None:
        """The packets of the first flow in the order of sending; None without both captures."""
        return captures.order(*self.ends) if len(self.ends) == 2 else None

    @cached_property
    def order(self) -> Values:
        return {} if self.arrived is None else captures.values_of_order(self.arrived)

    @cached_property
    def _counters(self) -> CountersFile:
        return self.trial.files.counters(self.problems)


def _sum(grown: Sequence[Values], counter: str) -> float:
    return sum(host.get(counter, 0.0) for host in grown)


def term_value(readings: TrialReadings, term: Term) -> float | None:
    """Return the term's value, or None if one flow lacks it: a starved one must not help."""
    if not term.metric.of_flows:
        value: float | None = term.metric.value(readings)
        return value
    span = _span(readings, term.window)
    if term.window and span is None:
        return None
    if term.metric.is_rate and term.statistic in ("", "jain"):
        flows = _within(readings.chosen(term.flows, term.metric.transport), span)
        return _of_rates(readings, term, flows, span)
    found = term_values(readings, term)
    if not found or any(value is None for value in found):
        return None
    return _statistic(term.statistic or term.metric.together or "mean", found)


def term_values(readings: TrialReadings, term: Term) -> list[Any]:
    """Return a number, several or None of each named flow and port; none beyond the run."""
    span = _span(readings, term.window)
    if term.window and span is None:
        return []
    flows = _within(readings.chosen(term.flows, term.metric.transport), span)
    found = [term.metric.value(flow) for flow in flows]
    if term.metric.name == "queueing":
        for port in _ports(readings, term.flows):
            some = port.within(*span.nanoseconds) if span else port
            found.append(some.wait.clip(0) / 1e6)
    return found


def _span(readings: TrialReadings, window: Window | None) -> Span | None:
    """Return the window since 1970; its end is at most that of the last flow."""
    if window is None or readings.begin is None:
        return None
    begin = readings.begin
    until = _end(readings, begin) if window.until is None else window.until
    return Span(begin + window.since, begin + until) if until > window.since else None


def _end(readings: TrialReadings, begin: float) -> float:
    ends = [flow.end for flow in readings.by_flow if flow.server] or [
        flow.every_sample[-1].time - begin for flow in readings.by_flow if flow.every_sample
    ]
    return max(ends, default=0.0)


def _within(flows: Iterable[FlowReadings], span: Span | None) -> list[FlowReadings]:
    return [replace(flow, span=span) if span else flow for flow in flows]


def _of_rates(
    readings: TrialReadings, term: Term, flows: Sequence[FlowReadings], span: Span | None
) -> float | None:
    """Return the flows' rate together or its fairness; None for several transports or ways."""
    if len({readings.groups[flow.flow.name] for flow in flows}) != 1:
        return None
    if term.statistic == "jain":
        rates = [flow.rates.get("goodput", 0.0) for flow in flows]
        return jain(rates) if any(rates) and all(flow.rates for flow in flows) else None
    chosen = (flow for globs in term.spanned for flow in readings.chosen(globs))
    named = {flow.flow.name: flow for flow in chosen}.values()
    return rate(flows, _within(named, span))


def _ports(readings: TrialReadings, globs: str) -> list[PortTraffic]:
    traffic = readings.traffic
    if traffic is None or not globs or not traffic.whole:
        return []
    wanted = globs.split(",")
    return [
        crossing
        for crossing in traffic.crossing
        if any(fnmatchcase(port.name, glob) for port in crossing.ports for glob in wanted)
    ]


def _statistic(name: str, found: Sequence[Any]) -> float | None:
    values = np.concatenate([np.atleast_1d(np.asarray(value, float)) for value in found])
    if not len(values):
        return None
    if name.startswith("p"):
        return percentile(values, float(name[1:]))
    if name == "jain":
        return jain(values.tolist())
    return float(getattr(np, name)(values))
