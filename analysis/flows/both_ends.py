"""The captures of both ends of a path, matched.

Their connections are joined, and each direction is matched packet by packet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from analysis.flows.clock_drift import ClockDrift, clock_drift
from analysis.flows.matching import (
    FLOW,
    CaptureSpan,
    DirectionMatch,
    align_clocks,
    arrivals,
    delays,
    match,
)
from analysis.flows.reader import Engine, Reading, read
from analysis.flows.translated_ends import translated

_Key = tuple[tuple[tuple[str, int], ...], int]
_Rows = tuple[dict[str, Any], dict[str, Any]]
_Pair = tuple[dict[str, Any], dict[str, Any], bool]
"""A connection's rows in both captures, and whether the a of one is the b of the other."""
_SAMPLE = 20_000


class CaptureFrames(Protocol):
    """A capture's frames, as `flows.read` gives them."""

    @property
    def connections(self) -> pl.DataFrame: ...
    @property
    def packets(self) -> pl.DataFrame | None: ...


@dataclass(frozen=True)
class MatchedConnection:
    """A connection that both captures have: its rows in either, and both ways.

    `forward` is what the host at the near capture sent, `back` what it received. `offset` is the
    clocks' difference that was taken out (ns), 0 unless asked for. `drift` is what the clocks drift
    apart by, None if that is not noticed; it was taken out too if the offset was.
    """

    near: dict[str, Any]
    far: dict[str, Any]
    forward: DirectionMatch
    back: DirectionMatch
    offset: int = 0
    drift: ClockDrift | None = None

    @property
    def is_translated(self) -> bool:
        """Whether a NAT between the captures changed an end."""
        return {_end(self.near, "a"), _end(self.near, "b")} != {
            _end(self.far, "a"),
            _end(self.far, "b"),
        }


def match_captures(
    near: Path, far: Path, engine: Engine = "auto", mss: int | None = None, aligned: bool = False
) -> tuple[MatchedConnection, ...]:
    """Matches every connection that both captures have, in the near one's order.

    `mss` (bytes) takes super-packets apart; `aligned` takes the clocks' offset and drift out. Which
    end is the near capture's is told by the two directions' delays together, in which the offset
    cancels. Raises TcplabError as `flows.read`.
    """
    readings = [read(path, packets=True, engine=engine) for path in (near, far)]
    return match_readings(readings[0], readings[1], mss, aligned)


def match_readings(
    near: Reading, far: Reading, mss: int | None = None, aligned: bool = False
) -> tuple[MatchedConnection, ...]:
    """As `match_captures`, of captures that were read with their packets."""
    common = _CommonConnections(near, far)
    none = common.out[0].clear()
    parts = [
        frame.partition_by(FLOW, include_key=False, as_dict=True, maintain_order=True)
        for frame in (*common.out, *common.back)
    ]
    matched = [
        _matched(
            rows,
            [part.get((flow,), none.drop(FLOW)) for part in parts],
            (near.file, far.file),
            mss,
        )
        for flow, rows in enumerate(common.rows)
    ]
    return tuple(_with_clocks(matched, aligned))


def _with_clocks(
    matched: Sequence[MatchedConnection], aligned: bool
) -> Iterator[MatchedConnection]:
    """The connections with the drift of the clocks, which all of them show together.

    With `aligned` the drift and then the offset are taken out.
    """
    if not matched:
        return
    drift = clock_drift(
        [connection.forward for connection in matched], [connection.back for connection in matched]
    )
    for connection in matched:
        forward, back = connection.forward, connection.back
        if not aligned:
            yield replace(connection, drift=drift)
            continue
        if drift:
            forward, back = drift.out_of(forward, True), drift.out_of(back, False)
        forward, back, offset = align_clocks(forward, back)
        yield replace(connection, forward=forward, back=back, offset=offset, drift=drift)


