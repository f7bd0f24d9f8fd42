"""Every flow of a trial: what iperf and its socket said of it, and what all of them did
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.measures.flow_rows import jain, rows_of_condition, value_of
from analysis.records import iperf, socket_samples
from analysis.records.jsonfile import why_not
from analysis.records.problems import Problems
from analysis.records.row_columns import METRICS, Row
from analysis.records.run_directory import RunFlow, RunRecord, Trial
from topologies import untrusted


@dataclass(frozen=True)
class FlowMeasures:
    """One flow of a trial: its `row` (analysis.measures.flow_rows), the client's lines of `iperf
    -i`, a UDP server's count.

    `samples` are those of the sending socket, kept only where they are drawn; `socket` says what
    of them counts always.
    """

    flow: RunFlow
    row: Row
    intervals: tuple[iperf.IperfInterval, ...]
    datagrams: iperf.Datagrams | None
    samples: tuple[socket_samples.SocketSample, ...]
    socket: dict[str, float]

    @property
    def goodput(self) -> float | None:
        """At the receiver, kbit/s."""
        return self.number("goodput_kbit_s")

    def number(self, metric: str) -> float | None:
        """The flow's value of a metric, or None where there is none."""
        value = self.row[metric]
        return None if value is None else float(value)


def read_flows(
    run: RunRecord, trial: Trial, problems: Problems, draw: bool
) -> tuple[FlowMeasures, ...]:
    """All flows of `trial` in the order of the spec; empty after a problem was noted where they
    cannot be read.
    """
    samples = {
        sender: _samples(trial, sender, problems)
        for sender in dict.fromkeys(one.sender for one in run.flows)
    }
    try:
        spec = run.spec | {
            "flows": [vars(flow) for flow in run.flows]
        }  # names that are safe as paths
        rows = list(rows_of_condition(trial.folder, spec, trial.condition.name, samples))
    except (ValueError, OSError) as error:
        problems.add(f"{trial.name}: its flows cannot be compared ({error}).")
        return ()
    return tuple(
        FlowMeasures(
            flow,
            row,
            tuple(iperf.read_intervals(iperf.sent_part(_said(trial, flow, "client")))),
            iperf.read_datagrams(_said(trial, flow, "server")),
            tuple(samples[flow.sender].get(str(flow.port), ())) if draw else (),
            _of_socket(samples[flow.sender].get(str(flow.port), ())),
        )
        for flow, row in zip(run.flows, rows, strict=True)
    )


def _of_socket(samples: Sequence[socket_samples.SocketSample]) -> dict[str, float]:
    """The highest threshold of reordering in segments, and the last value of the least round trip
    in ms.
    """
    trips = [sample.least_rtt for sample in samples if sample.rtt > 0]
    thresholds = (
        {"socket.reordering": max(sample.reordering for sample in samples)} if samples else {}
    )
    return thresholds | ({"socket.least_rtt": 1000 * trips[-1]} if trips else {})


def _said(trial: Trial, flow: RunFlow, side: str) -> str:
    return untrusted.text_if_any(trial.folder, f"{flow.name}.{side}.txt")


def _samples(
    trial: Trial, sender: str, problems: Problems
) -> dict[str, list[socket_samples.SocketSample]]:
    """The samples of a host by the receiver's port; of a file that was cut short all but its last
    line.
    """
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


def values_of(flows: Sequence[FlowMeasures]) -> dict[str, float]:
    """What a study asks of the flows, by key. Rates in kbit/s, shares in percent, jitter in ms.

    `metric.<name>`: the run's metrics, and of a single flow its own; `socket.*` of a single
    flow's socket. `flows.total`, `.least`, `.most` and `.jain` of the goodputs, `flows.sent` the
    sum of the clients' rates; where UDP is beside TCP also `tcp.*` of the TCP flows, and `udp.*`
    of the UDP flow.
    """
    if not flows:
        return {}
    found = {
        f"metric.{one.name}": flows[0].number(one.name)
        for one in METRICS
        if one.of_run or len(flows) == 1
    }
    values = {key: value for key, value in found.items() if value is not None} | _together(
        "flows", flows
    )
    values |= flows[0].socket if len(flows) == 1 else {}
    udp = [one for one in flows if one.flow.protocol == "udp"]
    if len(udp) == 1 < len(flows):
        values |= _together("tcp", [one for one in flows if one.flow.protocol == "tcp"]) | _of_udp(
            udp[0]
        )
    return values


def _together(group: str, flows: Sequence[FlowMeasures]) -> dict[str, float]:
    """What a group of flows got.

    Their sum and their fairness are known only where every flow has a rate.
    """
    rates = [one.goodput for one in flows if one.goodput is not None]
    if not rates:
        return {}
    found = {f"{group}.least": min(rates), f"{group}.most": max(rates)}
    if len(rates) == len(flows) and any(rates):
        found |= {f"{group}.total": sum(rates)} | (
            {f"{group}.jain": jain(rates)} if len(rates) > 1 else {}
        )
    sent = value_of([one.row for one in flows], "client_kbit_s")
    return found if sent is None else found | {f"{group}.sent": sent}


def _of_udp(one: FlowMeasures) -> dict[str, float]:
    sent, received, count = one.number("client_kbit_s"), one.goodput, one.datagrams
    found = {"udp.sent": sent, "udp.rate": received}
    if count:
        found |= {
            "udp.lost": count.lost,
            "udp.datagrams": count.sent,
            "udp.share": count.share,
            "udp.jitter": count.jitter,
        }
    return {key: float(value) for key, value in found.items() if value is not None}
