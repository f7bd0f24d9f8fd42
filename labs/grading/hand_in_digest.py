"""The digest of a hand-in as it was handed in: people's decisions are bound to it.

This runs in a process of its own (labs.measuring.contained): what is read is a stranger's.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from topologies.foundation import untrusted

_DIGITS = 32  # hexadecimal, 128 bits
_CHUNK = 1 << 20  # bytes
_LARGEST = 1 << 30  # bytes of a file that are read; unpacking refuses much smaller ones
_MOST_FILES = 10_000


def fingerprint(source: str) -> str:
    """32 hexadecimal digits of the file or folder `source`: of all names, sizes and bytes in it."""
    whole = hashlib.sha256()
    for name, file in _files(Path(source)):
        whole.update(f"{len(name)} {name} ".encode("utf-8", "surrogateescape"))
        _add(whole, file)
    return whole.hexdigest()[:_DIGITS]


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Every regular file with its name inside; links are not followed."""
    if not source.is_dir():
        yield "", source
        return
    files = (Path(place, name) for place, _, names in os.walk(source) for name in names)
    regular = filter(_is_regular, itertools.islice(files, _MOST_FILES))
    yield from sorted((file.relative_to(source).as_posix(), file) for file in regular)


def _is_regular(file: Path) -> bool:
    return stat.S_ISREG(file.lstat().st_mode)


def _add(whole: hashlib._Hash, file: Path) -> None:
    with untrusted.opened(file.parent, file.name) as stream:
        whole.update(f"{os.fstat(stream.fileno()).st_size} ".encode())
        left = _LARGEST
        while left > 0 and (chunk := stream.read(_CHUNK)):
            whole.update(chunk)
            left -= len(chunk)
