"""The captures at both ends of a trial's first flow: values, order of arrival, causes of drops.

The order is described in the terms of RFC 4737: a retransmission is another packet, and a
3-reordered packet counts as lost for TCP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Literal

import numpy as np

from analysis.flows import Reading, read
from analysis.flows.columns import table_rows
from analysis.flows.ends import match_readings
from analysis.measures.metrics import OF_ACKS, OF_DATA
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial
from analysis.table import ColumnTable
from topologies.errors import TcplabError

DUPLICATES = 3
"""Duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2)."""
Role = Literal["sender", "receiver"]


@dataclass(frozen=True)
class End:
    """A capture at one end: the row of the flow's connection, and whether a sent the data."""

    role: Role
    interface: str
    reading: Reading
    row: dict[str, Any]
    packets: ColumnTable
    by_a: bool

    @property
    def data(self) -> ColumnTable:
        is_forward = self.packets["forward"].values == self.by_a
        return self.packets.rows(is_forward & (self.packets["payload"].values > 0))

    @property
    def alone(self) -> Reading:
        every = self.reading.connection_table
        own = every.rows(every["connection"].values == self.row["connection"])
        return replace(self.reading, connection_table=own, packet_table=self.data)

    def values(self) -> dict[str, float]:
        """Return the known columns of the data, of the ACKs (`back.`) and of both."""
        row = self.row
        direction, back = ("a2b", "b2a") if self.by_a else ("b2a", "a2b")
        columns = {name: row[f"{name}_{direction}"] for name in OF_DATA}
        columns |= {f"back.{name}": row[f"{name}_{back}"] for name in OF_ACKS}
        columns["both.total_packets"] = row["total_packets_a2b"] + row["total_packets_b2a"]
        return {name: float(value) for name, value in columns.items() if value is not None}


def read_end(run: RunRecord, trial: Trial, role: Role, host: str, problems: Problems) -> End | None:
    """Read the capture at `host`, the flow's `role`; None after a problem if there is none."""
    interface = run.capture_of(host)
    if run.flow.protocol == "udp":
        return None  # a program's transport has no connection of TCP
    if interface is None:
        if run.captures:
            problems.left_out(f"spec.json names no capture at the {role}, {host}")
        return None
    name, path = f"{trial.name}/{interface}.pcap", trial.folder / f"{interface}.pcap"
    if not path.is_file() or not path.stat().st_size:
        problems.left_out(f"{name} is {'empty' if path.is_file() else 'missing'}")
        return None
    try:
        reading = read(path, packets=True)
    except TcplabError as error:
        problems.add(f"{name}: {error.problem} What it would have told is left out.")
        return None
    if reading.file.fault:
        problems.add(
            f"{name}: {reading.file.fault}, after {reading.file.packets} packets. What precedes"
            " that is analysed; repeat the run."
        )
    port, packets = run.flow.port, reading.packet_table
    assert packets is not None
    connections = at_port(reading.connection_table, port)
    if len(connections) != 1 and not run.flow.traffic:
        problems.add(f"{name}: there are {len(connections)} connections at port {port}, not one.")
    if not len(connections):
        return None
    row = next(connections.as_rows())  # an application may make many: this is the largest
    if len(reading.connection_table) > 1:
        packets = packets.rows(packets["connection"].values == row["connection"])
    return End(role, interface, reading, row, packets, by_a=row["port_b"] == port)


def at_port(connections: ColumnTable, port: int) -> ColumnTable:
    """Return the connections of which either end has `port`, those with most packets first."""
    either = (connections["port_a"].values == port) | (connections["port_b"].values == port)
    some = connections.rows(either)
    total = some.whole("total_packets_a2b") + some.whole("total_packets_b2a")
    return some.rows(np.argsort(-total, kind="stable"))


def pauses(data: ColumnTable, shortest: float) -> list[float]:
    """Return the gaps of at least `shortest` seconds between consecutive data segments, in s."""
    gaps = np.diff(data.whole("time")) / 1e9
    return [float(gap) for gap in gaps[gaps >= shortest]]


def resent(data: ColumnTable) -> int:
    """Count the segments of one connection that carry only bytes that were sent before."""
    end = data.whole("sequence") + data.whole("payload")
    before = np.maximum.accumulate(end[:-1])
    return int((end[1:] <= before).sum())


