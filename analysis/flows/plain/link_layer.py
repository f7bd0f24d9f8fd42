"""From captured packets to their IP headers.

Link types: https://www.tcpdump.org/linktypes.html (the numbers only).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.packet_records import RecordBatch, Whole
from analysis.flows.plain.rare_links import RARE, labels, snap

IGNORED = (
    "link type not known",
    "not IP",
    "not TCP",
    "fragment",
    "TCP header cut off",
    "damaged IP header",
    "damaged TCP header",
    "joined fragment",
    "outside the period",
)
"""Why a packet is no TCP segment for us."""
LINK_TYPE, NOT_IP, NOT_TCP, FRAGMENT, CUT_OFF, DAMAGED_IP, DAMAGED_TCP, JOINED, OUTSIDE = range(
    len(IGNORED)
)
FINE = -1

_TAGS = 8
_IP_TYPES = (0x0800, 0x86DD)
_VLAN_TYPES = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)
_PPPOE = 0x8864
_MPLS_TYPES = (0x8847, 0x8848)
_LONGEST = 1500
"""Up to this the field is no EtherType but a length (IEEE 802.3)."""
_TYPED = {1: 12, 113: 14}
"""Link types with an EtherType, and its offset."""
Truths = npt.NDArray[np.bool_]


class PacketBatch:
    """The packets of a batch on the way to TCP: how far each was read, and why some are skipped."""

    def __init__(self, batch: RecordBatch) -> None:
        self.batch = batch
        self.why = np.full(len(batch.start), FINE, np.int8)
        self.ip = np.zeros(len(batch.start), np.int64)
        """The IP header's beginning, counted from the record's first octet."""
        self.network = np.zeros(len(batch.start), np.int64)
        """The VLANs: twelve bits for each number, the innermost lowest.

        Of more than two the innermost two count; 0 is a tag that only has a priority.
        """

    def ignore(self, rows: Whole, why: int, marked: Truths) -> Whole:
        """Puts aside the rows that `marked` marks; returns the others."""
        self.why[rows[marked]] = why
        return rows[~marked]

    def octet(self, rows: Whole, at: Whole | int) -> Whole:
        octets: Whole = self.batch.octets[self.batch.start[rows] + at].astype(np.int64)
        return octets

    def pair(self, rows: Whole, at: Whole | int) -> Whole:
        return self.octet(rows, at) << 8 | self.octet(rows, at + 1)

    def packet(self, row: int) -> bytes:
        """All captured octets of a row."""
        start = int(self.batch.start[row])
        return self.batch.octets[start : start + int(self.batch.captured[row])].tobytes()

    def shorter(self, rows: Whole, length: Whole | int) -> Truths:
        """Which of `rows` hold less than `length` octets."""
        return self.batch.captured[rows] < length


def find_ip(packets: PacketBatch) -> None:
    """Finds the beginnings of the IP headers; `segment` checks their version."""
    links = packets.batch.link
    for link in np.unique(links):
        rows = np.flatnonzero(links == link)
        if link in _TYPED:
            _typed(packets, rows, np.full(len(rows), _TYPED[link]))
        elif link == 276:
            _cooked(packets, rows)
        elif link in (0, 108):
            _loopback(packets, rows)
        elif link in (9, 50):
            _point_to_point(packets, rows, np.zeros(len(rows), np.int64))
        elif link in RARE:
            _one_by_one(packets, rows, RARE[link])
        elif link not in (12, 14, 101, 228, 229):
            packets.why[rows] = LINK_TYPE


def _one_by_one(packets: PacketBatch, rows: Whole, place: Callable[[bytes], int | None]) -> None:
    for row in rows.tolist():
        _put(packets, row, place(packets.packet(row)))


def _behind(
    packets: PacketBatch, rows: Whole, at: Whole, place: Callable[[bytes, int], int | None]
) -> None:
    """The same for headers at `at`."""
    for row, begin in zip(rows.tolist(), at.tolist(), strict=True):
        _put(packets, row, place(packets.packet(row), begin))


def _put(packets: PacketBatch, row: int, place: int | None) -> None:
    if place is None:
        packets.why[row] = NOT_IP
    else:
        packets.ip[row] = place


def _typed(packets: PacketBatch, rows: Whole, at: Whole) -> None:
    """Reads an EtherType at `at`.

    Any number of VLAN tags (802.1Q, 802.1ad and their forerunners) may precede it; PPPoE, MPLS and
    LLC with SNAP may follow.
    """
    for _ in range(_TAGS):
        short = packets.shorter(rows, at + 2)
        rows, at = packets.ignore(rows, NOT_IP, short), at[~short]
        kind = packets.pair(rows, at)
        is_ip, tagged, session = (
            np.isin(kind, _IP_TYPES),
            np.isin(kind, _VLAN_TYPES),
            kind == _PPPOE,
        )
        packets.ip[rows[is_ip]] = at[is_ip] + 2
        _point_to_point(packets, rows[session], at[session] + 8)
        labelled, is_length = np.isin(kind, _MPLS_TYPES), kind <= _LONGEST
        _behind(packets, rows[labelled], at[labelled] + 2, labels)
        _behind(packets, rows[is_length], at[is_length] + 2, snap)
        packets.why[rows[~(is_ip | tagged | session | labelled | is_length)]] = NOT_IP
        rows, at = rows[tagged], at[tagged] + 4
        if not len(rows):
            return
        short = packets.shorter(rows, at)
        rows, at = packets.ignore(rows, NOT_IP, short), at[~short]
        _tag(packets, rows, at - 2)
    packets.why[rows] = NOT_IP


def _tag(packets: PacketBatch, rows: Whole, at: Whole | int) -> None:
    """Adds the VLAN whose number stands at `at`."""
    number = packets.pair(rows, at) & 0xFFF
    before = packets.network[rows]
    packets.network[rows] = np.where(number == 0, before, (before << 12 | number) & 0xFFFFFF)


def typed_place(packet: bytes, at: int) -> tuple[int, int] | None:
    """Where the IP header begins behind an EtherType at `at`, and the VLANs before it."""
    octets, one = np.frombuffer(packet, np.uint8), np.zeros(1, np.int64)
    packets = PacketBatch(RecordBatch(octets, one, one + len(packet), one, one, one))
    _typed(packets, one, one + at)
    return (int(packets.ip[0]), int(packets.network[0])) if packets.why[0] == FINE else None


def _cooked(packets: PacketBatch, rows: Whole) -> None:
    """LINUX_SLL2: the type stands first; a VLAN's tag follows the header as elsewhere."""
    rows = packets.ignore(rows, NOT_IP, packets.shorter(rows, 20))
    kind = packets.pair(rows, 0)
    is_ip, tagged = np.isin(kind, _IP_TYPES), np.isin(kind, _VLAN_TYPES[:2])
    packets.ip[rows[is_ip]] = 20
    packets.why[rows[~(is_ip | tagged)]] = NOT_IP
    rows = rows[tagged]
    _tag(packets, rows, 20)
    _typed(packets, rows, np.full(len(rows), 22))


def _loopback(packets: PacketBatch, rows: Whole) -> None:
    """Reads four octets of an address family, which differs between systems.

    The version of what follows decides.
    """
    rows = packets.ignore(rows, NOT_IP, packets.shorter(rows, 5))
    rows = packets.ignore(rows, NOT_IP, ~np.isin(packets.octet(rows, 4) >> 4, (4, 6)))
    packets.ip[rows] = 4


def _point_to_point(packets: PacketBatch, rows: Whole, at: Whole) -> None:
    """PPP (RFC 1661), with or without the two octets of HDLC framing (RFC 1662)."""
    framed = ~packets.shorter(rows, at + 2)
    framed[framed] = packets.pair(rows[framed], at[framed]) == 0xFF03
    at = at + 2 * framed
    short = packets.shorter(rows, at + 2)
    rows, at = packets.ignore(rows, NOT_IP, short), at[~short]
    other = ~np.isin(packets.pair(rows, at), (0x0021, 0x0057))
    rows, at = packets.ignore(rows, NOT_IP, other), at[~other]
    packets.ip[rows] = at + 2
