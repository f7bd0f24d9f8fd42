"""The captures of both ends of a path: their connections joined, and each direction matched packet by packet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis import flows
from analysis.flows.matching import Way, align_clocks, later, match
from analysis.flows.read import Engine

_Key = tuple[tuple[tuple[str, int], ...], int]


@dataclass(frozen=True)
class Matched:
    """A connection that both captures have: its rows in either, and both ways.

    `forward` is what the host at the near capture sent, `back` what it received. `offset` is the clocks' difference
    that was taken out (ns), 0 unless asked for.
    """

    near: dict[str, Any]
    far: dict[str, Any]
    forward: Way
    back: Way
    offset: int = 0


def match_captures(
    near: Path, far: Path, engine: Engine = "auto", mss: int | None = None, aligned: bool = False
) -> tuple[Matched, ...]:
    """Matches every connection that both captures have, in the near one's order.

    `mss` (bytes) takes super-packets apart; `aligned` takes the clocks' offset out. Which end is the near capture's
    is told by the two directions' delays together, in which the offset cancels. Raises TcplabError as `flows.read`.
    """
    captures = [_Capture(flows.read(path, packets=True, engine=engine)) for path in (near, far)]
    common = [key for key in captures[0].rows if key in captures[1].rows]
    return tuple(_matched(key, captures, mss, aligned) for key in common)


class _Capture:
    """A capture's connections by their two ends, whichever came first, and by how many had the same ends before."""

    def __init__(self, read: flows.Reading) -> None:
        assert read.packets is not None
        self.file = read.file
        self.rows: dict[_Key, dict[str, Any]] = {}
        self._parts = read.packets.partition_by("connection", "forward", as_dict=True)
        self._none = read.packets.clear()
        seen: Counter[object] = Counter()
        for row in read.connections.iter_rows(named=True):
            ends = tuple(sorted((_end(row, "a"), _end(row, "b"))))
            self.rows[ends, seen[ends]] = row
            seen[ends] += 1

    def way(self, key: _Key, forward: bool) -> pl.DataFrame:
        """The packets of one direction of one connection."""
        return self._parts.get((self.rows[key]["connection"], forward), self._none)


def _end(row: dict[str, Any], side: str) -> tuple[str, int]:
    return row[f"host_{side}"], row[f"port_{side}"]


def _matched(key: _Key, captures: list[_Capture], mss: int | None, aligned: bool) -> Matched:
    near, far = (capture.rows[key] for capture in captures)
    turned = _end(near, "a") != _end(far, "a")
    at_near = [captures[0].way(key, towards_b) for towards_b in (True, False)]
    at_far = [captures[1].way(key, towards_b != turned) for towards_b in (True, False)]
    if not _whole(near) or not _whole(far):
        at_far = [_renumbered(one, two) for one, two in zip(at_near, at_far, strict=True)]
    if later(at_near[0], at_far[0]) < later(at_near[1], at_far[1]):  # what b sent passes the near capture first
        at_near, at_far = at_near[::-1], at_far[::-1]
    forward = match(at_near[0], at_far[0], captures[1].file, mss)
    back = match(at_far[1], at_near[1], captures[0].file, mss)
    return Matched(near, far, *align_clocks(forward, back)) if aligned else Matched(near, far, forward, back)


def _whole(connection: dict[str, Any]) -> bool:
    """Whether both SYNs were seen, from which numbers are counted."""
    return bool(connection["syns_a2b"] and connection["syns_b2a"])


def _renumbered(near: pl.DataFrame, far: pl.DataFrame) -> pl.DataFrame:
    """The far packets with the near ones' numbers: by the commonest difference between packets alike in the rest."""
    names, alike = ("sequence", "acknowledgement"), ("payload", "timestamp", "echo", "ip_id")
    sides = [
        frame.select(*names, pl.col(alike).cast(pl.Int64).fill_null(-1)).unique(alike, keep="none")
        for frame in (near, far)
    ]
    pairs = (
        sides[0].join(sides[1], on=alike).cast(dict.fromkeys((*names, *(f"{name}_right" for name in names)), pl.Int64))
    )
    for name in names:
        commonest = (pairs[name] - pairs[f"{name}_right"]).drop_nulls().value_counts(sort=True)
        by = int(commonest[name][0]) if len(commonest) else 0
        far = far.with_columns((pl.col(name).cast(pl.Int64) + by).cast(pl.UInt64, strict=False))
    return far
