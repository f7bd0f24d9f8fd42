"""The bytes of made captures: headers from TCP down to the link, and the files that hold them.

Formats: RFC 9293 (TCP), RFC 791, RFC 8200 (IP), https://www.tcpdump.org/linktypes.html,
https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/ and .../draft-ietf-opsawg-pcapng/.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from dataclasses import dataclass

ETHERNET, RAW, LINUX_COOKED, LINUX_COOKED_2, LOOPBACK = 1, 101, 113, 276, 0
"""Link types of pcap files."""
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, NS = (1 << bit for bit in range(9))
_PATTERN = bytes(range(251)) * 600


@dataclass(frozen=True)
class Record:
    """One packet of a file: its time, captured bytes and length.

    `time` is in ns since 1970, the length is that on the wire in bytes.
    """

    time: int
    data: bytes
    wire: int
    interface: int = 0

    def cut(self, snaplen: int) -> Record:
        return Record(self.time, self.data[:snaplen], self.wire, self.interface)


def content(sequence: int, length: int) -> bytes:
    """The bytes of a stream from `sequence` on: a retransmission carries the same."""
    start = sequence % 251
    return _PATTERN[start : start + length]


def options(
    mss: int | None = None,
    scale: int | None = None,
    sack_permitted: bool = False,
    timestamps: tuple[int, int] | None = None,
    sacks: Sequence[tuple[int, int]] = (),
) -> bytes:
    """TCP options, padded to whole words. `sacks` are absolute sequence numbers."""
    made = struct.pack(">BBH", 2, 4, mss) if mss is not None else b""
    made += b"\x04\x02" if sack_permitted else b""
    made += struct.pack(">BBB", 3, 3, scale) if scale is not None else b""
    made += struct.pack(">BBBBII", 1, 1, 8, 10, *timestamps) if timestamps is not None else b""
    if sacks:
        blocks = b"".join(struct.pack(">II", left % 2**32, right % 2**32) for left, right in sacks)
        made += bytes((1, 1, 5, 2 + len(blocks))) + blocks
    return made + b"\x01" * (-len(made) % 4)


def tcp(
    ports: tuple[int, int],
    sequence: int,
    acknowledgement: int,
    flags: int,
    window: int,
    extra: bytes = b"",
    urgent: int = 0,
) -> bytes:
    """A TCP header with the options `extra`; no checksum."""
    words = (20 + len(extra)) // 4
    numbers = (sequence % 2**32, acknowledgement % 2**32, words << 12 | flags, window, 0, urgent)
    return struct.pack(">HHIIHHHH", *ports, *numbers) + extra


def ipv4(
    addresses: tuple[str, str],
    inner: bytes,
    length: int,
    number: int = 0,
    ecn: int = 0,
    ttl: int = 64,
    fragment: int = 0,
    extra: bytes = b"",
    protocol: int = 6,
) -> bytes:
    """An IPv4 packet.

    `length` is that of the payload on the wire; from 64 KiB on the field is 0 (BIG TCP).
    """
    total = 20 + len(extra) + length
    first = 0x40 | (5 + len(extra) // 4)
    numbers = (
        first,
        ecn,
        total if total < 2**16 else 0,
        number % 2**16,
        fragment,
        ttl,
        protocol,
        0,
    )
    return struct.pack(">BBHHHBBH", *numbers) + b"".join(map(_packed, addresses)) + extra + inner


def ipv6(
    addresses: tuple[str, str],
    inner: bytes,
    length: int,
    ecn: int = 0,
    ttl: int = 64,
    extensions: Sequence[tuple[int, bytes]] = (),
) -> bytes:
    """An IPv6 packet.

    `extensions` are (type, header without its first octet); from 64 KiB on the length is 0.
    """
    kinds = [*(kind for kind, _ in extensions), 6]
    chain = b"".join(
        bytes((after,)) + rest for after, (_, rest) in zip(kinds[1:], extensions, strict=True)
    )
    total = length + len(chain)
    head = struct.pack(">IHBB", 6 << 28 | ecn << 20, total if total < 2**16 else 0, kinds[0], ttl)
    return head + b"".join(map(_packed, addresses)) + chain + inner


def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def link_header(link: int, version: int, tags: Sequence[int] = ()) -> bytes:
    """What stands before IP. `tags` are VLAN numbers, outermost first; two make 802.1ad (QinQ)."""
    kind = {4: b"\x08\x00", 6: b"\x86\xdd"}[version]
    if link == ETHERNET:
        outer = [b"\x88\xa8"] * (len(tags) - 1) + [b"\x81\x00"] * bool(tags)
        marks = b"".join(
            mark + struct.pack(">H", tag) for mark, tag in zip(outer, tags, strict=True)
        )
        return b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + marks + kind
    if link == LINUX_COOKED:
        return struct.pack(">HHH8s", 0, 1, 6, b"\x02\0\0\0\0\x01") + kind
    if link == LINUX_COOKED_2:
        return kind + struct.pack(">HIHBB8s", 0, 2, 1, 0, 6, b"\x02\0\0\0\0\x01")
    return struct.pack("<I", {4: 2, 6: 10}[version]) if link == LOOPBACK else b""


def pcap(
    records: Sequence[Record],
    link: int = ETHERNET,
    order: str = "<",
    nanoseconds: bool = True,
    snaplen: int = 2**18,
) -> bytes:
    """A libpcap file."""
    ticks = 10**9 if nanoseconds else 10**6
    made = [
        struct.pack(
            order + "IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link
        )
    ]
    for record in (record.cut(snaplen) for record in records):
        seconds, rest = divmod(record.time, 10**9)
        fraction = rest * ticks // 10**9
        made += (
            struct.pack(order + "IIII", seconds, fraction, len(record.data), record.wire),
            record.data,
        )
    return b"".join(made)


@dataclass(frozen=True)
class MadeInterface:
    """An interface of a pcapng file.

    `resolution` is its if_tsresol octet (None: microseconds), `offset` seconds.
    """

    link: int = ETHERNET
    resolution: int | None = None
    offset: int = 0

    def ticks(self, time: int) -> int:
        octet = 6 if self.resolution is None else self.resolution
        a_second = 2 ** (octet & 127) if octet & 128 else 10**octet
        return (time - self.offset * 10**9) * a_second // 10**9


def pcapng(
    records: Sequence[Record],
    interfaces: Sequence[MadeInterface] = (MadeInterface(),),
    order: str = "<",
    extra: bytes = b"",
) -> bytes:
    """A pcapng file of one section.

    `extra` are whole blocks that stand after the interfaces' descriptions.
    """
    made = _block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    for interface in interfaces:
        made += _block(order, 1, _described(interface, order))
    parts = [made, extra]
    for record in records:
        high, low = divmod(interfaces[record.interface].ticks(record.time), 2**32)
        head = struct.pack(
            order + "IIIII", record.interface, high, low, len(record.data), record.wire
        )
        parts.append(_block(order, 6, head + record.data))
    return b"".join(parts)


def _described(interface: MadeInterface, order: str) -> bytes:
    made = struct.pack(order + "HHI", interface.link, 0, 0)
    if interface.resolution is not None:
        made += struct.pack(order + "HHBxxx", 9, 1, interface.resolution)
    if interface.offset:
        made += struct.pack(order + "HHq", 14, 8, interface.offset)
    return made + struct.pack(order + "HH", 0, 0)


def _block(order: str, kind: int, body: bytes) -> bytes:
    padded = body + b"\0" * (-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(padded))
    return struct.pack(order + "I", kind) + length + padded + length


def simple_blocks(records: Sequence[Record]) -> bytes:
    """A pcapng file of simple packet blocks, which have no times."""
    blocks = (_block("<", 3, struct.pack("<I", record.wire) + record.data) for record in records)
    return pcapng([]) + b"".join(blocks)


def statistics(lost: int, interface: int = 0) -> bytes:
    """Statistics of an interface that dropped packets (isb_ifdrop)."""
    head = struct.pack("<III", interface, 0, 0)
    return _block("<", 5, head + struct.pack("<HHQI", 5, 8, lost, 0))


def other_block(order: str = "<") -> bytes:
    """A block of a type that nobody knows."""
    return _block(order, 0x0BAD, b"skip me")
