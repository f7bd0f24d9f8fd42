"""What a packed file has inside: all its members, frames or streams, in turn."""

from __future__ import annotations

import bz2
import lzma
import re
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
_ERRORS = (zlib.error, zstandard.ZstdError, lzma.LZMAError, OSError, RuntimeError)
"""The last two are those of bz2 and of lz4."""
_MOST_MEMORY = 128 << 20
"""Octets that unpacking xz may take; `xz -9` needs 65 MiB."""


class DamagedStream(Exception):
    """The compressed data cannot be unpacked any further."""


class Unpacker(Protocol):
    """What zlib, zstd's library, bz2, lzma and lz4 have in common."""

    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...


def gzip() -> Unpacker:
    return zlib.decompressobj(31)


def zstd() -> Unpacker:
    return zstandard.ZstdDecompressor()


def xz() -> Unpacker:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)


def lz4() -> Unpacker:
    from lz4.frame import LZ4FrameDecompressor  # few captures are packed so

    unpacker: Unpacker = LZ4FrameDecompressor()
    return unpacker


UNPACKERS: dict[str, tuple[re.Pattern[bytes], Callable[[], Unpacker]]] = {
    "gzip": (re.compile(rb"\x1f\x8b"), gzip),
    "zstd": (re.compile(rb"\x28\xb5\x2f\xfd"), zstd),
    "bzip2": (re.compile(rb"BZh[1-9]"), bz2.BZ2Decompressor),
    "xz": (re.compile(rb"\xfd7zX"), xz),
    "lz4": (re.compile(rb"\x04\x22\x4d\x18"), lz4),
}
"""By name: what such a file begins with, and how it is unpacked."""


def pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The file in pieces of `size` bytes."""
    while piece := file.read(size):
        yield piece


def unpacked(file: BinaryIO, new: Callable[[], Unpacker]) -> Iterator[bytes]:
    """All that is packed, in turn; then DamagedStream, if that is the end."""
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
            rest = (unpacker.unused_data or b"") if unpacker.eof else b""
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
