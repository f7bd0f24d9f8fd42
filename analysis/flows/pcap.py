"""Records of a pcap file, many at once, for checks that the engine's tables cannot answer.

Format: draft-ietf-opsawg-pcap. pcapng and compressed files are not read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from topologies.foundation.errors import TcplabError

_PIECE = 1 << 22
"""Bytes that are read at once: enough packets for NumPy, and little memory."""
_LARGEST = 256 << 20
"""A record of more bytes than this is taken as damage."""
_FORMATS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and the nanoseconds in the smaller unit of time."""
_FILE_HEADER, _HEADER = 24, 16
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records in `octets`; `start` and `captured` are where each one's packet is, in bytes."""

    octets: npt.NDArray[np.uint8]
    start: Whole
    captured: Whole
    length: Whole
    """Bytes on the wire."""
    time: Whole
    """Nanoseconds since 1970."""
    link: int


def read_pcap(file: BinaryIO) -> Iterator[RecordBatch]:
    """Read all records. Raises TcplabError for another format and for damage, after what is whole.

    Raises OSError if the file cannot be read.
    """
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
            yield _batch(window, starts, order, tick, link & 0xFFFF)
        rest = window[end:]
    if rest:
        raise TcplabError("The last record is not whole.")


def _whole_records(window: bytes, order: str) -> tuple[list[int], int]:
    """Find the beginnings of whole records, and the end of the last."""
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


def _batch(window: bytes, starts: list[int], order: str, tick: int, link: int) -> RecordBatch:
    octets, start = np.frombuffer(window, np.uint8), np.array(starts, np.int64)
    heads = np.lib.stride_tricks.sliding_window_view(octets, _HEADER)[start]
    seconds, fraction, captured, length = heads.view(order + "u4").astype(np.int64).T
    time = seconds * 1_000_000_000 + fraction * tick
    return RecordBatch(octets, start + _HEADER, captured, np.maximum(captured, length), time, link)
