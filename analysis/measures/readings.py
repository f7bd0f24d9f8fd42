"""Readings of a trial's files: groups of values that the table of metrics takes its values from.

A group is read when it is first asked for. A value that a group lacks could not be measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Literal

from analysis.measures.drop_causes import drop_causes
from analysis.measures.metrics import PAUSE, Row, columns
from analysis.records import iperf
from analysis.records.json_reader import Problems, why_not
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.socket_samples import SocketSample, by_port
from analysis.records.spec_file import RunFlow
from analysis.records.trial_files import CountersFile
from topologies.foundation import untrusted

if TYPE_CHECKING:
    from analysis.measures.captures import End
    from analysis.tabular.table import ColumnTable

Values = Mapping[str, float]
Samples = Mapping[str, Mapping[str, Sequence[SocketSample]]]
"""The samples of sockets by the sending host and the receiver's port."""

_LEFT_OUT = "what it would have told is left out."


class FlowReadings:
    """The values of one flow: of iperf's server and client, and of the sending socket."""

    def __init__(
        self,
        trial: Trial,
        flow: RunFlow,
        samples: Sequence[SocketSample],
        problems: Problems | None,
        start: float,
    ) -> None:
        self.flow, self.samples, self.start = flow, samples, start
        self._trial, self._problems = trial, problems

    @property
    def connected(self) -> float:
        """Second in which the server accepted: a SYN waits in the queue of earlier flows."""
        return self.start + next((sample.rtt for sample in self.samples if sample.rtt > 0), 0.0)

    @cached_property
    def server(self) -> Values:
        return _summary(self._server)

    @cached_property
    def client(self) -> Values:
        return _summary(self._client)

    @cached_property
    def _server(self) -> str:
        return self._printed("server")

    @cached_property
    def _client(self) -> str:
        return iperf.sent_part(self._printed("client"))  # of UDP without the server's report

    def _printed(self, side: str) -> str:
        try:
            return self._trial.files.printed(self.flow.name, side)
        except (OSError, untrusted.StrangeFile) as error:
            if self._problems is None:
                raise
            note_unread(f"{self._trial.name}/{self.flow.name}.{side}.txt", error, self._problems)
            return ""

    @cached_property
    def intervals(self) -> tuple[iperf.IperfInterval, ...]:
        """The client's lines of `iperf -i`."""
        return tuple(iperf.read_intervals(self._client))

    @cached_property
    def seconds(self) -> Values:
        rates = [interval.rate for interval in self.intervals]
        if not rates:
            return {}
        return {"mean": fmean(rates), "slowest": min(rates), "fastest": max(rates)}

    @cached_property
    def datagrams(self) -> Values:
        """The count of a UDP server."""
        count = iperf.read_datagrams(self._server)
        if count is None:
            return {}
        share = count.share
        return {"jitter": count.jitter, "lost": count.lost, "sent": count.sent, "share": share}

    @cached_property
    def socket(self) -> Values:
        """The sending socket: over time, and at the end."""
        known = [sample for sample in self.samples if sample.rtt > 0]
        values: dict[str, float] = {}
        if self.samples:
            values["reordering"] = max(sample.reordering for sample in self.samples)
        if known:
            values["least_rtt"] = 1000 * known[-1].least_rtt
        if not known or not known[-1].bytes_sent:
            return values
        last, trips = known[-1], [1000 * sample.rtt for sample in known]
        return values | {
            "bytes_resent": 100 * last.bytes_retrans / last.bytes_sent,
            "resent": last.segments_retrans,
            "rtt_median": median(trips),
            "rtt_p95": quantiles(trips, n=20)[-1] if len(trips) > 1 else trips[0],
            "cwnd_median": median(sample.cwnd for sample in known),
        }


