"""Captures as analysis.flows gives them, of made-up traffic: a small TCP over a link with loss.

The sender is a plain Reno: one window, fast retransmission after three duplicate ACKs (of the
first hole, or with SACK of each reported one), a fixed time-out. It is there to draw graphs of,
not to study.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

from analysis.graphs import Capture
from analysis.graphs.capture import SIGNS_OF_TROUBLE
from tests.analysis.tables_of_frames import table_of

MSS = 1448
START = 1_700_000_000_000_000_000
SCHEMA: dict[str, Any] = {
    "number": pl.UInt64,
    "time": pl.Int64,
    "connection": pl.UInt32,
    "forward": pl.Boolean,
    "sequence": pl.UInt64,
    "acknowledgement": pl.UInt64,
    "payload": pl.UInt32,
    "window": pl.UInt64,
    "flags": pl.UInt16,
    "sacks": pl.List(pl.UInt64),
    "dsack": pl.Boolean,
    "timestamp": pl.UInt32,
    "echo": pl.UInt32,
    "ip_id": pl.UInt16,
    "ecn": pl.UInt8,
    "ttl": pl.UInt8,
    "kind": pl.UInt8,
    "in_flight": pl.UInt64,
    "peer_in_flight": pl.UInt64,
    "rtt": pl.Int64,
}
Row = dict[str, Any]
UNMARKED: Row = dict.fromkeys(("timestamp", "echo", "rtt")) | {"sacks": [], "dsack": False}
UNMARKED |= {"ecn": 0, "ttl": 64, "kind": 0, "in_flight": 0, "peer_in_flight": 0}


@dataclass
class Made:
    """A connection over a link.

    `rate` in byte/s, `delay` one way in s, `loss` of data as a share, `size` in bytes.
    """

    connection: int = 1
    size: int = 400_000
    rate: float = 125_000.0
    delay: float = 0.04
    loss: float = 0.0
    sack: bool = True
    seed: int = 1
    begin: float = 0.0
    near: list[Row] = field(default_factory=list)
    far: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._events: list[tuple[float, int, str, Any]] = []
        self._count = 0
        self._free = 0.0
        self._una = self._next = 1
        self._cwnd, self._ssthresh = 10.0, 64.0
        self._sacked: set[int] = set()
        self._got: set[int] = set()
        self._again: set[int] = set()
        self._since: dict[int, float] = {}
        self._duplicates, self._recover, self._expected = 0, 0, 1
        self._run()

    def _at(self, time: float, what: str, data: Any) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, what, data))

    def _run(self) -> None:
        now = self.begin
        self._packet(now, True, 0, None, 0, flags=2)
        self._packet(now + 2 * self.delay, False, 0, 1, 0, flags=18)
        self._fill(now + 2 * self.delay)
        while self._events:
            now, _, what, data = heapq.heappop(self._events)
            getattr(self, what)(now, data)

    def _packet(
        self, now: float, forward: bool, sequence: int, ack: int | None, payload: int, **more: Any
    ) -> None:
        arrives = more.pop("arrives", now + self.delay)
        stamp = START + round(now * 1e9)
        row = UNMARKED | {
            "time": stamp,
            "connection": self.connection,
            "forward": forward,
            "sequence": sequence,
            "acknowledgement": ack,
            "payload": payload,
            "window": 65535,
            "flags": 16,
            "ip_id": self._count % 65536,
            **more,
        }
        self._count += 1
        (self.near if forward else self.far).append(row)
        if arrives is not None:
            arrived = row | {"time": START + round(arrives * 1e9)}
            (self.far if forward else self.near).append(arrived)

    def _send(self, now: float, sequence: int, kind: int) -> None:
        payload = min(MSS, self.size + 1 - sequence)
        self._free = max(self._free, now) + payload / self.rate
        arrives = None if self._chance.random() < self.loss else self._free + self.delay
        if kind != 1:
            self._again.add(sequence)
        self._since[sequence] = now
        self._packet(
            now, True, sequence, 1, payload, kind=kind, in_flight=self._flight(), arrives=arrives
        )
        if arrives is not None:
            self._at(arrives, "_arrived", (sequence, payload))
        self._at(now + 10 * self.delay + 0.6, "_late", (sequence, now))

    def _flight(self) -> int:
        return self._next - self._una - MSS * len(self._sacked)

    def _fill(self, now: float) -> None:
        while self._next <= self.size and self._flight() < self._cwnd * MSS:
            sequence, self._next = self._next, min(self._next + MSS, self.size + 1)
            self._send(now, sequence, 1)

    def _late(self, now: float, sent: tuple[int, float]) -> None:
        sequence, when = sent
        if sequence == self._una and self._since[sequence] == when and self._una <= self.size:
            self._ssthresh, self._cwnd = max(self._cwnd / 2, 2), 1.0
            self._recover, self._duplicates = self._next, 0
            self._sacked.clear()
            self._send(now, sequence, 4)

    def _arrived(self, now: float, segment: tuple[int, int]) -> None:
        sequence, payload = segment
        arrived_before = sequence < self._expected or sequence in self._got
        self._got.add(sequence)
        while self._expected in self._got:
            self._got.discard(self._expected)
            self._expected = min(self._expected + MSS, self.size + 1)
        blocks = self._blocks() if self.sack else []
        dsack = arrived_before and self.sack
        sacks = ([sequence, sequence + payload] if dsack else []) + blocks
        self._at(now + self.delay, "_acked", (self._expected, sacks[:6], dsack, now))

    def _blocks(self) -> list[int]:
        blocks: list[list[int]] = []
        for sequence in sorted(number for number in self._got if number > self._expected):
            if blocks and blocks[-1][1] == sequence:
                blocks[-1][1] = sequence + MSS
            else:
                blocks.append([sequence, sequence + MSS])
        return [edge for block in blocks[::-1] for edge in block]

    def _acked(self, now: float, answer: tuple[int, list[int], bool, float]) -> None:
        ack, sacks, dsack, sent = answer
        last = max((number for number in self._since if self._una <= number < ack), default=None)
        is_timed = last is not None and last not in self._again
        rtt = round((now - self._since[last]) * 1e9) if is_timed else None
        self._packet(sent, False, 1, ack, 0, sacks=sacks, dsack=dsack, arrives=now, rtt=rtt)
        for left, right in zip(sacks[2 * dsack :: 2], sacks[2 * dsack + 1 :: 2], strict=True):
            self._sacked.update(range(left, right, MSS))
        self._new(now, ack) if ack > self._una else self._duplicate(now)
        self._fill(now)

    def _new(self, now: float, ack: int) -> None:
        self._una, self._duplicates = ack, 0
        self._sacked = {number for number in self._sacked if number >= ack}
        if ack < self._recover:
            self._repair(now)
        else:
            self._cwnd += 1 if self._cwnd < self._ssthresh else 1 / self._cwnd

    def _duplicate(self, now: float) -> None:
        self._duplicates += 1
        if self._duplicates == 3 and self._una >= self._recover:
            self._ssthresh = self._cwnd = max(self._cwnd / 2, 2)
            self._recover = self._next
            self._again -= set(range(self._una, self._next, MSS))
            self._repair(now)
        elif self._duplicates > 3 and self.sack:
            self._repair(now)

    def _repair(self, now: float) -> None:
        end = max(self._sacked, default=self._una + 1) if self.sack else self._una + 1
        for hole in range(self._una, end, MSS):
            is_new = hole not in self._again or now - self._since[hole] > 4 * self.delay
            if hole not in self._sacked and is_new:
                self._send(now, hole, 3 if self.sack else 2)
                return


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """The rows in the order of their times, numbered."""
    ordered = enumerate(sorted(rows, key=lambda row: row["time"]), 1)
    return pl.DataFrame([{"number": place, **row} for place, row in ordered], schema=SCHEMA)


def connections(numbers: Iterable[int], vantage: str = "a") -> pl.DataFrame:
    """The columns of the connections that graphs use."""
    rows = [
        {
            "connection": number,
            "host_a": "10.0.0.1",
            "port_a": 40000 + number,
            "host_b": "10.0.0.2",
            "port_b": 5001,
            "vantage": vantage,
            "syns_a2b": 1,
            "syns_b2a": 1,
            "actual_data_bytes_a2b": number,
            "actual_data_bytes_b2a": 0,
            **{f"{sign}_{way}": 0 for sign in SIGNS_OF_TROUBLE for way in ("a2b", "b2a")},
        }
        for number in numbers
    ]
    return pl.DataFrame(rows, schema_overrides={"connection": pl.UInt32})


def both_ends(*made: Made) -> tuple[Capture, Capture]:
    """The captures at a and at b of several connections."""
    numbers = [each.connection for each in made]
    near = table_of(frame(row for each in made for row in each.near))
    far = table_of(frame(row for each in made for row in each.far))
    return (
        Capture("h1-eth0", near, table_of(connections(numbers, "a"))),
        Capture("h2-eth0", far, table_of(connections(numbers, "b"))),
    )


def large(segments: int = 1_000_000, again: int = 2000, seed: int = 1) -> Capture:
    """A capture of one long transfer, with noisy times.

    Two of three segments carry data, `again` of them are retransmissions.
    """
    chance = np.random.default_rng(seed)
    number = np.arange(segments)
    data = number % 3 != 2
    time = START + np.cumsum(chance.integers(4_000, 20_000, segments))
    kind = np.where(data, 1, 0)
    resent = chance.choice(np.nonzero(data & (number > 300))[0], again, replace=False)
    kind[resent] = chance.choice([2, 3, 4, 5, 6, 10], again)
    new = data & (kind == 1)
    after = 1 + np.cumsum(new) * MSS
    low = np.where(data, after - MSS, 1)
    low[resent] = after[resent] - MSS * chance.integers(2, 100, again)
    acked = np.maximum.accumulate(
        np.where(data, 1, np.maximum(after - MSS * chance.integers(60, 80, segments), 1))
    )
    columns = {
        "number": number + 1,
        "time": time,
        "connection": np.ones(segments, np.uint32),
        "forward": data,
        "sequence": low,
        "acknowledgement": np.where(data, 1, acked),
        "payload": np.where(data, MSS, 0),
        "window": 3_000_000 + chance.integers(0, 64, segments) * 1024,
        "flags": np.full(segments, 16),
        "ecn": np.zeros(segments, np.uint8),
        "ttl": np.full(segments, 64),
        "kind": kind,
        "in_flight": np.where(data, after - acked, 0),
        "peer_in_flight": np.where(data, 0, after - acked),
    }
    made = pl.DataFrame(columns).with_columns(
        sacks=pl.lit([], dtype=pl.List(pl.UInt64)),
        dsack=pl.lit(False),
        timestamp=pl.lit(None),
        echo=pl.lit(None),
        ip_id=pl.lit(None),
        rtt=pl.when("forward").then(None).otherwise(pl.Series(chance.integers(5e5, 9e5, segments))),
    )
    return _capture(made.select(*SCHEMA).cast(SCHEMA))


def read_sample(path: Path) -> Capture:
    """A capture of one connection to port 5001 with its SYNs, read by Scapy.

    Any repeated byte counts as a retransmission.
    """
    first: dict[bool, int] = {}
    scale: dict[bool, int] = {}
    highest = {True: 0, False: 0}
    rows = []
    with PcapReader(str(path)) as reader:
        packets = [packet for packet in reader if TCP in packet]
    for packet in packets:
        ip, tcp = packet[IP], packet[TCP]
        forward, options, syn = tcp.dport == 5001, dict(tcp.options), "S" in tcp.flags
        if syn:
            first[forward], scale[forward] = tcp.seq, options["WScale"]
        sequence, base = tcp.seq - first[forward], first.get(not forward, 0)
        payload = ip.len - 4 * (ip.ihl + tcp.dataofs)
        kind = 0 if payload == 0 else 3 if sequence < highest[forward] else 1
        highest[forward] = max(highest[forward], sequence + payload)
        facts = {
            "time": int(packet.time * 10**9),
            "connection": 1,
            "forward": forward,
            "sequence": sequence,
            "acknowledgement": tcp.ack - base if "A" in tcp.flags else None,
            "payload": payload,
            "window": tcp.window << (0 if syn else scale[forward]),
            "flags": int(tcp.flags),
            "sacks": [edge - base for edge in options.get("SAck", ())],
            "ip_id": ip.id,
            "ttl": ip.ttl,
            "kind": kind,
        }
        rows.append(UNMARKED | facts)
    return _capture(frame(rows))


def _capture(packets: pl.DataFrame) -> Capture:
    return Capture("h1-eth0", table_of(packets), table_of(connections([1])))
