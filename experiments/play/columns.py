"""A run as columns: socket samples while it runs, packets and events when it has ended."""

from collections.abc import Iterable, Iterator, Sequence
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


def samples(lines: Iterable[str], begun: float) -> Frame:
    """Read the samples of a sender from socket_sampling; `begun` is in seconds since 1970."""
    rows = [
        (parsed["time"] - begun, socket)
        for parsed in map(json_value, lines)
        for socket in parsed["sockets"]
        if _flow_of(socket) >= 0
    ]
    return Frame(
        "samples",
        {
            "time": np.array([time for time, _ in rows], np.float64),
            "flow": np.array([_flow_of(row) for _, row in rows], np.uint8),
            "cwnd": _numbers(rows, lambda row: row["cwnd"] * row["mss"]),
            "ssthresh": _numbers(rows, _threshold),
            "in_flight": _numbers(rows, _in_flight),
            "rtt": _numbers(rows, lambda row: row["rtt_us"] / 1000),
            "delivered": _numbers(rows, lambda row: row["bytes_acked"]),
            "state": np.array([row["ca_state"] for _, row in rows], np.uint8),
        },
    )


def joined(frames: Sequence[Frame]) -> Frame:
    names = frames[0].columns
    columns = {name: np.concatenate([each.columns[name] for each in frames]) for name in names}
    return Frame(frames[0].kind, columns)


def _flow_of(socket: dict[str, Any]) -> int:
    return int(socket["remote"].rpartition(":")[2]) - FIRST_PORT


def _numbers(rows: list[tuple[float, dict[str, Any]]], value: Any) -> np.ndarray[Any, Any]:
    return np.array([value(row) for _, row in rows], np.float64)


def _threshold(row: dict[str, Any]) -> float:
    return float("nan") if row["ssthresh"] is None else row["ssthresh"] * row["mss"]


def _in_flight(row: dict[str, Any]) -> float:
    """Return tcp_packets_in_flight of include/net/tcp.h, in bytes."""
    segments = row["unacked"] - row["sacked"] - row["lost"] + row["retrans"]
    return float(max(0, segments) * row["mss"])


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
        Frame("packets", _segments(outward.rows(data), answers.rows(answers["arrived"].is_known))),
        Frame("rates", _rates(outward.rows(data & came))),
        Frame("queue", _queue(outward.rows(came))),
        *_stage(outward, answers, far),
        Frame("drops", _columns(outward.rows(data & ~came), "sequence")),
        Frame(PROBES, _columns(outward.rows(probes), "sequence")),
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


def _segments(data: ColumnTable, back: ColumnTable) -> Columns:
    """Return data as it left the sender, and ACKs and SACK blocks as they reached it."""
    again = ~np.isin(data["kind"].values, _NEW)
    lost = ~data["arrived"].is_known
    parts = (
        (
            *(data[name].values for name in ("time", "flow", "sequence", "payload")),
            np.where(lost, LOST, np.where(again, AGAIN, DATA)),
            again,
        ),
        (back["arrived"].values, back["flow"].values, back.whole("acknowledgement"), 0, ACK, False),
        _blocks(back),
    )
    columns = {
        name: np.concatenate([np.broadcast_to(part[at], len(part[0])) for part in parts])
        for at, name in enumerate(_SEGMENT)
    }
    order = np.argsort(columns["time"], kind="stable")
    return {name: column[order].astype(_SEGMENT[name]) for name, column in columns.items()}


_SEGMENT: dict[str, Any] = {
    "time": np.float64,
    "flow": np.uint8,
    "sequence": np.float64,
    "length": np.int32,
    "kind": np.uint8,
    "again": np.uint8,
}