class TrialReadings:
    """The values of one trial: of its flows together, its first flow, its hosts and its ports.

    Problems of reading are noted. Without `problems` a broken file raises ValueError or OSError.
    """

    def __init__(self, run: RunRecord, trial: Trial, problems: Problems | None = None) -> None:
        self.run, self.trial = run, trial
        self.problems = problems if problems is not None else Problems()
        self.hosts_sending = sorted({flow.sender for flow in run.flows})
        samples = {
            host: trial.files.samples(host)
            if problems is None
            else read_samples(trial, host, problems)
            for host in self.hosts_sending
        }
        starts = trial.starts(run.flows, self.problems)
        self.by_flow = [
            FlowReadings(
                trial,
                flow,
                samples[flow.sender].get(str(flow.port), ()),
                problems,
                start,
            )
            for flow, start in zip(run.flows, starts, strict=True)
        ]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of a sweep's table, a row for each flow."""
        of_run = {
            name: each.value(self) if each.of_run else None for name, each in columns().items()
        }
        return [
            {"condition": self.trial.condition.name, "flow": flow.flow.name}
            | {
                name: of_run[name] if each.of_run else each.value(flow)
                for name, each in columns().items()
            }
            for flow in self.by_flow
        ]

    @cached_property
    def shared(self) -> Values:
        """The goodput of all flows; known if every flow's is."""
        rates = [flow.server["rate"] for flow in self.by_flow if "rate" in flow.server]
        if len(rates) < len(self.by_flow):
            return {}
        return {"total": _combined(self.by_flow)} | ({"jain": jain(rates)} if any(rates) else {})

    @cached_property
    def senders(self) -> Values:
        """TCP's counters of all senders."""
        grown = [self._counters.growth(host) for host in self.hosts_sending]
        sent, again = _sum(grown, "TcpOutSegs"), _sum(grown, "TcpRetransSegs")
        # OutSegs leaves out segments with nothing but resent bytes (RFC 4022, tcpOutSegs).
        values = {"resent": 100 * again / (sent + again)} if sent else {}
        timeouts = "TcpExtTCPTimeouts"
        if all(timeouts in host for host in grown):  # else the kernel does not count all of them
            values["timeouts"] = _sum(grown, timeouts)
        return values

    @cached_property
    def ports(self) -> Values:
        """All ports together; tc counts as tcpdump does if hosts cut up their segments."""
        qdiscs = self.trial.files.qdiscs(self.problems)
        ports = [qdiscs.port_loss(port) for port in qdiscs.after]
        lost, dropped = (sum(port.lost for port in ports), sum(port.dropped for port in ports))
        offered = lost + dropped + sum(port.passed for port in ports)
        known = offered and self.run.counts_segments
        marked = sum(map(qdiscs.marks, qdiscs.after))
        counted = {"dropped": dropped, "marked": marked}
        return counted | ({"lost": 100 * lost / offered} if known else {})

    @cached_property
    def reordered(self) -> Values:
        """TCP's counters of all hosts on the order of segments.

        A sender notices reordering by SACK or DSACK, without SACK by the number of duplicate ACKs,
        or by timestamps.
        """
        grown = [self._counters.growth(host) for host in self._counters.after]
        kinds = ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder")
        return {
            "seen": sum(_sum(grown, kind) for kind in kinds),
            "queued": _sum(grown, "TcpExtTCPOFOQueue"),
            "dsacks": _sum(grown, "TcpExtTCPDSACKRecv"),
        }

    @cached_property
    def hosts(self) -> Values:
        """Packets that hosts' own netem dropped, if the run has any."""
        hosts = self.trial.files.reordering()
        return {"dropped": sum(map(hosts.host_drops, hosts.after))} if hosts else {}

    @cached_property
    def grown(self) -> Values:
        """The kernel's counters of the first flow's sender, by nstat's names."""
        return self._counters.growth(self.run.flow.sender)

    @cached_property
    def client(self) -> Values:
        return self.by_flow[0].client

    @cached_property
    def server(self) -> Values:
        return self.by_flow[0].server

    @cached_property
    def path(self) -> Values:
        """The port that carried most bytes."""
        port = self.trial.files.qdiscs(self.problems).data_port()
        if not port or not self.run.counts_segments:
            return {}
        return {"lost": port.lost, "dropped": port.dropped, "share": 100 * port.share}

    @cached_property
    def drops(self) -> Values:
        causes = drop_causes(self.run, self.trial)
        if causes is None:
            return {}
        values = {
            "random": causes.random,
            "full_queue": causes.full_queue,
            "active_queue_management": causes.managed,
            "hosts": sum(causes.hosts.values()),
        }
        return values | ({} if causes.unasked is None else {"unasked": causes.unasked})

    @cached_property
    def socket(self) -> Values:
        """The socket of a single flow."""
        return self.by_flow[0].socket if len(self.by_flow) == 1 else {}

    @cached_property
    def trips(self) -> Values:
        """The flows' median round trip, their least, and how far the median is above it.

        The excess is waiting in queues, and the variation of the delay.
        """
        sockets = [flow.socket for flow in self.by_flow]
        trips = [socket["rtt_median"] for socket in sockets if "rtt_median" in socket]
        least = [socket["least_rtt"] for socket in sockets if "least_rtt" in socket]
        if not trips or not least:
            return {}
        typical, shortest = median(trips), min(least)
        above = max(0.0, typical - shortest)
        return {"typical": typical, "least": shortest, "above_least": above}

    @cached_property
    def flows(self) -> Values:
        return _together(self.by_flow)

    @cached_property
    def tcp(self) -> Values:
        """The TCP flows next to one UDP flow."""
        udp = self._only_udp_flow
        return _together([flow for flow in self.by_flow if flow is not udp]) if udp else {}

    @cached_property
    def udp(self) -> Values:
        """The one UDP flow next to TCP flows."""
        flow = self._only_udp_flow
        if flow is None:
            return {}
        rates = {"sent": flow.client.get("rate"), "rate": flow.server.get("rate")}
        counts = {name: flow.datagrams.get(name) for name in ("lost", "share", "jitter")}
        values = rates | counts | {"datagrams": flow.datagrams.get("sent")}
        return {name: float(value) for name, value in values.items() if value is not None}

    @cached_property
    def _only_udp_flow(self) -> FlowReadings | None:
        udp = [flow for flow in self.by_flow if flow.flow.protocol == "udp"]
        return udp[0] if len(udp) == 1 < len(self.by_flow) else None

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """The captures at the ends of the first flow, the sender's first, without unusable ones."""
        from analysis.measures.captures import read_end  # late: a run has no use for its libraries

        flow = self.run.flow
        roles: tuple[tuple[Literal["sender", "receiver"], str], ...] = (
            ("sender", flow.sender),
            ("receiver", flow.receiver),
        )
        ends = (read_end(self.run, self.trial, *role, self.problems) for role in roles)
        return tuple(end for end in ends if end)

    def _end(self, role: str) -> End | None:
        return next((end for end in self.ends if end.role == role), None)

    @cached_property
    def sender(self) -> Values:
        from analysis.measures.captures import resent

        end = self._end("sender")
        if end is None:
            return {}
        return end.values() | ({"resent": resent(end.data)} if len(end.data) else {})

    @cached_property
    def receiver(self) -> Values:
        end = self._end("receiver")
        return end.values() if end else {}

    @cached_property
    def pauses(self) -> Values:
        from analysis.measures.captures import pauses

        end = self._end("sender")
        if end is None or not len(end.data):
            return {}
        gaps = pauses(end.data, PAUSE)
        return {"count": len(gaps), "total": sum(gaps), "longest": max(gaps, default=0.0)}

    @cached_property
    def arrived(self) -> ColumnTable | None:
        """The packets of the first flow in the order of sending; None without both captures."""
        from analysis.measures.captures import order

        return order(*self.ends) if len(self.ends) == 2 else None

    @cached_property
    def order(self) -> Values:
        from analysis.measures.captures import values_of_order

        return {} if self.arrived is None else values_of_order(self.arrived)

    @cached_property
    def _counters(self) -> CountersFile:
        return self.trial.files.counters(self.problems)


