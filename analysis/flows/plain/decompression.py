"""What a gzip or zstd file has inside: all its members (gzip) or frames (zstd), in turn."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd as zstandard
else:
    from backports import zstd as zstandard

_PACKED = 1 << 14
"""Bytes that are unpacked at once: a hostile file makes a lot of few."""
_ERRORS = (zlib.error, zstandard.ZstdError)


class DamagedStream(Exception):
    """The compressed data cannot be unpacked any further."""


class Unpacker(Protocol):
    """What zlib and the library of zstd have in common."""

    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def gzip() -> Unpacker:
    return zlib.decompressobj(31)


def zstd() -> Unpacker:
    return zstandard.ZstdDecompressor()


def pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The file in pieces of `size` bytes."""
    while piece := file.read(size):
        yield piece


def unpacked(file: BinaryIO, new: Callable[[], Unpacker]) -> Iterator[bytes]:
    """All members (gzip) or frames (zstd), in turn; then DamagedStream, if that is the end."""
    unpacker, member, at = new(), 0, 0
    for packed in pieces(file, _PACKED):
        while packed:
            if unpacker.eof:
                unpacker, member = new(), at
            try:
                octets = unpacker.decompress(packed)
            except _ERRORS:
                if octets := _up_to_the_damage(file, member, at, new()):
                    yield octets  # an empty piece would be the end of the stream
                raise DamagedStream from None
            if octets:
                yield octets
            rest = unpacker.unused_data if unpacker.eof else b""
            packed, at = rest, at + len(packed) - len(rest)
    if not unpacker.eof:
        raise DamagedStream


def _up_to_the_damage(file: BinaryIO, member: int, at: int, unpacker: Unpacker) -> bytes:
    """What can be unpacked of the damaged piece at `at`, in the member that begins at `member`.

    An unpacker that meets an error keeps to itself what it has made of the piece. So a new one
    takes the member up to the piece, and then octet by octet.
    """
    file.seek(member)
    while file.tell() < at:
        unpacker.decompress(file.read(min(at - file.tell(), _PACKED)))
    octets = []
    try:
        while octet := file.read(1):
            octets.append(unpacker.decompress(octet))
    except _ERRORS:
        pass
    return b"".join(octets)
