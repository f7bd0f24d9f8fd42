"""Captures read without tcptrace: whether the file is whole, and when each TCP segment passed.

Format: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/ (libpcap, micro- or nanoseconds).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6), b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6), b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}  # fmt: skip
_ETHERNET = 1
_TCP = 6


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment: `time` in seconds since 1970, `payload` in bytes on the wire (not as captured).

    `identification` is IPv4's, which counts up with every packet of a connection; 0 with IPv6.
    """

    time: float
    source_port: int
    destination_port: int
    sequence: int
    payload: int
    identification: int = 0


@dataclass(frozen=True)
class Capture:
    """The segments up to the file's end or to its first fault, the count of all packets, and the fault if any."""

    segments: tuple[Segment, ...]
    packets: int
    fault: str | None


def read_capture(content: bytes) -> Capture:
    """The capture in `content`. Never raises: a fault is described and what precedes it is kept."""
    known = _MAGIC.get(content[:4])
    if known is None or len(content) < 24:
        return Capture((), 0, "it is empty or no pcap file" if len(content) < 24 else "it is no pcap file")
    order, tick = known
    if struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF != _ETHERNET:
        return Capture((), 0, "its link type is not Ethernet")
    segments: list[Segment] = []
    offset = packets = 0
    for time, packet, offset in _packets(content, order, tick):  # noqa: B007 - the last offset is used below
        packets += 1
        segment = _segment(time, packet)
        segments.extend((segment,) if segment else ())
    whole = max(offset, 24) == len(content)
    return Capture(tuple(segments), packets, None if whole else f"it is cut short after {packets} packets")


def _packets(content: bytes, order: str, tick: float) -> Iterator[tuple[float, bytes, int]]:
    """Time, bytes and end of each complete record."""
    header, offset = struct.Struct(order + "IIII"), 24
    while offset + 16 <= len(content):
        seconds, fraction, length, _ = header.unpack_from(content, offset)
        end = offset + 16 + length
        if end > len(content):
            return
        yield seconds + fraction * tick, content[offset + 16 : end], end
        offset = end


def _segment(time: float, packet: bytes) -> Segment | None:
    kind = packet[12:14]
    if kind == b"\x08\x00" and len(packet) >= 34 and packet[23] == _TCP:
        header = (packet[14] & 15) * 4
        number = int.from_bytes(packet[18:20], "big")
        return _tcp(time, packet, 14 + header, int.from_bytes(packet[16:18], "big") - header, number)
    if kind == b"\x86\xdd" and len(packet) >= 54 and packet[20] == _TCP:
        return _tcp(time, packet, 54, int.from_bytes(packet[18:20], "big"))
    return None


def _tcp(time: float, packet: bytes, start: int, length: int, number: int = 0) -> Segment | None:
    if len(packet) < start + 13:
        return None
    source, destination, sequence = struct.unpack_from(">HHI", packet, start)
    return Segment(time, source, destination, sequence, length - (packet[start + 12] >> 4) * 4, number)


def data_towards(capture: Capture, port: int) -> list[Segment]:
    """The segments with payload that go to `port`."""
    return [segment for segment in capture.segments if segment.destination_port == port and segment.payload > 0]


def pauses(data: list[Segment], shortest: float) -> list[float]:
    """The gaps in seconds of at least `shortest` seconds between one data segment and the next."""
    gaps = (later.time - earlier.time for earlier, later in pairwise(data))
    return [gap for gap in gaps if gap >= shortest]


def resent(data: list[Segment]) -> int:
    """How many segments of one connection carry only bytes that were sent before.

    Sequence numbers are compared modulo 2^32 (RFC 9293, section 3.4).
    """
    count, highest = 0, data[0].sequence if data else 0
    for segment in data:
        end = (segment.sequence + segment.payload) % 2**32
        ahead = (end - highest) % 2**32
        if 0 < ahead < 2**31:
            highest = end
        else:
            count += 1
    return count
