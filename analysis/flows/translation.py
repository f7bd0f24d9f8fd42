"""Connections that have other addresses or ports in a second capture, as behind a NAT.

A NAT leaves payload and timestamps alone. So connections are known again by the packets that they
have in common: by payload and both timestamps, or without timestamps by numbers and payload.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from analysis.tabular.row_groups import RowGroups
from analysis.tabular.table import ColumnTable, Whole

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
    near: ColumnTable, far: ColumnTable, near_numbers: Collection[int], far_numbers: Collection[int]
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


def _marks(packets: ColumnTable, names: Names, numbers: Collection[int]) -> ColumnTable:
    """What few connections have: a row for each such packet that is the only one in its own."""
    some = packets.rows(np.isin(packets["connection"].values, list(numbers)))
    stamped = some["timestamp"].is_known
    fits = stamped if names == _STAMPED else ~stamped & (some["payload"].values > 0)
    fits = fits & (RowGroups(some["connection"].values).turns < _FIRST)
    for name in names:
        fits &= some[name].is_known
    chosen = some.rows(fits).select("connection", "forward", *names)
    return _in_groups(_in_groups(chosen, ("connection", *names), 1), names, _COMMON)


def _in_groups(rows: ColumnTable, names: Sequence[str], most: int) -> ColumnTable:
    """The rows of which at most so many are alike in these columns."""
    groups = RowGroups(*(rows[name].values for name in names))
    return rows.rows(groups.spread(groups.sizes) <= most)


class _AlikePair(NamedTuple):
    """Two connections with so many packets in `common`, of so many `lengths`.

    `same` of the packets went forward in both captures.
    """

    near: int
    far: int
    common: int
    lengths: int
    same: int


def _sure(near: ColumnTable, far: ColumnTable, names: Names) -> list[TranslatedPair]:
    pairs = _alike_pairs(near, far, names)
    sizes = [Counter(side["connection"].to_list()) for side in (near, far)]
    rivals: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for pair in pairs:
        for end in (("near", pair.near), ("far", pair.far)):
            rivals[end].append(pair.common)

    def is_sure(pair: _AlikePair) -> bool:
        others = [rivals["near", pair.near], rivals["far", pair.far]]
        return (
            pair.common >= _FEWEST[names]
            and pair.lengths >= (1 if names == _STAMPED else _LENGTHS)
            and pair.common * 2 >= min(sizes[0][pair.near], sizes[1][pair.far])
            and all(pair.common == max(commons) for commons in others)
            and all(sum(2 * common >= max(each) for common in each) == 1 for each in others)
        )

    return [
        TranslatedPair(pair.near, pair.far, pair.same * 2 < pair.common)
        for pair in pairs
        if is_sure(pair)
    ]


def _alike_pairs(near: ColumnTable, far: ColumnTable, names: Names) -> list[_AlikePair]:
    """All pairs that have a packet in common, by the near connection's number."""
    left, right = _alike_rows(near, far, names)
    ends = near["connection"].values[left], far["connection"].values[right]
    pairs = RowGroups(*ends)
    lengths = RowGroups(pairs.numbers, near["payload"].values[left])
    columns = (
        *(end[pairs.first] for end in ends),
        pairs.sizes,
        np.bincount(pairs.numbers[lengths.first], minlength=len(pairs)),
        pairs.sums(near["forward"].values[left] == far["forward"].values[right]),
    )
    return sorted(map(_AlikePair._make, zip(*(column.tolist() for column in columns), strict=True)))


def _alike_rows(near: ColumnTable, far: ColumnTable, names: Names) -> tuple[Whole, Whole]:
    """Every near row with every far row that is alike: the rows of either."""
    both = ColumnTable.joined([side.select(*names) for side in (near, far)])
    groups = RowGroups(*(both[name].values for name in names))
    of_near = groups.sums(np.arange(len(both)) < len(near))
    group = groups.numbers[: len(near)]
    counts, begins = (groups.sizes - of_near)[group], (groups.begins + of_near)[group]
    left = np.repeat(np.arange(len(near)), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    return left, groups.order[begins[left] + within] - len(near)