def _summary(output: str) -> Values:
    found = iperf.read_summary(output)
    if found is None:
        return {}
    return {"rate": found.rate, "transfer": found.transfer, "interval": found.seconds}


def _sum(grown: Sequence[Values], counter: str) -> float:
    return sum(host.get(counter, 0.0) for host in grown)


def _together(flows: Sequence[FlowReadings]) -> Values:
    """The rates of a group of flows; their sums and fairness if every flow has a rate."""
    rates = [flow.server["rate"] for flow in flows if "rate" in flow.server]
    if not rates:
        return {}
    values = {"least": min(rates), "most": max(rates)}
    if len(rates) == len(flows) and any(rates):
        values |= {"total": _combined(flows)} | ({"jain": jain(rates)} if len(rates) > 1 else {})
    sent = [flow.client["rate"] for flow in flows if "rate" in flow.client]
    return values | ({"sent": sum(sent)} if len(sent) == len(flows) else {})


def _combined(flows: Sequence[FlowReadings]) -> float:
    """Return the rate of all flows in kbit/s: their bytes from the first start to the last end.

    The sum of rates over each flow's time could exceed the link's, where some start later.
    """
    if len(flows) == 1:
        return flows[0].server["rate"]
    end = max(flow.connected + flow.server["interval"] for flow in flows)
    kbit = sum(flow.server["rate"] * flow.server["interval"] for flow in flows)
    return kbit / (end - min(flow.start for flow in flows))


def jain(rates: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 for equal rates, 1/n if one of n has all.

    Jain, Chiu, Hawe: DEC-TR-301, 1984.
    """
    return fmean(rates) ** 2 / fmean(rate**2 for rate in rates)


def read_samples(trial: Trial, sender: str, problems: Problems) -> dict[str, list[SocketSample]]:
    """Read the samples of a host by the receiver's port; of a file cut short all complete lines."""
    name = f"{sender}.sockets.jsonl"
    try:
        lines = untrusted.text(trial.folder, name).splitlines()
    except (OSError, untrusted.StrangeFile) as error:
        note_unread(f"{trial.name}/{name}", error, problems)
        return {}
    try:
        return by_port(lines)
    except (ValueError, RecursionError) as error:
        problems.add(
            f"{trial.name}/{name} is cut short or broken ({error}): its last line is left out."
        )
    try:
        return by_port(lines[:-1])
    except (ValueError, RecursionError):
        problems.add(
            f"{trial.name}/{name} is broken in its middle: the congestion window is not drawn."
        )
        return {}


def note_unread(name: str, error: OSError | untrusted.StrangeFile, problems: Problems) -> None:
    """Note that a file is missing or cannot be read."""
    why = f"cannot be read ({why_not(error)})"
    why = "is missing" if isinstance(error, FileNotFoundError) else why
    problems.add(f"{name} {why}: {_LEFT_OUT}")