def journeys(near: CaptureFrames, far: CaptureFrames) -> pl.DataFrame:
    """Every packet of the connections that both have, in order of time.

    Each is as the capture nearer to its sender has it, with `arrived` (ns; null if the other
    capture does not have it) and `outward` (sent on the near capture's side). A packet that only
    the capture nearer to its receiver has is left out. `connection` and `forward` are those of
    `near`, `connection_far` and `forward_far` those of `far`.
    """
    common = _CommonConnections(near, far)
    ways = [
        arrivals(*common.out).with_columns(outward=True),
        arrivals(*common.back).with_columns(outward=False),
    ]
    both = pl.concat(ways).drop("connection").join(common.numbers, on=FLOW)
    both = both.with_columns(forward_far=pl.col("forward") != pl.col("turned"))
    return both.drop("turned", FLOW).sort("time", maintain_order=True)


class _CommonConnections:
    """The connections that two captures have, numbered by `flow`, with all their packets.

    `rows` are the connections in both. `out` is what the host at the near capture sent, as (near,
    far) have it; `back` what it received, as (far, near) do. `forward` is the near capture's in all
    of them, and so are the numbers if a SYN is missing.
    """

    def __init__(self, near: CaptureFrames, far: CaptureFrames) -> None:
        pairs = _same_ends(near, far)
        pairs += _translated_ends(near, far, pairs)
        self.rows = [(one, other) for one, other, _ in pairs]
        self.numbers = _numbers(pairs)
        near_packets = _of_flows(near, self.numbers.select(FLOW, "connection"))
        far_packets = _of_flows(
            far, self.numbers.select(FLOW, "turned", connection="connection_far")
        )
        far_packets = far_packets.with_columns(forward=pl.col("forward") != pl.col("turned")).drop(
            "turned"
        )
        far_packets = _one_numbering(
            near_packets,
            far_packets,
            [flow for flow, rows in enumerate(self.rows) if not all(map(_whole, rows))],
        )
        sides = [
            _from_near(frame, way)
            for way in [_outward(near_packets, far_packets)]
            for frame in (near_packets, far_packets)
        ]
        self.out = (sides[0].filter("out").drop("out"), sides[1].filter("out").drop("out"))
        self.back = (
            sides[1].filter(~pl.col("out")).drop("out"),
            sides[0].filter(~pl.col("out")).drop("out"),
        )


def _by_ends(connections: pl.DataFrame) -> dict[_Key, dict[str, Any]]:
    """The connections by their two ends in any order, and by how many had the same before."""
    counts: Counter[object] = Counter()
    connections_by_ends: dict[_Key, dict[str, Any]] = {}
    for row in connections.iter_rows(named=True):
        ends = tuple(sorted((_end(row, "a"), _end(row, "b"))))
        connections_by_ends[ends, counts[ends]] = row
        counts[ends] += 1
    return connections_by_ends


def _end(row: dict[str, Any], side: str) -> tuple[str, int]:
    return row[f"host_{side}"], row[f"port_{side}"]


def _same_ends(near: CaptureFrames, far: CaptureFrames) -> list[_Pair]:
    ends = [_by_ends(capture.connections) for capture in (near, far)]
    rows = [(row, ends[1][key]) for key, row in ends[0].items() if key in ends[1]]
    return [(one, other, _end(one, "a") != _end(other, "a")) for one, other in rows]


def _translated_ends(
    near: CaptureFrames, far: CaptureFrames, known: Sequence[_Pair]
) -> Iterator[_Pair]:
    """The connections whose ends a NAT between the captures changed."""
    assert near.packets is not None and far.packets is not None
    others = [
        {row["connection"]: row for row in capture.connections.iter_rows(named=True)}
        for capture in (near, far)
    ]
    for one, other, _ in known:
        del others[0][one["connection"]], others[1][other["connection"]]
    if all(others):
        for pair in translated(near.packets, far.packets, others[0], others[1]):
            yield others[0][pair.near], others[1][pair.far], pair.is_turned


