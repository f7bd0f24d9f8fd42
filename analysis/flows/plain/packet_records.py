"""Captured packets, many at once, whatever the format: pcap here, pcapng in `blocks`.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.stream import ByteStream

LARGEST = 256 << 20
"""A record of more bytes than this is taken as damage."""
Whole = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records in `octets`: their beginnings, captured octets, lengths, times and link types."""

    octets: Octets
    start: Whole
    captured: Whole
    length: Whole
    """Octets that were on the wire."""
    time: Whole
    """Nanoseconds since 1970."""
    link: Whole
    network: Whole | None = None
    """Of each record that a tunnel was taken off: its network; -1 of the others."""

    def of(self, rows: Whole) -> RecordBatch:
        """These records alone."""
        return RecordBatch(
            self.octets,
            self.start[rows],
            self.captured[rows],
            self.length[rows],
            self.time[rows],
            self.link[rows],
        )


@dataclass(slots=True)
class FileHeaders:
    """What the file's headers state: link types in order of appearance, largest snap length."""

    link_types: list[int] = field(default_factory=list)
    snaplen: int = 0

    def interface(self, link: int, snaplen: int) -> None:
        if link not in self.link_types:
            self.link_types.append(link)
        self.snaplen = max(self.snaplen, snaplen)


Batches = Generator[RecordBatch, None, str | None]
"""Gives records, and returns why reading ended before the end: a name in analysis.flows.faults."""

_FORMATS = {
    b"\xd4\xc3\xb2\xa1": ("pcap", "<"),
    b"\xa1\xb2\xc3\xd4": ("pcap", ">"),
    b"\x4d\x3c\xb2\xa1": ("pcap-nanosecond", "<"),
    b"\xa1\xb2\x3c\x4d": ("pcap-nanosecond", ">"),
    b"\x34\xcd\xb2\xa1": ("pcap-modified", "<"),
    b"\xa1\xb2\xcd\x34": ("pcap-modified", ">"),
    b"\x0a\x0d\x0d\x0a": ("pcapng", ""),
}


def recognise(source: ByteStream) -> tuple[str, str] | None:
    """The format and pcap's byte order, or None for a file that is no capture."""
    return _FORMATS.get(source.window[:4]) if source.need(4) else None


def read_pcap(source: ByteStream, format: str, order: str, headers: FileHeaders) -> Batches:
    """All records of a pcap file."""
    layout = begin_pcap(source, format, order, headers)
    return (yield from pcap_records(source, layout)) if layout else ended(source)


def begin_pcap(
    source: ByteStream, format: str, order: str, headers: FileHeaders
) -> PcapLayout | None:
    """What the file's header says of the records; None if there is not all of it."""
    if not source.need(24):
        return None
    layout = PcapLayout.of(source.window, format, order)
    (snaplen,) = struct.unpack_from(order + "I", source.window, 16)
    headers.interface(layout.link, snaplen)
    source.take(24)
    return layout


def pcap_records(source: ByteStream, layout: PcapLayout) -> Batches:
    """The records that are there; more may follow later."""
    while source.need(layout.header):
        starts, end, claimed = _whole_records(source.window, layout)
        if starts:
            yield _batch(source.window, starts, layout)
            source.take(end)
        elif claimed > LARGEST:
            return "length"
        elif not source.need(layout.header + claimed):
            break
    return ended(source)


def ended(source: ByteStream) -> str | None:
    """What is wrong with a stream that has no more whole records."""
    if source.broken:
        return "unpacking"
    return "cut" if source.window else None


@dataclass(frozen=True, slots=True)
class PcapLayout:
    """How the records of a pcap file begin: their byte order, the length of their header, ..."""

    order: str
    header: int
    """Kuznetsov's patch of libpcap adds the interface's number, the protocol, the packet's kind."""
    tick: int
    """Nanoseconds in the smaller unit of time."""
    link: int
    captured: tuple[int, ...]
    """Where the captured length stands, in octets; of two the smaller one is it."""

    @staticmethod
    def of(window: bytes, format: str, order: str) -> PcapLayout:
        """As libpcap takes it (pcap_check_header in sf-pcap.c).

        Writers before version 2.4 disagreed on the order of the two lengths.
        """
        major, minor = struct.unpack_from(order + "HH", window, 4)
        captured: tuple[int, ...] = (8,)
        if major == 543 or (major == 2 and minor < 3):
            captured = (12,)
        elif (major, minor) == (2, 3):
            captured = (8, 12)
        header = 24 if format == "pcap-modified" else 16
        (link,) = struct.unpack_from(order + "I", window, 20)
        tick = 1 if format == "pcap-nanosecond" else 1000
        return PcapLayout(order, header, tick, link & 0xFFFF, captured)


def _whole_records(window: bytes, layout: PcapLayout) -> tuple[list[int], int, int]:
    """The beginnings of whole records, the end of the last, and the length claimed by the next."""
    length = struct.Struct(layout.order + "I").unpack_from
    starts, at, end, claimed, header = [], 0, len(window), 0, layout.header
    place, *others = layout.captured
    while at + header <= end:
        (claimed,) = length(window, at + place)
        for other in others:
            claimed = min(claimed, *length(window, at + other))
        following = at + header + claimed
        if following > end or claimed > LARGEST:
            break
        starts.append(at)
        at = following
    return starts, at, claimed


def _batch(window: bytes, starts: list[int], layout: PcapLayout) -> RecordBatch:
    octets, start = np.frombuffer(window, np.uint8), np.array(starts, np.int64)
    heads = view(
        octets,
        start,
        np.dtype([(name, layout.order + "u4") for name in ("s", "fraction", "8", "12")]),
    )
    lengths = {at: heads[str(at)].astype(np.int64) for at in (8, 12)}
    captured = np.minimum.reduce([lengths[at] for at in layout.captured])
    fraction = heads["fraction"].astype(np.int64)
    time = heads["s"].astype(np.int64) * 1_000_000_000 + fraction * layout.tick
    return RecordBatch(
        octets,
        start + layout.header,
        captured,
        np.maximum(lengths[8], lengths[12]),
        time,
        np.full(len(start), layout.link, np.int64),
    )


def view(octets: Octets, at: Whole, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """The headers of this kind that begin at each of `at`."""
    if not len(at):
        return np.empty(0, kind)
    return np.lib.stride_tricks.sliding_window_view(octets, kind.itemsize)[at].view(kind)[:, 0]
