"""The members of a file that carries a lab: what `image export` wrote, or a release.

A release is a wheel (zip) or a compressed tar; of these only what lies below `tcplab/brought/` is
a lab's, and the rest is passed over. What `image export` wrote is a plain tar of nothing else.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What reading a file raises that is damaged, or is no such archive."""
_OF_LAB = "tcplab/brought/"


@dataclass(frozen=True)
class PackedMember:
    """A member by its name in the lab; `size` is in bytes."""

    name: str
    size: int
    is_file: bool
    is_program: bool
    opened: Callable[[], IO[bytes]]


@contextmanager
def packed_members(file: Path) -> Iterator[Iterator[PackedMember]]:
    """The lab's members of a file, in its order, each to be read before the next. Raises BROKEN."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as wheel:
            yield _of_release(_of_wheel(wheel))
    elif _is_compressed(file):
        with tarfile.open(file, "r|gz") as archive:
            yield _of_release(_of_tar(archive))
    else:
        with tarfile.open(file, "r:") as archive:
            yield _of_tar(archive)


def _is_compressed(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def _of_tar(archive: tarfile.TarFile) -> Iterator[PackedMember]:
    for member in archive:
        content = partial(_content, archive, member)
        is_program = bool(member.mode & stat.S_IXUSR)
        yield PackedMember(member.name, member.size, member.isreg(), is_program, content)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    return content


def _of_wheel(wheel: zipfile.ZipFile) -> Iterator[PackedMember]:
    for info in wheel.infolist():
        mode = info.external_attr >> 16
        is_file = not info.is_dir() and stat.S_IFMT(mode) in (0, stat.S_IFREG)
        is_program = bool(mode & stat.S_IXUSR)
        yield PackedMember(
            info.filename, info.file_size, is_file, is_program, partial(wheel.open, info)
        )


def _of_release(members: Iterator[PackedMember]) -> Iterator[PackedMember]:
    for member in members:
        if name := member.name.partition(_OF_LAB)[2]:
            yield replace(member, name=name)
