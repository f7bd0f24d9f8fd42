"""The captures at both ends of a trial's first flow: their values, and the order of arrival.

Each capture is read once, for the values, the order and the graphs.

The order is described in the terms of RFC 4737 (analysis.flows.matching). A packet is a
segment as it was sent once: a retransmission is another packet. TCP's threshold of 3 duplicate
acknowledgements takes a 3-reordered packet for lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Any, Literal

import numpy as np

from analysis.flows import Reading, read
from analysis.flows.ends import match_readings
from analysis.measures.metrics import OF_ACKS, OF_DATA
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.spec_file import RunFlow
from analysis.tabular.table import ColumnTable
from topologies.foundation.errors import TcplabError

DUPLICATES = 3
"""Duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2)."""
Role = Literal["sender", "receiver"]


@dataclass(frozen=True)
class End:
    """A capture: at which end of the flow (`role`), its interface, and its content.

    `row` is that of the flow's connection and `packets` its segments. `by_a` is true if the
    connection's end a sent the data.
    """

    role: Role
    interface: str
    reading: Reading
    row: dict[str, Any]
    packets: ColumnTable
    by_a: bool

    @property
    def data(self) -> ColumnTable:
        """The segments with payload towards the receiver, in the order of the file."""
        is_forward = self.packets["forward"].values == self.by_a
        return self.packets.rows(is_forward & (self.packets["payload"].values > 0))

    @property
    def alone(self) -> Reading:
        """The capture reduced to `data`."""
        every = self.reading.connection_table
        own = every.rows(every["connection"].values == self.row["connection"])
        return replace(self.reading, connection_table=own, packet_table=self.data)

    def values(self) -> dict[str, float]:
        """Return the known columns of the data, of the ACKs (`back.`) and of both."""
        row = self.row
        way, back = ("a2b", "b2a") if self.by_a else ("b2a", "a2b")
        columns = {name: row[f"{name}_{way}"] for name in OF_DATA}
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
            problems.add(
                f"spec.json names no capture at the {role}, {host}: what it would have told is left"
                " out."
            )
        return None
    name = f"{trial.name}/{interface}.pcap"
    path = trial.folder / f"{interface}.pcap"
    if not path.is_file() or not path.stat().st_size:
        problems.add(
            f"{name} is {'empty' if path.is_file() else 'missing'}: what it would have told is left"
            " out."
        )
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
    return _end(role, interface, reading, name, run.flow, problems)


def _end(
    role: Role, interface: str, reading: Reading, name: str, flow: RunFlow, problems: Problems
) -> End | None:
    """The capture with the largest of the flow's connections; an application may make many."""
    port = flow.port
    packets = reading.packet_table
    assert packets is not None
    connections = at_port(reading.connection_table, port)
    if len(connections) != 1 and not flow.traffic:
        problems.add(f"{name}: there are {len(connections)} connections at port {port}, not one.")
    if not len(connections):
        return None
    row = next(connections.as_rows())
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
    """Return the data segments in the order of sending, as `matching.DirectionMatch.packets`.

    The table is empty if the captures have no connection in common.
    """
    matches = match_readings(sender.alone, receiver.alone)
    return matches[0].forward.packets if matches else ColumnTable({})


def late(packets: ColumnTable) -> ColumnTable:
    """Return the reordered packets.

    They have the columns `extent` in packets, `extent_time` in ns and `n_reordered`, the largest n.
    """
    if not len(packets):
        return packets
    some = packets.select("extent", "extent_time", "n_reordered")
    return some.rows(some["extent"].values > 0)


def values_of_order(packets: ColumnTable) -> dict[str, float]:
    """Return counts, shares in % of the arrived packets, extents in packets, and times in ms."""
    delays = packets["delay"].known.tolist() if len(packets) else []
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
        "delay_least": min(delays) / 1e6,
        "delay_most": max(delays) / 1e6,
        **_spread("extent", reordered["extent"].to_list()),
        **_spread("time", (reordered["extent_time"].values / 1e6).tolist()),
    }


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """The median, the 95th percentile and the greatest of the values, if there are any."""
    if not values:
        return {}
    high = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return {
        f"{name}_median": median(values),
        f"{name}_p95": min(high, max(values)),
        f"{name}_most": max(values),
    }
