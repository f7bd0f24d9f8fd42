"""The captures at both ends of a trial's first flow.

Each is read once, for the values, the order and the graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from analysis.flows import Reading, read
from analysis.measures.metric_keys import RECEIVER, SENDER, MetricKey
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, Trial
from analysis.tabular.column_table import ColumnTable
from topologies.foundation.errors import TcplabError

COLUMNS = (
    "total_packets",
    "unique_bytes_sent",
    "actual_data_pkts",
    "actual_data_bytes",
    "rexmt_data_pkts",
    "rexmt_data_bytes",
    "outoforder_pkts",
    "pushed_data_pkts",
    "initial_window_bytes",
    "initial_window_pkts",
    "data_xmit_time",
    "idletime_max",
    "throughput",
    "min_segm_size",
    "max_segm_size",
    "avg_segm_size",
    "RTT_min",
    "RTT_avg",
    "RTT_max",
)
"""tcptrace's names for what is told of the data; analysis.flows.columns defines them."""
_BACK = (
    "total_packets",
    "sack_pkts_sent",
    "max_win_adv",
    "min_win_adv",
    "avg_win_adv",
    "idletime_max",
)
Role = Literal["sender", "receiver"]
_KEYS = {"sender": SENDER, "receiver": RECEIVER}


@dataclass(frozen=True)
class End:
    """One capture: at which end of the flow (`role`), its interface, and what it holds.

    `row` is that of the flow's connection and `packets` its segments; `by_a` tells whether the
    data is what its end a sent.
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
        """The capture with nothing but `data`."""
        every = self.reading.connection_table
        own = every.rows(every["connection"].values == self.row["connection"])
        return replace(self.reading, connection_table=own, packet_table=self.data)

    def values(self) -> dict[MetricKey, float]:
        """The columns of the data, of the ACKs and of both; no unknown one."""
        keys, row = _KEYS[self.role], self.row
        way, back = ("a2b", "b2a") if self.by_a else ("b2a", "a2b")
        columns = {getattr(keys, name): row[f"{name}_{way}"] for name in COLUMNS}
        columns |= {getattr(keys, f"back_{name}"): row[f"{name}_{back}"] for name in _BACK}
        columns[keys.both_total_packets] = row["total_packets_a2b"] + row["total_packets_b2a"]
        return {key: float(value) for key, value in columns.items() if value is not None}


def read_end(run: RunRecord, trial: Trial, role: Role, host: str, problems: Problems) -> End | None:
    """The capture at `host`, the flow's `role`; None after a problem if there is none to read."""
    interface = run.capture_of(host)
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
    _note_fault(reading, name, problems)
    return _end(role, interface, reading, name, run.flow.port, problems)


def _note_fault(reading: Reading, name: str, problems: Problems) -> None:
    if reading.file.fault:
        problems.add(
            f"{name}: {reading.file.fault}, after {reading.file.packets} packets. What precedes"
            " that is analysed; repeat the run."
        )


def _end(
    role: Role, interface: str, reading: Reading, name: str, port: int, problems: Problems
) -> End | None:
    """The capture with the largest of the connections at `port`."""
    packets = reading.packet_table
    assert packets is not None
    connections = at_port(reading.connection_table, port)
    if len(connections) != 1:
        problems.add(f"{name}: there are {len(connections)} connections at port {port}, not one.")
    if not len(connections):
        return None
    row = next(connections.as_rows())
    if len(reading.connection_table) > 1:
        packets = packets.rows(packets["connection"].values == row["connection"])
    return End(role, interface, reading, row, packets, by_a=row["port_b"] == port)


def at_port(connections: ColumnTable, port: int) -> ColumnTable:
    """The connections of which either end has `port`, that with most packets first."""
    either = (connections["port_a"].values == port) | (connections["port_b"].values == port)
    some = connections.rows(either)
    total = some.whole("total_packets_a2b") + some.whole("total_packets_b2a")
    return some.rows(np.argsort(-total, kind="stable"))


def pauses(data: ColumnTable, shortest: float) -> list[float]:
    """The gaps in seconds of at least `shortest` seconds between one data segment and the next."""
    gaps = np.diff(data.whole("time")) / 1e9
    return [float(gap) for gap in gaps[gaps >= shortest]]


def resent(data: ColumnTable) -> int:
    """How many segments of one connection carry only bytes that were sent before."""
    end = data.whole("sequence") + data.whole("payload")
    before = np.maximum.accumulate(end[:-1])
    return int((end[1:] <= before).sum())
