"""The file as a stream of bytes: unpacked where it is gzip (RFC 1952) or zstd (RFC 8878), read in large pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import zstandard

PIECE = 1 << 22
"""Bytes that are read at once: enough packets for NumPy, and little memory."""
_PACKED = 1 << 16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


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


def open_source(file: BinaryIO) -> tuple[Source, str]:
    """The stream in `file`, and how it is compressed: "", "gzip" or "zstd". Raises OSError if nothing can be read."""
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP):
        return Source(_gunzipped(file)), "gzip"
    if magic == _ZSTD:
        return Source(_unzstd(file)), "zstd"
    return Source(_read(file, PIECE)), ""


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    while piece := file.read(size):
        yield piece


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    """All members, one after the other."""
    unpack = zlib.decompressobj(31)
    for packed in _read(file, _PACKED):
        while packed:
            if unpack.eof:
                unpack = zlib.decompressobj(31)
            yield from _salvaged(unpack, packed)
            packed = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    if not unpack.eof:
        raise Damaged


def _salvaged(unpack: Any, packed: bytes) -> Iterator[bytes]:
    """What comes out of `packed`; where it is damaged, all that comes before, and then the error."""
    before = unpack.copy()
    try:
        made = unpack.decompress(packed, PIECE)
    except zlib.error:
        yield from _to_the_damage(before, packed)
        raise Damaged from None
    if made:
        yield made


def _to_the_damage(unpack: Any, packed: bytes) -> Iterator[bytes]:
    for at in range(len(packed)):
        try:
            made = unpack.decompress(packed[at : at + 1])
        except zlib.error:
            return
        if made:
            yield made


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """All frames, one after the other; skippable ones are skipped."""
    reader = zstandard.ZstdDecompressor().decompressobj()
    for packed in _read(file, _PACKED):
        while packed:
            if reader.eof:
                reader = zstandard.ZstdDecompressor().decompressobj()
            try:
                made = reader.decompress(packed)
            except zstandard.ZstdError:
                raise Damaged from None
            if made:
                yield made
            packed = reader.unused_data if reader.eof else b""
    if not reader.eof:
        raise Damaged
