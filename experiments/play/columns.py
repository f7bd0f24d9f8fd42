"""A run as columns: socket samples while it runs, packets and events when it has ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.flows.columns import KINDS
from analysis.flows.matching import arrivals
from analysis.flows.reader import read
from analysis.graphs.stored import KeptTimes, ack_columns, sent_columns
from analysis.table import ColumnTable, RowGroups, TableColumn
from experiments.playground import FIRST_PORT
from topologies import untrusted
from topologies.notation import json_value, toml_file

Columns = dict[str, np.ndarray[Any, Any]]
_INTEGERS: dict[str, Any] = {
    **dict.fromkeys(("flow", "kind", "again", "state", "marked"), np.uint8),
    **dict.fromkeys(("length", "ack", "window", "packets"), np.int32),
}
"""Columns of whole numbers that are small; others are float64."""
BUCKET = 0.1  # seconds of a throughput's average
DATA, AGAIN, ACK, SACKED, LOST = range(5)
"""The `kind` of a packet; what was lost may have been sent `again`."""
PROBES = "probes"
_NEW = [number for number, (kind, _) in enumerate(KINDS) if kind in ("none", "new")]
_PROBE = next(number for number, (kind, _) in enumerate(KINDS) if kind == "tlp")
_NANO = 1e9
_USED = (
    *("number", "time", "connection", "forward", "sequence", "acknowledgement", "payload"),
    *("flags", "sacks", "timestamp", "echo", "ip_id", "kind", "ecn", "window"),
)


@dataclass(frozen=True)
class Frame:
    """Columns of the same length. `kind` is samples, packets, rates, queue or drops.

    Times are seconds since the flows began; `flow` counts from 0. samples: cwnd, ssthresh (NaN
    before slow start has ended), in_flight, delivered (bytes), rtt (ms), state (enum tcp_ca_state).
    packets: sequence, length (bytes), kind, again (0 or 1). rates: goodput (Mbit/s). queue: delay
    (ms), packets. sent, acks, blocks: what the stage draws (analysis.graphs.stored).
    """

    kind: str
    columns: Columns

    @classmethod
    def of(cls, kind: str, columns: Mapping[str, Any]) -> Frame:
        """Return a frame whose columns have the types that the page expects."""
        return cls(
            kind,
            {
                name: np.asarray(values, _INTEGERS.get(name, np.float64))
                for name, values in columns.items()
            },
        )

    def of_flow(self, flow: int) -> Columns:
        rows = self.columns["flow"] == flow
        return {name: column[rows] for name, column in self.columns.items()}


_SAMPLED: dict[str, Callable[[dict[str, Any]], float]] = {
    "time": lambda socket: socket["time"],
    "flow": lambda socket: socket["flow"],
    "cwnd": lambda socket: socket["cwnd"] * socket["mss"],
    "ssthresh": lambda socket: (
        math.nan if socket["ssthresh"] is None else socket["ssthresh"] * socket["mss"]
    ),
    # tcp_packets_in_flight of include/net/tcp.h
    "in_flight": lambda socket: (
        socket["mss"]
        * max(0, socket["unacked"] - socket["sacked"] - socket["lost"] + socket["retrans"])
    ),
    "rtt": lambda socket: socket["rtt_us"] / 1000,
    "delivered": lambda socket: socket["bytes_acked"],
    "state": lambda socket: socket["ca_state"],
}


def samples(lines: Iterable[str], begun: float) -> Frame:
    """Read the samples of a sender from socket_sampling; `begun` is in seconds since 1970."""
    sockets = [
        {**socket, "time": sample["time"] - begun, "flow": flow}
        for sample in map(json_value, lines)
        for socket in sample["sockets"]
        if (flow := int(socket["remote"].rpartition(":")[2]) - FIRST_PORT) >= 0
    ]
    return Frame.of("samples", {name: [*map(of, sockets)] for name, of in _SAMPLED.items()})


def joined(frames: Sequence[Frame]) -> Frame:
    names = frames[0].columns
    columns = {name: np.concatenate([each.columns[name] for each in frames]) for name in names}
    return Frame(frames[0].kind, columns)


def packets(folder: Path, begun: float) -> list[Frame]:
    """Read packets, rates, queue and drops from a condition's folder of captures."""
    with ThreadPoolExecutor(2) as turns:
        near, far = turns.map(_seen, (folder / f"{host}-eth0.pcap" for host in ("h1", "h2")))
        going = turns.submit(_trips, begun, near, far, True)
        coming = turns.submit(_trips, begun, far, near, False)
        outward, answers = going.result(), coming.result()
    came, data = outward["arrived"].is_known, outward["payload"].values > 0
    probes = data & (outward["kind"].values == _PROBE)
    return [
        _segments(outward.rows(data), answers.rows(answers["arrived"].is_known)),
        _rates(outward.rows(data & came)),
        _queue(outward.rows(came)),
        *_stage(outward, answers, far),
        _sequences("drops", outward.rows(data & ~came)),
        _sequences(PROBES, outward.rows(probes)),
    ]


