"""IPv4 packets of a pcap file, each with a number by which another capture's are recognised.

Format: draft-ietf-opsawg-pcap. pcapng and compressed files are not read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from analysis.table import RowGroups
from topologies import untrusted
from topologies.errors import TcplabError

_PIECE = 1 << 22  # bytes that are read at once: enough packets for NumPy, and little memory
_LARGEST = 256 << 20  # A record of more bytes than this is taken as damage
_FORMATS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and the nanoseconds in the smaller unit of time."""
_FILE_HEADER, _HEADER = 24, 16
Whole = npt.NDArray[np.int64]


class RecordBatch(NamedTuple):
    """Records in `octets`: each packet's start and bytes, those on the wire, and ns since 1970."""

    octets: npt.NDArray[np.uint8]
    start: Whole
    captured: Whole
    length: Whole
    time: Whole
    link: int


def read_pcap(file: BinaryIO) -> Iterator[RecordBatch]:
    """Read all records. Raises OSError; TcplabError for another format, or behind damage."""
    header = file.read(_FILE_HEADER)
    if len(header) < _FILE_HEADER or header[:4] not in _FORMATS:
        raise TcplabError("This is no pcap file.")
    order, tick = _FORMATS[header[:4]]
    (link,) = struct.unpack_from(order + "I", header, 20)
    rest = b""
    while piece := file.read(_PIECE):
        window = rest + piece
        starts, end = _whole_records(window, order)
        if starts:
            octets, start = np.frombuffer(window, np.uint8), np.array(starts, np.int64)
            heads = np.lib.stride_tricks.sliding_window_view(octets, _HEADER)[start]
            seconds, part, captured, length = heads.view(order + "u4").astype(np.int64).T
            time, length = seconds * 10**9 + part * tick, np.maximum(captured, length)
            yield RecordBatch(octets, start + _HEADER, captured, length, time, link & 0xFFFF)
        rest = window[end:]
    if rest:
        raise TcplabError("The last record is not whole.")


def _whole_records(window: bytes, order: str) -> tuple[list[int], int]:
    captured = struct.Struct(order + "I").unpack_from
    starts, at, end = [], 0, len(window)
    while at + _HEADER <= end:
        (claimed,) = captured(window, at + 8)
        if claimed > _LARGEST:
            raise TcplabError("A record claims an impossible length.")
        if at + _HEADER + claimed > end:
            break
        starts.append(at)
        at += _HEADER + claimed
    return starts, at


Numbers = npt.NDArray[np.integer[Any]]
Truths = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

