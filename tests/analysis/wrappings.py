"""Captures whose packets are wrapped: in tunnels, VLANs, or taken apart into fragments.

Each wrapping takes an IP packet and gives the IP packet around it. Formats: RFC 2784, 2890 (GRE),
2003 (IPIP), 4213 (6in4), 4302 (AH), 7348 (VXLAN), 8926 (Geneve), 3GPP TS 29.281 (GTP-U), and
draft-foschiano-erspan.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterator

from tests.analysis import frames
from tests.analysis.captures import START, MadeCapture
from tests.analysis.frames import Record

OUTER = ("192.0.2.1", "192.0.2.2")
OUTER_SIX = ("2001:db8::1", "2001:db8::2")
Wrap = Callable[[bytes], bytes]


def within(protocol: int, head: bytes = b"", outer: tuple[str, str] = OUTER) -> Wrap:
    """Behind an IPv4 header and `head`."""

    def wrap(packet: bytes) -> bytes:
        inner = head + packet
        return frames.ipv4(_ordered(outer, packet), inner, len(inner), protocol=protocol)

    return wrap


def within_six(kind: int, head: bytes = b"") -> Wrap:
    """Behind an IPv6 header and `head`."""

    def wrap(packet: bytes) -> bytes:
        inner = head + packet
        ends = b"".join(ipaddress.ip_address(end).packed for end in _ordered(OUTER_SIX, packet))
        return struct.pack(">IHBB", 6 << 28, len(inner), kind, 64) + ends + inner

    return wrap


def within_udp(port: int, head: bytes, outer: tuple[str, str] = OUTER) -> Wrap:
    def wrap(packet: bytes) -> bytes:
        datagram = struct.pack(">HHHH", 50000, port, 8 + len(head) + len(packet), 0)
        return within(17, datagram + head, outer)(packet)

    return wrap


def authenticated(packet: bytes) -> bytes:
    """IPv4 with an authentication header before TCP."""
    head = struct.pack(">BBHII", packet[9], 4, 0, 1, 1) + bytes(12)
    made = bytearray(packet[:20] + head + packet[20:])
    made[9], made[2:4] = 51, (int.from_bytes(packet[2:4], "big") + 24).to_bytes(2, "big")
    return bytes(made)


def _ordered(outer: tuple[str, str], packet: bytes) -> tuple[str, str]:
    """The outer ends turn with the inner ones: the lower address of a pair sends first."""
    is_back = packet[12:16] > packet[16:20] if packet[0] >> 4 == 4 else packet[8:24] > packet[24:40]
    return (outer[1], outer[0]) if is_back else outer


MACS = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
FRAME = MACS + b"\x08\0"


def vxlan(number: int, head: bytes = FRAME, outer: tuple[str, str] = OUTER) -> Wrap:
    return within_udp(4789, b"\x08\0\0\0" + struct.pack(">I", number << 8) + head, outer)


def geneve(number: int, options: bytes = b"", head: bytes = FRAME, kind: int = 0x6558) -> Wrap:
    length = struct.pack(">BBHI", len(options) // 4, 0, kind, number << 8)
    return within_udp(6081, length + options + head)


def gtp(optional: bytes = b"", marks: int = 0) -> Wrap:
    return within_udp(2152, struct.pack(">BBHI", 0x30 | marks, 255, 0, 77) + optional)


def gre(kind: int = 0x0800, marks: int = 0, fields: bytes = b"", head: bytes = b"") -> Wrap:
    return within(47, struct.pack(">HH", marks, kind) + fields + head)


LABEL = b"\0\1\1\x40"


def vxlan_gpe(number: int, kind: int, head: bytes = b"") -> Wrap:
    return within_udp(4790, bytes([12, 0, 0, kind]) + struct.pack(">I", number << 8) + head)


def l2tp(marks: int = 0x4002, fields: bytes = b"\0\0" + b"\0\1\0\2") -> Wrap:
    return within_udp(1701, struct.pack(">H", marks) + fields + b"\xff\3\0\x21")


def framed(capture: MadeCapture, link: int, before: bytes, after: bytes = b"") -> bytes:
    """A file of another link type: `before` each frame, or with `after` in place of its type."""
    records = [
        Record(
            record.time,
            (record.data[:12] + after + record.data[14:] if after else before + record.data),
            record.wire + len(before) + len(after) - (2 if after else 0),
        )
        for record in capture.sorted()
    ]
    return frames.pcap(records, link=link)


def wrapped(capture: MadeCapture, wrap: Wrap) -> MadeCapture:
    """The capture, an Ethernet one, with every packet wrapped."""
    made = MadeCapture(snaplen=capture.snaplen)
    for record in capture.sorted():
        made.add((record.time - START) / 1e9, wrap(record.data[14:]), version=4)
        made.records[-1] = _typed(made.records[-1])
    return made


def _typed(record: Record) -> Record:
    """An Ethernet frame whose type is that of its packet's version."""
    kind = {4: b"\x08\x00", 6: b"\x86\xdd"}[record.data[14] >> 4]
    return Record(record.time, record.data[:12] + kind + record.data[14:], record.wire)


def fragments(packet: bytes, size: int, number: int = 7) -> Iterator[bytes]:
    """An IPv4 packet without options in fragments of `size` bytes of payload."""
    payload = packet[20:]
    for at in range(0, len(payload), size):
        part = payload[at : at + size]
        more = 0x2000 if at + size < len(payload) else 0
        head = bytearray(packet[:20])
        head[2:4], head[4:6] = struct.pack(">H", 20 + len(part)), struct.pack(">H", number)
        head[6:8] = struct.pack(">H", more | at // 8)
        yield bytes(head) + part


def fragments_six(packet: bytes, size: int, number: int = 7) -> Iterator[bytes]:
    """An IPv6 packet without extension headers in fragments of `size` bytes of payload."""
    payload = packet[40:]
    for at in range(0, len(payload), size):
        part = payload[at : at + size]
        more = 1 if at + size < len(payload) else 0
        header = struct.pack(">BBHI", packet[6], 0, at | more, number)
        yield packet[:4] + struct.pack(">HB", 8 + len(part), 44) + packet[7:40] + header + part