def _blocks(back: ColumnTable) -> tuple[Any, ...]:
    """Return the columns of _SEGMENT of each SACK block: `sacks` holds pairs of edges."""
    sacks = back.lists("sacks")
    left, right = sacks.values.astype(np.int64).reshape(-1, 2).T
    row = np.repeat(np.arange(len(back)), sacks.lengths // 2)
    return back["arrived"].values[row], back["flow"].values[row], left, right - left, SACKED, False


def _stage(outward: ColumnTable, answers: ColumnTable, far: ColumnTable) -> Iterator[Frame]:
    """Yield the packets of both ways that the stage has, and the times of these if not of all."""
    kept = KeptTimes.of(outward, answers)
    sent, back = kept.rows(outward), kept.rows(answers)
    if kept.spans:
        begins, ends = np.array(kept.spans, np.float64).T
        yield Frame("kept", {"from": begins, "to": ends})
    acks, blocks = ack_columns(back)
    for kind, columns in (("sent", sent_columns(sent, far)), ("acks", acks), ("blocks", blocks)):
        typed = {name: column.astype(_STAGE[name]) for name, column in columns.items()}
        yield Frame(kind, typed)


_STAGE: dict[str, Any] = {
    **dict.fromkeys(("sent", "arrived", "sequence", "acknowledgement"), np.float64),
    **dict.fromkeys(("left", "right"), np.float64),
    **dict.fromkeys(("length", "ack", "window"), np.int32),
    **dict.fromkeys(("kind", "flow", "marked"), np.uint8),
}


def _rates(came: ColumnTable) -> Columns:
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
    return {
        "time": np.tile((np.arange(length) + 1) * BUCKET, len(present)),
        "flow": np.repeat(present, length).astype(np.uint8),
        "goodput": np.concatenate(rates) if rates else np.zeros(0),
    }


def _queue(trips: ColumnTable) -> Columns:
    """Return each packet's wait beyond the fastest, and the packets that came meanwhile."""
    left, came = trips["time"].values, trips["arrived"].values
    waited = came - left - (came - left).min(initial=np.inf)
    order = np.sort(came)
    ahead = np.searchsorted(order, came) - np.searchsorted(order, came - waited)
    return {"time": left, "delay": waited * 1000, "packets": ahead.astype(np.int32)}


def _columns(table: ColumnTable, name: str) -> Columns:
    return {
        "time": table["time"].values,
        "flow": table["flow"].values.astype(np.uint8),
        name: table[name].values.astype(np.float64),
    }


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
    grown = _grown(folder)
    flows = np.unique(samples.columns["flow"])
    found = [event for flow in flows for event in _of_flow(_only(samples, flow), int(flow), grown)]
    if grown.get(_PROBED, 0):
        found += [
            PlayEvent(float(time), int(flow), *_TEXTS["probe"].values())
            for time, flow in zip(probes.columns["time"], probes.columns["flow"], strict=True)
        ]
    return sorted(found, key=lambda event: event.time)


def _only(samples: Frame, flow: int) -> dict[str, Any]:
    rows = samples.columns["flow"] == flow
    return {name: column[rows] for name, column in samples.columns.items()}


def _of_flow(rows: dict[str, Any], flow: int, grown: dict[str, int]) -> Iterator[PlayEvent]:
    slow_start = np.isnan(rows["ssthresh"])
    state = rows["state"]
    left = False
    for at in range(1, len(state)):
        time = float(rows["time"][at])
        if not left and slow_start[at - 1] and not slow_start[at]:
            left = True
            yield PlayEvent(time, flow, _TEXTS["left"]["name"], _left(rows, at, grown))
        if state[at] != state[at - 1] and state[at] in _ENTERED:
            kind, sentence = _TEXTS[_ENTERED[int(state[at])]].values()
            window = (rows[name][at] / _KB for name in ("cwnd", "ssthresh"))
            yield PlayEvent(
                time, flow, kind, sentence.format(*(f"{amount:.3g}" for amount in window))
            )


def _left(rows: dict[str, Any], at: int, grown: dict[str, int]) -> str:
    if rows["state"][at] in (_RECOVERY, _LOSS, _CWR, _DISORDER):
        cause = "full"
    else:
        cause = "hystart" if any(grown.get(name, 0) for name in _HYSTART) else "other"
    return _TEXTS["left"][cause].format(window=f"{rows['cwnd'][at - 1] / _KB:.3g}")


def _grown(folder: Path) -> dict[str, int]:
    counters = json_value(untrusted.content(folder, "counters.json"))
    before, after = (counters[when]["h1"] for when in ("before", "after"))
    return {name: value - before.get(name, 0) for name, value in after.items()}
