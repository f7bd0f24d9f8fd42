"""Every flow of a trial: what iperf and its socket said of it, and what all did together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.measures import metric_keys
from analysis.measures.flow_rows import jain, rows_of_trial, value_of
from analysis.measures.metric_keys import GroupKeys, MetricKey
from analysis.records import iperf, row_columns, socket_samples
from analysis.records.json_reader import why_not
from analysis.records.problems import Problems
from analysis.records.row_columns import METRICS, Metric, Row
from analysis.records.run_directory import RunFlow, RunRecord, Trial
from topologies.foundation import untrusted

_Values = dict[MetricKey, float]


@dataclass(frozen=True)
class FlowMeasures:
    """One flow of a trial: its `row` (analysis.measures.flow_rows) and what is not in it.

    `intervals` are the client's lines of `iperf -i`, `datagrams` a UDP server's count. `samples`
    are those of the sending socket, kept only if they are drawn; `socket` is what counts of them.
    """

    flow: RunFlow
    row: Row
    intervals: tuple[iperf.IperfInterval, ...]
    datagrams: iperf.Datagrams | None
    samples: tuple[socket_samples.SocketSample, ...]
    socket: _Values

    @property
    def goodput(self) -> float | None:
        """At the receiver, kbit/s."""
        return self.number(row_columns.GOODPUT)

    def number(self, metric: Metric) -> float | None:
        """The flow's value of a metric, or None if there is none."""
        value = self.row[metric.name]
        return None if value is None else float(value)


def read_flows(
    run: RunRecord, trial: Trial, problems: Problems, draw: bool
) -> tuple[FlowMeasures, ...]:
    """All flows of `trial` in the order of the spec; none after a problem that forbids it."""
    senders = dict.fromkeys(flow.sender for flow in run.flows)
    samples = {sender: _samples(trial, sender, problems) for sender in senders}
    try:
        rows = list(rows_of_trial(run, trial, samples))
    except (ValueError, OSError) as error:
        problems.add(f"{trial.name}: its flows cannot be compared ({error}).")
        return ()
    return tuple(
        _flow(trial, flow, row, samples[flow.sender].get(str(flow.port), ()), draw)
        for flow, row in zip(run.flows, rows, strict=True)
    )


def _flow(
    trial: Trial,
    flow: RunFlow,
    row: Row,
    samples: Sequence[socket_samples.SocketSample],
    draw: bool,
) -> FlowMeasures:
    client, server = (trial.files.printed(flow.name, side) for side in ("client", "server"))
    return FlowMeasures(
        flow,
        row,
        tuple(iperf.read_intervals(iperf.sent_part(client))),
        iperf.read_datagrams(server),
        tuple(samples) if draw else (),
        _of_socket(samples),
    )


def _of_socket(samples: Sequence[socket_samples.SocketSample]) -> _Values:
    """The highest threshold of reordering, and the last value of the least round trip."""
    trips = [sample.least_rtt for sample in samples if sample.rtt > 0]
    thresholds = [sample.reordering for sample in samples]
    values = {metric_keys.SOCKET_REORDERING: max(thresholds)} if thresholds else {}
    return values | ({metric_keys.SOCKET_LEAST_RTT: 1000 * trips[-1]} if trips else {})


def _samples(
    trial: Trial, sender: str, problems: Problems
) -> dict[str, list[socket_samples.SocketSample]]:
    """The samples of a host by the receiver's port; of a file cut short all but its last line."""
    name = f"{sender}.sockets.jsonl"
    try:
        lines = untrusted.text(trial.folder, name).splitlines()
    except (OSError, untrusted.StrangeFile) as error:
        why = (
            "is missing"
            if isinstance(error, FileNotFoundError)
            else f"cannot be read ({why_not(error)})"
        )
        problems.add(f"{trial.name}/{name} {why}: what it would have told is left out.")
        return {}
    try:
        return socket_samples.by_port(lines)
    except (ValueError, RecursionError) as error:
        problems.add(
            f"{trial.name}/{name} is cut short or broken ({error}): its last line is left out."
        )
    try:
        return socket_samples.by_port(lines[:-1])
    except (ValueError, RecursionError):
        problems.add(
            f"{trial.name}/{name} is broken in its middle: the congestion window is not drawn."
        )
        return {}


def values_of(flows: Sequence[FlowMeasures]) -> _Values:
    """What a study asks of the flows.

    The run's metrics, and of a single flow also its own and its socket's; what all flows got
    together. If UDP is beside TCP, also what the TCP flows got, and the UDP flow.
    """
    if not flows:
        return {}
    values = _of_metrics(flows) | _together(metric_keys.FLOWS, flows) | _round_trips(flows)
    values |= flows[0].socket if len(flows) == 1 else {}
    udp = [flow for flow in flows if flow.flow.protocol == "udp"]
    if len(udp) == 1 < len(flows):
        tcp = [flow for flow in flows if flow.flow.protocol == "tcp"]
        values |= _together(metric_keys.TCP, tcp) | _of_udp(udp[0])
    return values


def _of_metrics(flows: Sequence[FlowMeasures]) -> _Values:
    values = {
        metric_keys.of_metric(column): flows[0].number(column)
        for column in METRICS
        if column.of_run or len(flows) == 1
    }
    return {key: value for key, value in values.items() if value is not None}


def _together(keys: GroupKeys, flows: Sequence[FlowMeasures]) -> _Values:
    """What a group of flows got.

    Their sum and their fairness are known only if every flow has a rate.
    """
    rates = [flow.goodput for flow in flows if flow.goodput is not None]
    if not rates:
        return {}
    values = {keys.least: min(rates), keys.most: max(rates)}
    if len(rates) == len(flows) and any(rates):
        values |= {keys.total: sum(rates)}
        values |= {keys.jain: jain(rates)} if len(rates) > 1 else {}
    sent = value_of([flow.row for flow in flows], row_columns.SENDER_RATE.name)
    return values if sent is None else values | {keys.sent: sent}


def _round_trips(flows: Sequence[FlowMeasures]) -> _Values:
    """The flows' median round trip, their least, and how far the median is above it.

    What is above the least is waiting in queues, and the variation of the delay.
    """
    smoothed = [flow.number(row_columns.RTT_MEDIAN) for flow in flows]
    trips = [trip for trip in smoothed if trip is not None]
    least = [
        flow.socket[metric_keys.SOCKET_LEAST_RTT]
        for flow in flows
        if metric_keys.SOCKET_LEAST_RTT in flow.socket
    ]
    if not trips or not least:
        return {}
    typical, shortest = median(trips), min(least)
    return {
        metric_keys.TRIP_TYPICAL: typical,
        metric_keys.TRIP_LEAST: shortest,
        metric_keys.TRIP_ABOVE: max(0.0, typical - shortest),
    }


def _of_udp(flow: FlowMeasures) -> _Values:
    sent, received, count = flow.number(row_columns.SENDER_RATE), flow.goodput, flow.datagrams
    values = {metric_keys.UDP_SENT: sent, metric_keys.UDP_RATE: received}
    if count:
        values |= {
            metric_keys.UDP_LOST: count.lost,
            metric_keys.UDP_DATAGRAMS: count.sent,
            metric_keys.UDP_SHARE: count.share,
            metric_keys.UDP_JITTER: count.jitter,
        }
    return {key: float(value) for key, value in values.items() if value is not None}
