"""One IP header, for packets that are not simply TCP: what it carries, and which part of it."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.flows.plain.link_layer import CUT_OFF, DAMAGED_IP, NOT_IP, NOT_TCP

_EXTENSIONS = 16
_FRAGMENT = 44
_EXTENSION_KINDS = (0, 43, _FRAGMENT, 51, 60, 135, 139, 140)
_FOUR = b"\1" + bytes(11)
"""Precedes an IPv4 address to make 16 octets; see segment.py."""


class NoSegment(Exception):
    """The packet holds no TCP segment; `why` is one of the reasons in link_layer."""

    def __init__(self, why: int) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class FragmentPart:
    """Which part of a packet a fragment is."""

    identification: int
    offset: int
    """In octets."""
    has_more: bool
    header: int
    """The length of the header that the whole packet has."""
    names_next: int
    """The place in it that names what follows it."""


@dataclass(frozen=True, slots=True)
class IpLayer:
    """A header of IPv4, or one of IPv6 with its extension headers."""

    protocol: int
    start: int
    """Where the payload begins."""
    end: int
    """Where it ends on the wire."""
    source: bytes
    destination: bytes
    part: FragmentPart | None

    @staticmethod
    def read(packet: bytes, wire: int) -> IpLayer:
        """Of an IP packet of `wire` octets. Raises NoSegment."""
        version = packet[0] >> 4 if packet else 0
        if version not in (4, 6):
            raise NoSegment(NOT_IP)
        return _version_four(packet, wire) if version == 4 else _version_six(packet, wire)


def number(packet: bytes, at: int, length: int = 4) -> int:
    return int.from_bytes(packet[at : at + length], "big")


def _version_four(packet: bytes, wire: int) -> IpLayer:
    if len(packet) < 20:
        raise NoSegment(CUT_OFF)
    start, end = (packet[0] & 15) * 4, number(packet, 2, 2) or wire
    if start < 20 or end < start:
        raise NoSegment(DAMAGED_IP)
    fragment, part = number(packet, 6, 2), None
    if fragment & 0x3FFF:
        if len(packet) < start:
            raise NoSegment(CUT_OFF)
        identification, more = number(packet, 4, 2), bool(fragment & 0x2000)
        part = FragmentPart(identification, (fragment & 0x1FFF) * 8, more, start, 9)
    return IpLayer(packet[9], start, end, _FOUR + packet[12:16], _FOUR + packet[16:20], part)


def _version_six(packet: bytes, wire: int) -> IpLayer:
    if len(packet) < 40:
        raise NoSegment(CUT_OFF)
    length = number(packet, 4, 2)
    end = 40 + length if length else wire
    protocol, start, part = _extensions(packet)
    if end < start:
        raise NoSegment(DAMAGED_IP)
    return IpLayer(protocol, start, end, packet[8:24], packet[24:40], part)


def _extensions(packet: bytes) -> tuple[int, int, FragmentPart | None]:
    """Steps over extension headers, to what is none or to a fragment's."""
    names_next, at = 6, 40
    for _ in range(_EXTENSIONS):
        following = packet[names_next]
        if following not in _EXTENSION_KINDS:
            return following, at, None
        if len(packet) < at + 8:
            raise NoSegment(CUT_OFF)
        fragment = number(packet, at + 2, 2)
        if following == _FRAGMENT and fragment & 0xFFF9:
            identification, more = number(packet, at + 4), bool(fragment & 1)
            part = FragmentPart(identification, fragment & 0xFFF8, more, at, names_next)
            return packet[at], at + 8, part
        names_next = at
        if following == _FRAGMENT:
            at += 8
        else:
            size = packet[at + 1]
            at += (size + 2) * 4 if following == 51 else (size + 1) * 8
    raise NoSegment(NOT_TCP)
