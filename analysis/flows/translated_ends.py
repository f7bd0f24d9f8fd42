"""Connections that have other addresses or ports in a second capture, as behind a NAT.

A NAT leaves payload and timestamps alone. So connections are known again by the packets that they
have in common: by payload and both timestamps, or without timestamps by numbers and payload.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import polars as pl

_FIRST = 1000
"""Packets of a connection that are looked at."""
_COMMON = 20
"""What more connections of a capture have is no mark of one of them."""
Names = tuple[str, str, str]
_STAMPED: Names = ("payload", "timestamp", "echo")
_NUMBERED: Names = ("payload", "sequence", "acknowledgement")
_FEWEST = {_STAMPED: 3, _NUMBERED: 8}
"""Packets that must be common; segments of equal length are more usual than equal timestamps."""
_LENGTHS = 4
"""Without timestamps they must be of so many lengths: bulk transfers are all alike."""


class TranslatedPair(NamedTuple):
    """A connection's numbers in both captures, and whether the a of one is the b of the other."""

    near: int
    far: int
    is_turned: bool


def translated(
    near: pl.DataFrame,
    far: pl.DataFrame,
    near_numbers: Collection[int],
    far_numbers: Collection[int],
) -> list[TranslatedPair]:
    """The pairs among these connections of two captures' packets that are surely the same.

    Surely: at least half of the packets of the shorter one are common, and no other connection has
    half as many in common with either.
    """
    found: list[TranslatedPair] = []
    for names in (_STAMPED, _NUMBERED):
        sides = [
            _marks(packets, names, set(numbers) - used)
            for packets, numbers, used in (
                (near, near_numbers, {pair.near for pair in found}),
                (far, far_numbers, {pair.far for pair in found}),
            )
        ]
        found += _sure(sides[0], sides[1], names)
    return found


def _marks(packets: pl.DataFrame, names: Names, numbers: Collection[int]) -> pl.DataFrame:
    """What few connections have: a row for each such packet that is the only one in its own."""
    stamped = pl.col("timestamp").is_not_null()
    chosen = packets.filter(
        pl.col("connection").is_in(list(numbers)),
        pl.int_range(pl.len()).over("connection") < _FIRST,
        stamped if names == _STAMPED else ~stamped & (pl.col("payload") > 0),
    )
    once = chosen.unique(("connection", *names), keep="none", maintain_order=True)
    return once.filter(pl.len().over(names) <= _COMMON).select("connection", "forward", *names)


def _sure(near: pl.DataFrame, far: pl.DataFrame, names: Names) -> list[TranslatedPair]:
    sizes = [side.group_by("connection").agg(size=pl.len()) for side in (near, far)]
    pairs = (
        near.join(far, on=names, suffix="_far")
        .group_by("connection", "connection_far")
        .agg(
            common=pl.len(),
            lengths=pl.n_unique("payload"),
            same=(pl.col("forward") == pl.col("forward_far")).sum(),
        )
        .join(sizes[0], on="connection")
        .join(sizes[1], left_on="connection_far", right_on="connection", suffix="_far")
    )
    best = pl.col("common") == pl.max_horizontal(*_rivals(pl.col("common").max()))
    alone = pl.max_horizontal(*_rivals((pl.col("common") * 2 >= pl.col("common").max()).sum())) == 1
    sure = pairs.filter(
        best,
        alone,
        pl.col("common") >= _FEWEST[names],
        pl.col("lengths") >= (1 if names == _STAMPED else _LENGTHS),
        pl.col("common") * 2 >= pl.min_horizontal("size", "size_far"),
    ).sort("connection")
    return [
        TranslatedPair(row["connection"], row["connection_far"], row["same"] * 2 < row["common"])
        for row in sure.iter_rows(named=True)
    ]


def _rivals(value: pl.Expr) -> list[pl.Expr]:
    """The value among all pairs of either connection."""
    return [value.over("connection"), value.over("connection_far")]