_ETHERNET, _FRAME, _IPV4, _TCP, _UDP = 1, 14, 0x0800, 6, 17
_COMPARED = 56
"""Bytes from the IP header on by which a packet is recognised: the headers, with TCP's timestamps
or the number of iperf's datagram."""
_HEAD = np.dtype(
    {
        "names": ["type", "version", "ecn", "protocol", "source", "target", "ports", "flags"],
        "formats": [">u2", "u1", "u1", "u1", ">u4", ">u4", ">u4", "u1"],
        "offsets": [12, 14, 15, 23, 26, 30, 34, 47],
        "itemsize": _FRAME + _COMPARED,
    }
)
"""Fields of Ethernet, IPv4 and TCP or UDP. `ecn` is in the byte of DSCP, `ports` are both."""
_CHANGED = [8, 10, 11]  # what routers change: the TTL and the header's checksum
_ECN, _CAPABLE_OR_MARKED = 1, 3
"""The byte of DSCP and ECN, and its bits for ECN. A queue may set both in a packet that has one."""
_CHECKSUM = {_TCP: [36, 37], _UDP: [26, 27]}
"""Not yet computed as a packet leaves its host, and computed if Open vSwitch asks its daemon."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sightings:
    """The IPv4 packets of a capture, in the order of the file.

    `time` in ns since 1970, `length` in bytes with the Ethernet header, addresses as numbers,
    `flags` TCP's (0 of other protocols), `ports` both of them as one number, `key` a number that
    is the packet's own, `marked` whether it has a congestion mark (CE).
    """

    time: Whole
    length: Numbers
    source: Numbers
    target: Numbers
    flags: Numbers
    ports: Numbers
    key: Keys
    marked: Truths

    def only(self, chosen: Truths | Whole) -> Self:
        return type(self)(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def between(self, source: int, target: int) -> Self:
        return self.only((self.source == source) & (self.target == target))

    def __len__(self) -> int:
        return len(self.time)


_KINDS = (np.int64, np.int32, np.uint32, np.uint32, np.uint8, np.uint32, np.uint64, np.bool_)
"""Of the columns, 34 bytes a packet: a capture may have millions."""


def sightings(folder: Path, name: str) -> Sightings | None:
    """Return the packets of the capture `name`; None if there is no capture, or a damaged one."""
    parts = [[np.empty(0, kind) for kind in _KINDS]]  # of an empty capture
    try:
        with untrusted.opened(folder, name) as file:
            parts += map(_columns, read_pcap(file))
    except (OSError, TcplabError):
        return None
    return Sightings(*map(np.concatenate, zip(*parts, strict=True)))


def _columns(batch: RecordBatch) -> list[npt.NDArray[Any]]:
    rows = np.flatnonzero((batch.captured >= 34) & (batch.link == _ETHERNET))
    octets = _heads(batch, rows)
    head = octets.view(_HEAD)[:, 0]
    ipv4 = (head["type"] == _IPV4) & (head["version"] >> 4 == 4)
    head, length = head[ipv4], batch.length[rows][ipv4]
    columns = (
        batch.time[rows][ipv4],
        length,
        head["source"],
        head["target"],
        np.where(head["protocol"] == _TCP, head["flags"], 0),
        head["ports"],
        _key(octets[ipv4, _FRAME:], length),
        head["ecn"] & _CAPABLE_OR_MARKED == _CAPABLE_OR_MARKED,
    )
    return [column.astype(kind) for column, kind in zip(columns, _KINDS, strict=True)]


def _heads(batch: RecordBatch, rows: Whole) -> npt.NDArray[np.uint8]:
    """Return the headers of packets, with 0 behind the end of a short one."""
    width = _HEAD.itemsize
    padded = np.concatenate((batch.octets, np.zeros(width, np.uint8)))
    heads = np.lib.stride_tricks.sliding_window_view(padded, width)[batch.start[rows]]
    heads[np.arange(width) >= batch.captured[rows, None]] = 0
    return heads


def _key(packet: npt.NDArray[np.uint8], length: Whole) -> Keys:
    """64 bits of what the network leaves alone (a multiplicative hash, word by word)."""
    unchanged = packet.copy()
    unchanged[:, _CHANGED] = 0
    # ECT(0), ECT(1) and CE count as one. A packet that ECN is not for must stay that.
    unchanged[packet[:, _ECN] & _CAPABLE_OR_MARKED > 0, _ECN] |= _CAPABLE_OR_MARKED
    for protocol, octets in _CHECKSUM.items():
        unchanged[np.ix_(packet[:, 9] == protocol, octets)] = 0
    key = length.astype(np.uint64)
    for column in np.ascontiguousarray(unchanged).view(np.uint64).T:
        key = (key ^ column) * _FACTOR
        key ^= key >> np.uint64(29)
    return key


def arrivals(sent: Sightings, arrived: Sightings) -> Whole:
    """For each sent packet the place of its arrival, -1 for none; equal ones in their order."""
    came = np.full(len(sent), -1, np.int64)
    _, left, right = np.intersect1d(_numbered(sent), _numbered(arrived), return_indices=True)
    came[left] = right
    return came


def _numbered(packets: Sightings) -> Keys:
    return packets.key + RowGroups(packets.key).turns.astype(np.uint64) * _FACTOR
