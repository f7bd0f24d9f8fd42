"""pcapng: sections, interfaces and packet blocks. Format: draft-ietf-opsawg-pcapng."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from analysis.flows.plain.packet_records import LARGEST, Batches, FileHeaders, RecordBatch, ended
from analysis.flows.plain.stream import ByteStream

_SECTION, _INTERFACE, _PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_MOST_INTERFACES = 65536
"""More interfaces than this in a section are taken as damage."""
_ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_LATEST = 2**62
"""Later times than this, the year 2116, are taken for it: differences of times then have 64 bit."""


class BlockFault(Exception):
    """A damaged block; the argument is its name in analysis.flows.faults."""


@dataclass(slots=True)
class CaptureInterface:
    """`resolution` is units in a second, `offset` seconds to add."""

    link: int
    snaplen: int
    resolution: int = 1_000_000
    offset: int = 0

    def nanoseconds(self, units: int) -> int:
        """Since 1970."""
        time = units * 1_000_000_000 // self.resolution + self.offset * 1_000_000_000
        return max(0, min(time, _LATEST))


@dataclass(slots=True)
class PcapngSection:
    """What a section has stated so far, and the records that were found.

    A record is start, captured, length, time, link.
    """

    headers: FileHeaders
    order: str = "<"
    interfaces: list[CaptureInterface] = field(default_factory=list)
    time: int = 0
    """The time of the last packet: simple packet blocks have none of their own."""
    records: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def word(self, window: bytes, at: int) -> int:
        return int(struct.unpack_from(self.order + "I", window, at)[0])

    def half(self, window: bytes, at: int) -> int:
        return int(struct.unpack_from(self.order + "H", window, at)[0])

    def block(self, kind: int, window: bytes, at: int, end: int) -> None:
        """The block whose body is window[at:end]."""
        if kind == _ENHANCED:
            self.packet(window, at, end, self.word(window, at) if end - at >= 4 else 0)
        elif kind == _INTERFACE:
            self.interface(window, at, end)
        elif kind == _PACKET and end - at >= 4:
            self.packet(window, at, end, self.half(window, at))
        elif kind == _SIMPLE:
            self.simple(window, at, end)

    def interface(self, window: bytes, at: int, end: int) -> None:
        if end - at < 8 or len(self.interfaces) >= _MOST_INTERFACES:
            raise BlockFault("block")
        made = CaptureInterface(self.half(window, at), self.word(window, at + 4))
        self.options(window, at + 8, end, made)
        self.headers.interface(made.link, made.snaplen)
        self.interfaces.append(made)

    def options(self, window: bytes, at: int, end: int, interface: CaptureInterface) -> None:
        """if_tsresol (9) and if_tsoffset (14); whatever is cut off or unknown is passed over."""
        while end - at >= 4:
            code, length = struct.unpack_from(self.order + "HH", window, at)
            if code == 0 or end - at < 4 + length:
                return
            if code == 9 and length >= 1:
                interface.resolution = _resolution(window[at + 4])
            if code == 14 and length >= 8:
                (interface.offset,) = struct.unpack_from(self.order + "q", window, at + 4)
            at += 4 + (length + 3 & ~3)

    def packet(self, window: bytes, at: int, end: int, interface: int) -> None:
        """Enhanced and old packet blocks have the same layout after their first four octets."""
        if end - at < 20 or interface >= len(self.interfaces):
            raise BlockFault("block")
        high, low, captured, length = struct.unpack_from(self.order + "IIII", window, at + 4)
        if captured > end - at - 20:
            raise BlockFault("length")
        about = self.interfaces[interface]
        self.time = about.nanoseconds(high << 32 | low)
        self.records.append((at + 20, captured, max(length, captured), self.time, about.link))

    def simple(self, window: bytes, at: int, end: int) -> None:
        if not self.interfaces or end - at < 4:
            raise BlockFault("block")
        about, length = self.interfaces[0], self.word(window, at)
        captured = min(length, about.snaplen or length, end - at - 4)
        self.records.append((at + 4, captured, length, self.time, about.link))

    def batch(self, window: bytes) -> RecordBatch:
        """The records that were found since the last one."""
        columns = np.ascontiguousarray(np.array(self.records, np.int64).T)
        self.records = []
        return RecordBatch(np.frombuffer(window, np.uint8), *columns)


def _resolution(octet: int) -> int:
    """Units in a second: a power of ten, or with the highest bit set of two."""
    power = octet & 0x7F
    return 1 << min(power, 64) if octet & 0x80 else 10 ** min(power, 20)


def read_pcapng(source: ByteStream, headers: FileHeaders) -> Batches:
    """All packets of a pcapng file."""
    return (yield from pcapng_records(source, PcapngSection(headers)))


def pcapng_records(source: ByteStream, section: PcapngSection) -> Batches:
    """The packets that are there, also of the sections that follow; more may follow later."""
    while source.need(12):
        at, missing, fault = _whole_blocks(section, source.window)
        if section.records:
            yield section.batch(source.window)
        source.take(at)
        if fault:
            return fault
        if missing and not source.need(missing):
            break
    return ended(source)


def _whole_blocks(section: PcapngSection, window: bytes) -> tuple[int, int, str | None]:
    """The end of the whole blocks, the octets of the next one (0: not known yet), and a fault."""
    at = 0
    while at + 12 <= len(window):
        kind = section.word(window, at)
        if kind == _SECTION:
            order = _ORDERS.get(window[at + 8 : at + 12])
            if order is None:
                return at, 0, "block"
            section.order = order
            section.interfaces.clear()
        length = section.word(window, at + 4)
        if not 12 <= length <= LARGEST:
            return at, 0, "length"
        padded = length + 3 & ~3
        if at + padded > len(window):
            return at, padded, None
        try:
            section.block(kind, window, at + 8, at + length - 4)
        except BlockFault as fault:
            return at, 0, str(fault)
        at += padded
    return at, 0, None
