"""Headers that few captures have between the link and IP.

Each function takes a packet and gives the place of its IP header, or None. Link types:
https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from collections.abc import Callable

_IP_TYPES = (b"\x08\x00", b"\x86\xdd")
_MPLS_TYPES = (b"\x88\x47", b"\x88\x48")
_SNAP = b"\xaa\xaa\x03\0\0\0"
_LABELS = 16
_ATTRIBUTES = 64
"""Most attributes before the packet in a message of NFLOG."""


def _version(packet: bytes, at: int) -> int | None:
    """IP by its version alone."""
    return at if at < len(packet) and packet[at] >> 4 in (4, 6) else None


def labels(packet: bytes, at: int) -> int | None:
    """A stack of MPLS labels (RFC 3032): what follows the last says its version."""
    for label in range(at, min(at + 4 * _LABELS, len(packet) - 2), 4):
        if packet[label + 2] & 1:
            return _version(packet, label + 4)
    return None


def snap(packet: bytes, at: int) -> int | None:
    """LLC with SNAP (RFC 1042)."""
    if packet[at : at + 6] != _SNAP:
        return None
    kind = packet[at + 6 : at + 8]
    if kind in _IP_TYPES:
        return at + 8
    return labels(packet, at + 8) if kind in _MPLS_TYPES else None


def _cisco_hdlc(packet: bytes) -> int | None:
    """Address, control, EtherType."""
    return 4 if packet[2:4] in _IP_TYPES else None


def _frame_relay(packet: bytes) -> int | None:
    """An address of two to four octets, of which the last is odd, then the protocol.

    An identifier (RFC 2427), or Cisco's EtherType.
    """
    odd = next((at for at, octet in enumerate(packet[:4]) if octet & 1), None)
    if odd is None:
        return None
    at = odd + 1
    if packet[at : at + 2] in _IP_TYPES:
        return at + 2
    padded = at + 1 if packet[at : at + 2] == b"\3\0" else at
    if packet[padded : padded + 1] not in (b"\0", b"\3"):
        return None
    identifier = packet[padded + 1 : padded + 2]
    if identifier in (b"\xcc", b"\x8e"):
        return _version(packet, padded + 2)
    head = packet[padded + 2 : padded + 7]
    is_snap = identifier == b"\x80" and head[:3] == bytes(3) and head[3:] in _IP_TYPES
    return padded + 7 if is_snap else None


def _netfilter_log(packet: bytes) -> int | None:
    """A header of four octets, then attributes, of which number 9 is the packet."""
    at = 4
    for _ in range(_ATTRIBUTES):
        if len(packet) < at + 4:
            return None
        if int.from_bytes(packet[at + 2 : at + 4], "little") & 0x7FFF == 9:
            return _version(packet, at + 4)
        length = int.from_bytes(packet[at : at + 2], "little")
        at += (max(length, 4) + 3) // 4 * 4
    return None


def _radiotap(packet: bytes) -> int | None:
    """Two octets and the length of this header, then 802.11."""
    return _wireless(packet, int.from_bytes(packet[2:4], "little")) if len(packet) >= 8 else None


def _per_packet(packet: bytes) -> int | None:
    """PPI begins like radiotap, and names what follows."""
    return _radiotap(packet) if packet[4:8] == b"\x69\0\0\0" else None


def _wireless(packet: bytes, at: int = 0) -> int | None:
    """A frame of 802.11 with data that is neither encrypted nor several packets."""
    if len(packet) < at + 2:
        return None
    kind, marks = packet[at], packet[at + 1]
    if kind & 0x4C != 0x08 or marks & 0x40:
        return None
    end = at + 24 + (6 if marks & 3 == 3 else 0)
    if not kind & 0x80:
        return snap(packet, end)
    # Quality of service; with the order bit HT control follows it.
    if len(packet) <= end or packet[end] & 0x80:
        return None
    return snap(packet, end + (6 if marks & 0x80 else 2))


RARE: dict[int, Callable[[bytes], int | None]] = {
    104: _cisco_hdlc,
    105: _wireless,
    107: _frame_relay,
    127: _radiotap,
    192: _per_packet,
    239: _netfilter_log,
}
"""By link type."""