def _seen(capture: Path) -> ColumnTable:
    """Read the packets of a capture with their flow; `forward` is from h1, which opens all."""
    reading = read(capture, packets=True)
    packets, connections = reading.packet_table, reading.connection_table
    assert packets is not None
    index = np.searchsorted(connections["connection"].values, packets["connection"].values)
    flows = connections.whole("port_b") - FIRST_PORT
    return packets.select(*_USED).having(flow=flows[index])


def _trips(begun: float, sent: ColumnTable, arrived: ColumnTable, forward: bool) -> ColumnTable:
    """Return the packets of one way with their arrival, in seconds since the flows began."""
    trips = arrivals(*(each.rows(each["forward"].values == forward) for each in (sent, arrived)))
    start = int(begun * _NANO)
    since = {
        name: TableColumn((trips.whole(name) - start) / _NANO, trips[name].valid)
        for name in ("time", "arrived")
    }
    return trips.having(**since)


def _segments(data: ColumnTable, back: ColumnTable) -> Frame:
    """Return data as it left the sender, and ACKs and SACK blocks as they reached it."""
    again = ~np.isin(data["kind"].values, _NEW)
    kinds = np.where(data["arrived"].is_known, np.where(again, AGAIN, DATA), LOST)
    came, flows, sacks = back["arrived"].values, back["flow"].values, back.lists("sacks")
    left, right = sacks.values.astype(np.int64).reshape(-1, 2).T  # pairs of edges
    row = np.repeat(np.arange(len(back)), sacks.lengths // 2)
    parts = (
        (*(data[name].values for name in ("time", "flow", "sequence", "payload")), kinds, again),
        (came, flows, back.whole("acknowledgement"), 0, ACK, False),
        (came[row], flows[row], left, right - left, SACKED, False),
    )
    columns = {
        name: np.concatenate([np.broadcast_to(part[at], len(part[0])) for part in parts])
        for at, name in enumerate(("time", "flow", "sequence", "length", "kind", "again"))
    }
    order = np.argsort(columns["time"], kind="stable")
    return Frame.of("packets", {name: column[order] for name, column in columns.items()})


def _stage(outward: ColumnTable, answers: ColumnTable, far: ColumnTable) -> Iterator[Frame]:
    """Yield the packets of both ways that the stage has, and the times of these if not of all."""
    kept = KeptTimes.of(outward, answers)
    sent, back = kept.rows(outward), kept.rows(answers)
    if kept.spans:
        begins, ends = np.array(kept.spans, np.float64).T
        yield Frame.of("kept", {"from": begins, "to": ends})
    acks, blocks = ack_columns(back)
    yield Frame.of("sent", sent_columns(sent, far))
    yield Frame.of("acks", acks)
    yield Frame.of("blocks", blocks)


def _rates(came: ColumnTable) -> Frame:
    """Return the goodput of each flow at the receiver: new bytes in each BUCKET."""
    new = came.rows(RowGroups(came["flow"].values, came["sequence"].values).first)
    flows, times, sizes = (new[name].values for name in ("flow", "arrived", "payload"))
    buckets = (np.maximum(times, 0) / BUCKET).astype(np.int64)
    length = int(buckets.max(initial=-1)) + 1
    present = np.unique(flows)
    rates = [
        np.bincount(buckets[flows == flow], sizes[flows == flow], length) * 8 / BUCKET / 1e6
        for flow in present
    ]
    return by_bucket("rates", present, length, goodput=np.concatenate([np.zeros(0), *rates]))


def by_bucket(kind: str, flows: np.ndarray[Any, Any], length: int, **values: Any) -> Frame:
    """Return values of flow after flow, each with `length` buckets of time."""
    times = np.tile((np.arange(length) + 1) * BUCKET, len(flows))
    return Frame.of(kind, {"time": times, "flow": np.repeat(flows, length), **values})


def _queue(trips: ColumnTable) -> Frame:
    """Return each packet's wait beyond the fastest, and the packets that came meanwhile."""
    left, came = trips["time"].values, trips["arrived"].values
    waited = came - left - (came - left).min(initial=np.inf)
    order = np.sort(came)
    ahead = np.searchsorted(order, came) - np.searchsorted(order, came - waited)
    return Frame.of("queue", {"time": left, "delay": waited * 1000, "packets": ahead})


def _sequences(kind: str, table: ColumnTable) -> Frame:
    return Frame.of(kind, {name: table[name].values for name in ("time", "flow", "sequence")})


_OPEN, _DISORDER, _CWR, _RECOVERY, _LOSS = range(5)  # enum tcp_ca_state, include/uapi/linux/tcp.h
_HYSTART = ("TcpExtTCPHystartTrainDetect", "TcpExtTCPHystartDelayDetect")
_PROBED = "TcpExtTCPLossProbes"
_TEXTS: dict[str, dict[str, str]] = toml_file(Path(__file__).with_name("events.toml"))
_ENTERED = {_CWR: "reduced", _RECOVERY: "recovery", _LOSS: "timeout"}
_KB = 1000  # as on the graphs' axes


@dataclass(frozen=True)
class PlayEvent:
    """An event of flow number `flow` (from 0) at `time` (s), explained in a sentence."""

    time: float
    flow: int
    kind: str
    sentence: str


def events(samples: Frame, probes: Frame, folder: Path) -> list[PlayEvent]:
    """Return all events by time, of the samples and tail loss `probes` of a condition's folder."""
    counters = json_value(untrusted.content(folder, "counters.json"))
    before, after = (counters[when]["h1"] for when in ("before", "after"))
    grown = {name for name, value in after.items() if value != before.get(name, 0)}
    flows = np.unique(samples.columns["flow"])
    found = [event for flow in flows for event in _of_flow(samples, int(flow), grown)]
    if _PROBED in grown:
        found += [
            PlayEvent(float(time), int(flow), *_TEXTS["probe"].values())
            for time, flow in zip(probes.columns["time"], probes.columns["flow"], strict=True)
        ]
    return sorted(found, key=lambda event: event.time)


def _of_flow(samples: Frame, flow: int, grown: set[str]) -> Iterator[PlayEvent]:
    rows = samples.of_flow(flow)
    state, in_slow_start = rows["state"], np.isnan(rows["ssthresh"])
    left = False
    for at in range(1, len(state)):
        time = float(rows["time"][at])
        if not left and in_slow_start[at - 1] and not in_slow_start[at]:
            left = True
            cause = "hystart" if grown.intersection(_HYSTART) else "other"
            sentence = _TEXTS["left"][cause if state[at] == _OPEN else "full"]
            window = f"{rows['cwnd'][at - 1] / _KB:.3g}"
            yield PlayEvent(time, flow, _TEXTS["left"]["name"], sentence.format(window=window))
        if state[at] != state[at - 1] and state[at] in _ENTERED:
            kind, sentence = _TEXTS[_ENTERED[int(state[at])]].values()
            sizes = (f"{rows[name][at] / _KB:.3g}" for name in ("cwnd", "ssthresh"))
            yield PlayEvent(time, flow, kind, sentence.format(*sizes))
