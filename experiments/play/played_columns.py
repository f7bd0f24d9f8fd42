"""A run as columns: samples of the senders' sockets while it goes on, its packets at its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis.flows.columns import KINDS
from analysis.flows.matching import arrivals
from analysis.flows.reader import read
from experiments.playground import FIRST_PORT

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
    *("flags", "sacks", "timestamp", "echo", "ip_id", "kind"),
)


@dataclass(frozen=True)
class Frame:
    """Columns of the same length. `kind` is samples, packets, rates, queue or drops.

    Times are seconds since the flows began; `flow` counts from 0. samples: cwnd, ssthresh (NaN
    before slow start has ended), in_flight, delivered (bytes), rtt (ms), state (enum tcp_ca_state).
    packets: sequence, length (bytes), kind, again (0 or 1). rates: goodput (Mbit/s). queue: delay
    (ms), packets.
    """

    kind: str
    columns: Columns


def samples(lines: Iterable[str], begun: float) -> Frame:
    """The samples of a sender, as socket_sampling writes them; `begun` is in seconds since 1970."""
    rows = [
        (parsed["time"] - begun, socket)
        for parsed in map(json.loads, lines)
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
    """Frames of one kind, one behind the other."""
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
    """tcp_packets_in_flight of include/net/tcp.h, in bytes."""
    segments = row["unacked"] - row["sacked"] - row["lost"] + row["retrans"]
    return float(max(0, segments) * row["mss"])


def packets(folder: Path, begun: float) -> list[Frame]:
    """What a condition's folder of captures tells: packets, rates, queue and drops."""
    with ThreadPoolExecutor(2) as turns:
        near, far = turns.map(_seen, (folder / f"{host}-eth0.pcap" for host in ("h1", "h2")))
        going = turns.submit(_trips, begun, near, far, pl.col("forward"))
        coming = turns.submit(_trips, begun, far, near, ~pl.col("forward"))
        outward, answers = going.result(), coming.result()
    data = outward.filter(pl.col("payload") > 0)
    back = answers.filter(pl.col("arrived").is_not_null())
    return [
        Frame("packets", _segments(data, back)),
        Frame("rates", _rates(data)),
        Frame("queue", _queue(outward.filter(pl.col("arrived").is_not_null()))),
        Frame("drops", _columns(data.filter(pl.col("arrived").is_null()), "sequence")),
        Frame(PROBES, _columns(data.filter(pl.col("kind") == _PROBE), "sequence")),
    ]


def _seen(capture: Path) -> pl.DataFrame:
    """The packets of a capture with their flow. They go `forward` from h1, which opens all."""
    reading = read(capture, packets=True)
    assert reading.packets is not None
    flows = reading.connections.select("connection", flow=pl.col("port_b") - FIRST_PORT)
    return reading.packets.select(_USED).join(flows, on="connection", maintain_order="left")


def _trips(begun: float, sent: pl.DataFrame, arrived: pl.DataFrame, way: pl.Expr) -> pl.DataFrame:
    """The packets of one way, and when they arrived, in seconds since the flows began."""
    trips = arrivals(sent.filter(way), arrived.filter(way))
    since = [(pl.col(name) - int(begun * _NANO)) / _NANO for name in ("time", "arrived")]
    return trips.with_columns(since)


def _segments(data: pl.DataFrame, back: pl.DataFrame) -> Columns:
    """Data as it left the sender, and ACKs as they reached it, with the blocks of their SACKs."""
    again = ~pl.col("kind").is_in(_NEW)
    lost = pl.col("arrived").is_null()
    sent = data.select(
        "time",
        "flow",
        "sequence",
        length=pl.col("payload"),
        kind=pl.when(lost).then(LOST).when(again).then(AGAIN).otherwise(DATA),
        again=again,
    )
    acks = back.select(
        pl.col("arrived").alias("time"),
        "flow",
        sequence=pl.col("acknowledgement"),
        length=pl.lit(0),
        kind=pl.lit(ACK),
        again=pl.lit(False),
    )
    blocks = _blocks(back)
    frames = [
        frame.select(pl.col(name).cast(kind) for name, kind in _SEGMENT.items())
        for frame in (sent, acks, blocks)
    ]
    whole = pl.concat(frames).sort("time", maintain_order=True)
    return {name: whole[name].to_numpy() for name in _SEGMENT}


_SEGMENT: dict[str, Any] = {
    "time": pl.Float64,
    "flow": pl.UInt8,
    "sequence": pl.Float64,
    "length": pl.Int32,
    "kind": pl.UInt8,
    "again": pl.UInt8,
}


def _blocks(back: pl.DataFrame) -> pl.DataFrame:
    """The left edge and length of each SACK block: `sacks` holds pairs of edges."""
    rows = back.filter(pl.col("sacks").list.len() > 0)
    pairs = rows.select(
        pl.col("arrived").alias("time"),
        "flow",
        sequence=pl.col("sacks").list.gather_every(2),
        right=pl.col("sacks").list.gather_every(2, 1),
    ).explode("sequence", "right")
    length = (pl.col("right") - pl.col("sequence")).cast(pl.Int32)
    return pairs.select(
        "time", "flow", "sequence", length=length, kind=pl.lit(SACKED), again=pl.lit(False)
    )


def _rates(data: pl.DataFrame) -> Columns:
    """Goodput at the receiver, of each flow: new bytes in each BUCKET."""
    came = data.filter(pl.col("arrived").is_not_null()).unique(["flow", "sequence"], keep="first")
    flows = came["flow"].to_numpy()
    times, sizes = came["arrived"].to_numpy(), came["payload"].to_numpy()
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


def _queue(trips: pl.DataFrame) -> Columns:
    """How long each packet waited beyond the quickest, and how many came while it did."""
    left, came = trips["time"].to_numpy(), trips["arrived"].to_numpy()
    waited = came - left - (came - left).min(initial=np.inf)
    order = np.sort(came)
    ahead = np.searchsorted(order, came) - np.searchsorted(order, came - waited)
    return {"time": left, "delay": waited * 1000, "packets": ahead.astype(np.int32)}


def _columns(frame: pl.DataFrame, name: str) -> Columns:
    return {
        "time": frame["time"].to_numpy(),
        "flow": frame["flow"].to_numpy().astype(np.uint8),
        name: frame[name].to_numpy().astype(np.float64),
    }