def order(sender: End, receiver: End) -> ColumnTable:
    """Return `matching.DirectionMatch.packets` of the data, empty without a common connection."""
    matches = match_readings(sender.alone, receiver.alone)
    return matches[0].forward.packets if matches else ColumnTable({})


def late(packets: ColumnTable) -> ColumnTable:
    """Return `extent`, `extent_time` and `n_reordered` (matching) of the reordered packets."""
    if not len(packets):
        return packets
    some = packets.select("extent", "extent_time", "n_reordered")
    return some.rows(some["extent"].values > 0)


def values_of_order(packets: ColumnTable) -> dict[str, float]:
    """Return counts, shares in % of the arrived packets, extents in packets, and times in ms."""
    delays = (packets["delay"].known / 1e6).tolist() if len(packets) else []
    if not delays:
        return {}
    reordered, arrived = late(packets), len(delays)
    many = int((reordered["n_reordered"].values >= DUPLICATES).sum())
    return {
        "sent": len(packets),
        "arrived": arrived,
        "lost": len(packets) - arrived,
        "late": len(reordered),
        "share": 100 * len(reordered) / arrived,
        "share_3": 100 * many / arrived,
        "delay_least": min(delays),
        "delay_most": max(delays),
        **_spread("extent", reordered["extent"].to_list()),
        **_spread("time", (reordered["extent_time"].values / 1e6).tolist()),
    }


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    high = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return {
        f"{name}_median": median(values),
        f"{name}_p95": min(high, max(values)),
        f"{name}_most": max(values),
    }


_DROPS = table_rows(Path(__file__).with_name("host_drops.csv"))
HOST_DROPS = [row["counter"] for row in _DROPS]
"""Counters of packets that a host's own kernel dropped (Documentation/networking/snmp_counter)."""
_REFUSED = {"IpOutDiscards": "IcmpInDestUnreachs"}
"""A call that an ICMP error refuses counts as a discard, without a packet (__ip_append_data in
net/ipv4/ip_output.c): iperf's server of UDP repeats reports for a client that has ended."""
_SENT = ("TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams", "IcmpOutMsgs")
_ARRIVED, _TWICE = "IpInReceives", "TcpExtTCPSynRetrans"

Counts = Mapping[str, float]


@dataclass(frozen=True)
class DropCauses:
    """The packets of a trial that did not arrive, by cause; `hosts` by (host, counter)."""

    sent: float
    random: float
    full_queue: float
    managed: float
    policed: float
    hosts: Mapping[tuple[str, str], float]
    unasked: float | None


def drop_causes(run: RunRecord, trial: Trial) -> DropCauses | None:
    """Count the causes in qdiscs.json and counters.json; None if one lacks the counts."""
    problems = Problems()  # the reader of the trial notes them
    qdiscs, counters = trial.files.qdiscs(problems), trial.files.counters(problems)
    grown = {host: counters.growth(host) for host in counters.after}
    ports = [qdiscs.port_loss(port) for port in qdiscs.after]
    if not grown or not any(port.passed for port in ports) or not run.counts_segments:
        return None
    random, dropped = sum(port.lost for port in ports), sum(port.dropped for port in ports)
    policed = sum(port.policed for port in ports)
    managed = sum(map(qdiscs.managed_drops, qdiscs.after))
    hosts = {
        (host, name): count
        for host, counts in grown.items()
        for name in HOST_DROPS
        if (count := counts.get(name, 0.0) - counts.get(_REFUSED.get(name, ""), 0.0)) > 0
    }
    sent = sum(counts.get(name, 0.0) for counts in grown.values() for name in _SENT)
    netem = trial.files.reordering()  # of hosts that were asked to reorder
    reordered = sum(map(netem.host_drops, netem.after)) if netem else 0.0
    unasked = _unasked(list(grown.values()), sent - random - dropped - policed - reordered)
    return DropCauses(sent, random, dropped - managed, managed, policed, hosts, unasked)


def _unasked(grown: list[Counts], due: float) -> float | None:
    """The `due` packets that no host received; below 0 if hosts received more than were due.

    Linux counts a SYN-ACK that is sent again twice, so as many may seem to be missing. None if a
    kernel does not count, or if it cut packets up.
    """
    if any(_ARRIVED not in counts or counts.get("IpFragCreates", 0) for counts in grown):
        return None
    missing = due - sum(counts[_ARRIVED] for counts in grown)
    doubtful = sum(counts.get(_TWICE, 0.0) for counts in grown)
    return max(0.0, missing - doubtful) if missing >= 0 else missing
