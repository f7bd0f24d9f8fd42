"""TCP's options: MSS (RFC 9293), window scale and timestamps (RFC 7323), SACK (RFC 2018).

The options of all segments are stepped through at once. What is cut off or damaged ends a
segment's parsing and leaves what came before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.packet_records import Octets, Whole

_MOST_BLOCKS = 4
_LARGEST_SCALE = 14
"""RFC 7323, section 2.3: a larger scale counts as this one."""
_USUAL = np.frombuffer(b"\1\1\x08\x0a", np.uint8)


class TcpOptions:
    """The options of segments, an entry for each.

    `mss` and `scale` are -1 without such an option.
    """

    def __init__(self, count: int) -> None:
        self.mss, self.scale = np.full((2, count), -1, np.int64)
        self.sack_permitted = np.zeros(count, bool)
        self.has_timestamps = np.zeros(count, bool)
        self.value, self.echo = np.zeros((2, count), np.int64)
        """TSval and TSecr."""
        self.block_count = np.zeros(count, np.int64)
        self.blocks = np.zeros((count, 2 * _MOST_BLOCKS), np.int64)
        """Left and right edge of each SACK block; those beyond `block_count` have no meaning."""


def parse(octets: Octets, at: Whole, end: Whole) -> TcpOptions:
    """The options in octets[at:end] of each segment."""
    options = TcpOptions(len(at))
    rows = np.flatnonzero(at < end)
    usual = end[rows] - at[rows] == 12
    usual[usual] = (octets[at[rows[usual], None] + np.arange(4)] == _USUAL).all(axis=1)
    _timestamps(options, octets, rows[usual], at[rows[usual]] + 2)
    rows, at, end = rows[~usual], at[rows[~usual]], end[rows[~usual]]
    while len(rows):
        kind = octets[at]
        more = kind != 0
        rows, at, end, kind = rows[more], at[more], end[more], kind[more]
        length, fine = _lengths(octets, at, end, kind)
        rows, at, end, kind, length = rows[fine], at[fine], end[fine], kind[fine], length[fine]
        _take(options, octets, rows, at, kind, length)
        at = at + length
        more = at < end
        rows, at, end = rows[more], at[more], end[more]
    return options


def _lengths(
    octets: Octets, at: Whole, end: Whole, kind: Octets
) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """The length of the option at each place, and whether it can be right."""
    length = np.ones(len(at), np.int64)
    longer = kind != 1
    has_length = longer & (at + 1 < end)
    length[has_length] = octets[at[has_length] + 1]
    return length, ~longer | (has_length & (length >= 2) & (at + length <= end))


def _take(
    options: TcpOptions, octets: Octets, rows: Whole, at: Whole, kind: Octets, length: Whole
) -> None:
    chosen = (kind == 2) & (length == 4)
    options.mss[rows[chosen]] = _number(octets, at[chosen] + 2, 2)
    chosen = (kind == 3) & (length == 3)
    options.scale[rows[chosen]] = np.minimum(octets[at[chosen] + 2], _LARGEST_SCALE)
    options.sack_permitted[rows[(kind == 4) & (length == 2)]] = True
    chosen = (kind == 8) & (length == 10)
    _timestamps(options, octets, rows[chosen], at[chosen])
    chosen = (kind == 5) & (length >= 10)
    _sack(options, octets, rows[chosen], at[chosen], length[chosen])


def _timestamps(options: TcpOptions, octets: Octets, rows: Whole, at: Whole) -> None:
    options.has_timestamps[rows] = True
    options.value[rows] = _number(octets, at + 2)
    options.echo[rows] = _number(octets, at + 6)


def _sack(options: TcpOptions, octets: Octets, rows: Whole, at: Whole, length: Whole) -> None:
    count = np.minimum((length - 2) // 8, _MOST_BLOCKS)
    options.block_count[rows] = count
    for edge in range(2 * _MOST_BLOCKS):
        present = count > edge // 2
        options.blocks[rows[present], edge] = _number(octets, at[present] + 2 + 4 * edge)


def _number(octets: Octets, at: Whole, size: int = 4) -> Whole:
    """A number of `size` octets, highest first."""
    value = np.zeros(len(at), np.int64)
    for place in range(size):
        value = value << 8 | octets[at + place]
    return value
