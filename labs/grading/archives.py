"""Files in a stranger's zip or tar, read within limits.

A zip lists its files in its directory, and each extracted file is checked against it. A tar
has no directory, and a compressed one may swell without end: its bytes are counted while they are
read.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

_CHUNK = 1 << 16
_LARGEST_RATIO = 200  # text that repeats itself, such as samples of sockets, is packed 30 to 1
_RATIO_FROM = 4 << 20  # bytes from which the ratio counts
_LONGEST_NAME = 500  # characters
_DEEPEST = 12  # folders
_LONGEST_HEADER = 64 << 10  # bytes of a tar's extended header, which is read into memory as a whole
_HEADERS = 4096  # bytes of a tar around each file: header, extended header, filling
_EXTENSIONS = {
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
}
PACK = "Hand in what ./tcplab lab pack makes."
AGAIN = "Pack and hand it in again."


class Refusal(TcplabError):
    """A stranger's file that is not opened; the sentence is for its owner."""


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of an archive: files, bytes of one file, bytes of all."""

    files: int
    file: int
    whole: int


@dataclass(frozen=True)
class ArchiveMember:
    """A file in an archive or a folder: its name with slashes, and its size as claimed.

    `time` is when it was last changed, in seconds; it tells only which of two in one archive is
    newer. `problem` is why the file is not to be read.
    """

    name: str
    size: int
    time: float = 0.0
    problem: Refusal | None = None


_COMPRESSIONS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
Opener = Callable[[], IO[bytes]]


def open_strangers_file(file: Path) -> IO[bytes]:
    """Return a regular file, opened without following a link or waiting for a writer.

    Raises Refusal, OSError.
    """
    try:
        return untrusted.opened(file.parent, file.name)
    except untrusted.StrangeFile:
        raise link_problem(file.name) from None


def members(stream: IO[bytes], allowance: ArchiveLimits) -> Iterator[tuple[ArchiveMember, Opener]]:
    """Yield each file of a zip or tar in its order, and how to read it until the next is asked for.

    The first bytes say what an archive is, not its name. Raises Refusal if it cannot be read on.
    """
    with damage_refused():
        packed = os.fstat(stream.fileno()).st_size
        beginning = stream.read(tarfile.BLOCKSIZE)
        stream.seek(0)
        for magic, unpacked in _COMPRESSIONS.items():
            if beginning.startswith(magic):
                yield from _tar(unpacked(stream), packed, allowance)
                return
        if _is_tar(beginning):
            yield from _tar(stream, packed, allowance)
        else:
            yield from _zip(stream, allowance)


@contextmanager
def damage_refused() -> Iterator[None]:
    """Turn the errors of libraries at a damaged archive into Refusal, but not a full disk."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
        raise Refusal(f"It is no whole zip file ({str(error)[:120]}).", AGAIN) from None
    except (zlib.error, lzma.LZMAError, struct.error, EOFError):
        raise Refusal("Its compressed data is damaged.", AGAIN) from None
    except tarfile.TarError as error:
        raise Refusal(f"It is no whole tar file ({str(error)[:120]}).", AGAIN) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise Refusal("Its compressed data is damaged.", AGAIN) from None  # as gzip and bz2 say it


