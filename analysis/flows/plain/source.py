"""The file as a stream of bytes: unpacked where it is gzip (RFC 1952) or zstd (RFC 8878), read in large pieces."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

import zstandard

PIECE = 1 << 22
"""Bytes that are read at once: enough packets for NumPy, and little memory."""
_PACKED = 1 << 14
"""Bytes that are unpacked at once: a hostile file makes a lot of few."""
_ERRORS = (zlib.error, zstandard.ZstdError)


class Damaged(Exception):
    """What is compressed cannot be unpacked any further."""


class Source:
    """A window over the stream: what was read and not yet used."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.window = b""
        self.offset = 0
        """Bytes of the stream before the window."""
        self.broken = False
        """Whether the stream ended by an error of the system or of the unpacking, and not at its end."""

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
        except (OSError, Damaged):
            self.broken = True
            return b""


class Unpacker(Protocol):
    """What zlib and zstandard have in common."""

    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def open_source(file: BinaryIO) -> tuple[Source, str]:
    """The stream in `file`, and how it is compressed: "", "gzip" or "zstd". Raises OSError if nothing can be read."""
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return Source(_unpacked(file, lambda: zlib.decompressobj(31))), "gzip"
    if magic == b"\x28\xb5\x2f\xfd":
        return Source(_unpacked(file, lambda: zstandard.ZstdDecompressor().decompressobj())), "zstd"
    return Source(_read(file, PIECE)), ""


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    while piece := file.read(size):
        yield piece


def _unpacked(file: BinaryIO, new: Callable[[], Unpacker]) -> Iterator[bytes]:
    """All members (gzip) or frames (zstd), one after the other; then Damaged, if that is how it ends."""
    unpacker, member, at = new(), 0, 0
    for packed in _read(file, _PACKED):
        while packed:
            if unpacker.eof:
                unpacker, member = new(), at
            try:
                made = unpacker.decompress(packed)
            except _ERRORS:
                if made := _up_to_the_damage(file, member, at, new()):
                    yield made  # an empty piece would be the end of the stream
                raise Damaged from None
            if made:
                yield made
            rest = unpacker.unused_data if unpacker.eof else b""
            packed, at = rest, at + len(packed) - len(rest)
    if not unpacker.eof:
        raise Damaged


def _up_to_the_damage(file: BinaryIO, member: int, at: int, unpacker: Unpacker) -> bytes:
    """What can be unpacked of the piece at `at`, which is damaged, in the member that begins at `member`.

    An unpacker that meets an error keeps to itself what it has made of the piece. So a new one takes the member up to
    the piece, and then octet by octet.
    """
    file.seek(member)
    while file.tell() < at:
        unpacker.decompress(file.read(min(at - file.tell(), _PACKED)))
    made = []
    try:
        while octet := file.read(1):
            made.append(unpacker.decompress(octet))
    except _ERRORS:
        pass
    return b"".join(made)
