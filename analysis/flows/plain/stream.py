"""The file as a stream of bytes, read in large pieces.

Unpacked if it is gzip (RFC 1952), zstd (RFC 8878), bzip2, xz or lz4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from analysis.flows.plain.decompression import UNPACKERS, DamagedStream, pieces, unpacked

PIECE = 1 << 22
"""Bytes that are read at once: enough packets for NumPy, and little memory."""


class ByteStream:
    """A window over the stream: what was read and not yet used."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.window = b""
        self.offset = 0
        """Bytes of the stream before the window."""
        self.broken = False
        """Whether the stream ended by an error of the system or of unpacking, not at its end."""

    def append(self, octets: bytes) -> None:
        """More of a stream that grows."""
        self.window += octets

    def need(self, length: int) -> bool:
        """Makes at least `length` bytes stand in the window; False if the stream ends before."""
        have = len(self.window)
        if have >= length:
            return True
        parts = [self.window]
        while have < length and (piece := self._next()):
            parts.append(piece)
            have += len(piece)
        self.window = b"".join(parts)
        return have >= length

    def take(self, length: int) -> None:
        self.window = self.window[length:]
        self.offset += length

    def _next(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except (OSError, DamagedStream):
            self.broken = True
            return b""


def open_source(file: BinaryIO) -> tuple[ByteStream, str]:
    """The stream in `file`, and how it is compressed: a name of UNPACKERS, or "".

    Raises OSError if nothing can be read.
    """
    magic = file.read(4)
    file.seek(0)
    for name, (begins, unpacker) in UNPACKERS.items():
        if begins.match(magic):
            return ByteStream(unpacked(file, unpacker)), name
    return ByteStream(pieces(file, PIECE)), ""
