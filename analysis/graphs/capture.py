"""What the graphs are drawn from: the frames of `analysis.flows`, cut into directions.

The frames' columns are defined in analysis/flows/columns.csv. Times become ns since a start that
all captures of one page share, so that their graphs can stand above each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64] | NDArray[np.floating[Any]]
Whole = NDArray[np.int64]
FIN, SYN, RST = 1, 2, 4
"""Bits of the column `flags` (RFC 9293)."""


@dataclass(frozen=True)
class Capture:
    """One capture file's frames and what it is called on the page, such as its interface."""

    label: str
    packets: pl.DataFrame
    connections: pl.DataFrame

    @property
    def start(self) -> int:
        """ns since 1970 of the first segment; 0 without any."""
        return int(self.packets["time"].min() or 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SentSegments:
    """Segments that take sequence numbers or are retransmitted.

    `low` to `high` in bytes from the SYN, `time` in ns.
    """

    time: Whole
    low: Whole
    high: Whole
    kind: Whole
    number: Whole
    in_flight: Whole


@dataclass(frozen=True)
class Acknowledgements:
    """ACKs for what was sent.

    `highest` never falls; `edge` is the first byte beyond the window; `rtt` is -1 for none.
    """

    time: Whole
    highest: Whole
    edge: Whole
    window: Whole
    number: Whole
    rtt: Whole


@dataclass(frozen=True)
class SackBlocks:
    """SACK blocks, one row each.

    `duplicate` says that it reports a segment that arrived twice (RFC 2883).
    """

    time: Whole
    left: Whole
    right: Whole
    duplicate: NDArray[np.bool_]
    number: Whole


@dataclass(frozen=True)
class CaptureDirection:
    """What one end of a connection sent and what the other end answered.

    `start` is the page's, in ns since 1970.
    """

    capture: str
    connection: int
    forward: bool
    source: str
    target: str
    vantage: str
    start: int
    sent: SentSegments
    answers: Acknowledgements
    blocks: SackBlocks

    @property
    def name(self) -> str:
        return f"{self.source} \N{RIGHTWARDS ARROW} {self.target}"

    @property
    def at_receiver(self) -> bool:
        """Whether the capture was taken at the end at which this direction arrives."""
        return self.vantage == ("b" if self.forward else "a")

    @property
    def short_name(self) -> str:
        """Like tcptrace's: the number of the connection and the direction."""
        return f"{self.connection}_{'a2b' if self.forward else 'b2a'}"

    @property
    def payload(self) -> int:
        """Bytes, each as often as it was sent, with one for SYN and FIN."""
        return int((self.sent.high - self.sent.low).sum())


def resolution(capture: Capture) -> int:
    """The capture's clock in ns: 1000 if all times are whole microseconds, otherwise 1."""
    return 1000 if bool((capture.packets["time"] % 1000 == 0).all()) else 1


def directions(
    capture: Capture, start: int | None = None, most: int | None = None
) -> list[CaptureDirection]:
    """Both directions of each connection, if they sent something, in the order of the file.

    Of the `most` largest connections only.
    """
    begin = capture.start if start is None else start
    packets = capture.packets if most is None else _largest(capture.packets, most)
    facts = {row["connection"]: row for row in capture.connections.iter_rows(named=True)}
    both_ways = [
        _direction(capture.label, facts.get(connection, {}), connection, forward, both, begin)
        for connection, both in _by_connection(packets)
        for forward in (True, False)
    ]
    return [direction for direction in both_ways if len(direction.sent.time)]


def _largest(packets: pl.DataFrame, most: int) -> pl.DataFrame:
    if packets["connection"].n_unique() <= most:
        return packets
    sums = packets.group_by("connection").agg(pl.col("payload").cast(pl.UInt64).sum())
    chosen = sums.sort(["payload", "connection"], descending=[True, False]).head(most)
    return packets.join(
        chosen.select("connection"), on="connection", how="semi", maintain_order="left"
    )


def _by_connection(packets: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    if not packets["time"].is_sorted():
        packets = packets.sort("time", maintain_order=True)
    parts = packets.partition_by("connection", maintain_order=True, as_dict=True)
    for key in sorted(parts):
        yield int(key[0]), parts[key]


def _direction(
    label: str,
    facts: dict[str, object],
    connection: int,
    forward: bool,
    both: pl.DataFrame,
    start: int,
) -> CaptureDirection:
    own, other = pl.col("forward") == forward, pl.col("forward") != forward
    ends = [f"{facts.get(f'host_{end}', end)}:{facts.get(f'port_{end}', '?')}" for end in "ab"]
    source, target = ends if forward else ends[::-1]
    answers = both.filter(
        other & pl.col("acknowledgement").is_not_null() & (pl.col("flags") & RST == 0)
    )
    return CaptureDirection(
        label,
        connection,
        forward,
        source,
        target,
        str(facts.get("vantage", "unknown")),
        start,
        _sent(both.filter(own), start),
        _answers(answers, start),
        _blocks(answers, start),
    )


def whole(column: pl.Series) -> Whole:
    """The column as NumPy's 64-bit integers."""
    return column.cast(pl.Int64).to_numpy()


def _sent(own: pl.DataFrame, start: int) -> SentSegments:
    flags = whole(own["flags"])
    low, kind = whole(own["sequence"]), whole(own["kind"])
    taken = whole(own["payload"]) + (flags & SYN > 0) + (flags & FIN > 0)
    drawn = (taken > 0) | (kind > 1)
    columns = (
        whole(own["time"]) - start,
        low,
        low + taken,
        kind,
        whole(own["number"]),
        whole(own["in_flight"]),
    )
    return SentSegments(*(column[drawn] for column in columns))


def _answers(answers: pl.DataFrame, start: int) -> Acknowledgements:
    acknowledged, window = whole(answers["acknowledgement"]), whole(answers["window"])
    return Acknowledgements(
        time=whole(answers["time"]) - start,
        highest=np.maximum.accumulate(acknowledged),
        edge=acknowledged + window,
        window=window,
        number=whole(answers["number"]),
        rtt=whole(answers["rtt"].fill_null(-1)),
    )


def _blocks(answers: pl.DataFrame, start: int) -> SackBlocks:
    """One row a block. Only the first block of an ACK can be a report of a duplicate."""
    some = answers.filter(pl.col("sacks").list.len() > 0)
    edges = whole(some["sacks"].explode()).reshape(-1, 2)
    counts = whole(some["sacks"].list.len()) // 2
    first = np.zeros(len(edges), dtype=np.bool_)
    first[np.cumsum(counts) - counts] = True
    return SackBlocks(
        time=np.repeat(whole(some["time"]) - start, counts),
        left=edges[:, 0],
        right=edges[:, 1],
        duplicate=first & np.repeat(some["dsack"].to_numpy(), counts),
        number=np.repeat(whole(some["number"]), counts),
    )


def all_directions(captures: Sequence[Capture], most: int | None = None) -> list[CaptureDirection]:
    """The directions of all captures, on one clock."""
    start = min((capture.start for capture in captures if len(capture.packets)), default=0)
    return [direction for capture in captures for direction in directions(capture, start, most)]