def _numbers(pairs: Sequence[_Pair]) -> pl.DataFrame:
    """`flow`, its numbers in both captures, and whether it is `turned`.

    In a turned flow the a of one capture is the b of the other.
    """
    types = {
        FLOW: pl.UInt32,
        "connection": pl.UInt32,
        "connection_far": pl.UInt32,
        "turned": pl.Boolean,
    }
    values = [
        (flow, near["connection"], far["connection"], turned)
        for flow, (near, far, turned) in enumerate(pairs)
    ]
    return pl.DataFrame(values, schema=types, orient="row")


def _of_flows(capture: CaptureFrames, numbers: pl.DataFrame) -> pl.DataFrame:
    assert capture.packets is not None
    return capture.packets.join(numbers, on="connection", maintain_order="left")


def _outward(near: pl.DataFrame, far: pl.DataFrame) -> pl.DataFrame:
    """For each `flow`, whether its end a is at the near capture.

    What that end sends comes later to the far one. The first packets decide; all are compared only
    if those have nothing in common.
    """
    for most in (_SAMPLE, max(len(near), len(far))):
        firsts = [frame.filter(pl.int_range(pl.len()).over(FLOW) < most) for frame in (near, far)]
        ways = [
            delays(*(frame.filter(pl.col("forward") == way) for frame in firsts))
            for way in (True, False)
        ]
        differences = (
            ways[0].join(ways[1], on=FLOW, how="full", coalesce=True, suffix="_back").fill_null(0)
        )
        if len(differences) == near[FLOW].n_unique():
            break
    return differences.select(FLOW, a_is_near=pl.col("later") >= pl.col("later_back"))


def _from_near(packets: pl.DataFrame, outward: pl.DataFrame) -> pl.DataFrame:
    """With `out`: whether the host at the near capture sent it."""
    near = packets.join(outward, on=FLOW, how="left", maintain_order="left")
    return near.with_columns(out=pl.col("forward") == pl.col("a_is_near").fill_null(True)).drop(
        "a_is_near"
    )


def _matched(
    rows: _Rows,
    parts: Sequence[pl.DataFrame],
    spans: tuple[CaptureSpan, CaptureSpan],
    mss: int | None,
) -> MatchedConnection:
    forward, back = (
        match(parts[0], parts[1], spans[1], mss),
        match(parts[2], parts[3], spans[0], mss),
    )
    near, far = rows
    return MatchedConnection(near, far, forward, back)


def _whole(connection: dict[str, Any]) -> bool:
    """Whether both SYNs were seen, from which numbers are counted."""
    return bool(connection["syns_a2b"] and connection["syns_b2a"])


def _one_numbering(near: pl.DataFrame, far: pl.DataFrame, flows: Sequence[int]) -> pl.DataFrame:
    """The far packets, those of `flows` with the near ones' numbers."""
    if not flows:
        return far
    parts = [
        frame.partition_by(FLOW, "forward", as_dict=True, maintain_order=True)
        for frame in (near, far)
    ]
    chosen = {(flow, forward) for flow in flows for forward in (True, False)}
    return pl.concat(
        _renumbered(parts[0][key], part) if key in chosen and key in parts[0] else part
        for key, part in parts[1].items()
    ).sort("number")


def _renumbered(near: pl.DataFrame, far: pl.DataFrame) -> pl.DataFrame:
    """The far packets with the near ones' numbers.

    The numbers differ by the commonest difference between packets that are alike in the rest.
    """
    names, alike = ("sequence", "acknowledgement"), ("payload", "timestamp", "echo", "ip_id")
    sides = [
        frame.select(*names, pl.col(alike).cast(pl.Int64).fill_null(-1)).unique(alike, keep="none")
        for frame in (near, far)
    ]
    pairs = (
        sides[0]
        .join(sides[1], on=alike)
        .cast(dict.fromkeys((*names, *(f"{name}_right" for name in names)), pl.Int64))
    )
    for name in names:
        commonest = (pairs[name] - pairs[f"{name}_right"]).drop_nulls().value_counts(sort=True)
        by = int(commonest[name][0]) if len(commonest) else 0
        far = far.with_columns((pl.col(name).cast(pl.Int64) + by).cast(pl.UInt64, strict=False))
    return far