def copy_limited(stream: IO[bytes], target: Path, limit: int) -> int:
    """Copy at most `limit` bytes, whatever size was claimed, and return how many they were.

    Raises Refusal if there are more.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as out:
        while chunk := stream.read(_CHUNK):
            written += len(chunk)
            if written > limit:
                raise Refusal(f"{target.name} is larger than it may be.", PACK)
            out.write(chunk)
    return written


def name_problem(name: str) -> Refusal | None:
    """Return the problem of a name with slashes: it leads out of its folder, or is too long."""
    parts = name.split("/")
    if name.startswith("/") or "\0" in name or ".." in parts or re.match(r"[A-Za-z]:", name):
        return Refusal(f"A file in it would leave its folder: {name[:80]!r}.", PACK)
    if len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
        return Refusal("A name in it is too long.", PACK)
    return None


def link_problem(name: str) -> Refusal:
    """Return the refusal of a member that is neither a file nor a folder."""
    return Refusal(f"It holds a link or a device: {name[:80]!r}.", "Hand in files only.")


def _slashed(name: str) -> str:
    """Return a name as it is compared, with plain slashes.

    Programs on Windows write backslashes, tar writes `./` in front of every name. Only slashes are
    allowed in a zip (APPNOTE.TXT, section 4.4.17); a name that begins with one is left for
    name_problem.
    """
    return re.sub(r"(?<![^/])\./", "", name.replace("\\", "/"))


def _too_many(allowance: ArchiveLimits) -> Refusal:
    return Refusal(f"It holds more than {allowance.files} files.", PACK)


def _too_large(allowance: ArchiveLimits) -> Refusal:
    return Refusal(f"Unpacked it would be larger than {allowance.whole >> 20} MiB.", PACK)


def _size_problem(size: int, packed: int, allowance: ArchiveLimits) -> Refusal | None:
    if size > allowance.file:
        return Refusal(f"It is larger than {allowance.file >> 20} MiB.", PACK)
    if size > _RATIO_FROM and size > _LARGEST_RATIO * max(1, packed):
        return Refusal("It would unpack to very much more than it is.", PACK)
    return None


def _zip(stream: IO[bytes], allowance: ArchiveLimits) -> Iterator[tuple[ArchiveMember, Opener]]:
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > allowance.files:
            raise _too_many(allowance)
        for entry in entries:
            name = _slashed(entry.filename)
            if not name.endswith("/"):
                problem = _zip_problem(entry, name, allowance)
                member = ArchiveMember(name, entry.file_size, _time(entry), problem)
                yield member, partial(archive.open, entry)


def _time(entry: zipfile.ZipInfo) -> float:
    """Return the time of a file's last change; some programs write zeros, which are no date."""
    try:
        return datetime(*entry.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _zip_problem(entry: zipfile.ZipInfo, name: str, allowance: ArchiveLimits) -> Refusal | None:
    if problem := name_problem(name):
        return problem
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return link_problem(name)
    if entry.flag_bits & 1:
        return Refusal("It is encrypted.", "Hand it in without a password.")
    return _size_problem(entry.file_size, entry.compress_size, allowance)


def _is_tar(beginning: bytes) -> bool:
    """By the checksum of its first header, which old tars have too."""
    try:
        tarfile.TarInfo.frombuf(beginning, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _tar(
    stream: IO[bytes], packed: int, allowance: ArchiveLimits
) -> Iterator[tuple[ArchiveMember, Opener]]:
    counted = cast(IO[bytes], _CountedStream(stream, packed, allowance))
    with tarfile.open(fileobj=counted, mode="r|", tarinfo=_TarHeader) as archive:
        for number, entry in enumerate(archive, 1):
            if number > allowance.files:
                raise _too_many(allowance)
            if entry.size > allowance.whole:
                raise _too_large(allowance)
            if not entry.isdir():
                name = _slashed(entry.name)
                problem = _tar_problem(entry, name, allowance)
                yield (
                    ArchiveMember(name, entry.size, entry.mtime, problem),
                    partial(_opened, archive, entry),
                )


def _tar_problem(entry: tarfile.TarInfo, name: str, allowance: ArchiveLimits) -> Refusal | None:
    if problem := name_problem(name):
        return problem
    if not entry.isreg() or entry.issparse():
        return link_problem(name)
    return _size_problem(entry.size, entry.size, allowance)


def _opened(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(entry)
    if stream is None:
        raise link_problem(entry.name)
    return stream


class _CountedStream(io.RawIOBase):
    """A tar whose bytes are counted while they are read.

    Raises Refusal if they are more than a tar may have, or very many more than it was packed into.
    """

    def __init__(self, stream: IO[bytes], packed: int, allowance: ArchiveLimits) -> None:
        super().__init__()
        self._stream, self._packed, self._allowance, self._count = stream, packed, allowance, 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self._count += len(chunk)
        if self._count > self._allowance.whole + _HEADERS * self._allowance.files:
            raise _too_large(self._allowance)
        if self._count > _RATIO_FROM and self._count > _LARGEST_RATIO * max(1, self._packed):
            raise Refusal("It would unpack to very much more than it is.", PACK)
        return chunk


class _TarHeader(tarfile.TarInfo):
    """A tar's header. tarfile takes a damaged one for the end, and what follows would vanish."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> _TarHeader:
        if len(buf) == tarfile.BLOCKSIZE and not any(buf):
            return super().frombuf(buf, encoding, errors)  # raises what means the end
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise Refusal(f"It is no whole tar file ({error}).", AGAIN) from None
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > _LONGEST_HEADER):
            raise Refusal("A header in it is too long.", PACK)
        return header
