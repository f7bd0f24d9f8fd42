"""Locks that end with the process that holds them, and so tell what dead processes left.

flock(2): a lock belongs to the open file. It is free as soon as that is closed, at the latest when
the last process that has it open is dead. Python's files are not inherited by programs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOCK = "lock"
"""Name of the file in a folder that the folder's process locks."""
_GONE = (FileNotFoundError, NotADirectoryError)


def lock(file: IO[str] | int) -> None:
    """Take the lock of an open file, as soon as it is free."""
    fcntl.flock(file, fcntl.LOCK_EX)


def lock_if_free(file: IO[str] | int, *, shared: bool = False) -> bool:
    """Take the lock of an open file unless somebody holds it; whether it was taken."""
    try:
        fcntl.flock(file, fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX))
    except BlockingIOError:
        return False
    return True


@contextmanager
def gate(place: Path) -> Iterator[None]:
    """A lock on `place`, a folder, or a file that is made if need be.

    A process that makes something and then locks it does both behind a gate, and so does a process
    that looks for orphans: else it would take for one what is not locked yet.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY if place.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(place, flags | os.O_CLOEXEC, 0o666)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def held(folder: Path) -> IO[str]:
    """Return the lock of a folder that was made behind the same gate, held."""
    file = (folder / LOCK).open("w")
    lock(file)
    return file


def orphans(place: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders of dead processes behind the gate at `place`, each locked meanwhile."""
    with gate(place):
        for folder in folders:
            if file := adopted(folder / LOCK, "r+"):
                with file:
                    if folder.exists():  # its process may have finished and renamed it meanwhile
                        yield folder


def adopted(path: Path, mode: str = "r") -> IO[str] | None:
    """Lock and return the file of a dead process; None if its holder lives or it is gone."""
    try:
        file: IO[str] = path.open(mode)
    except _GONE:
        return None
    if lock_if_free(file):
        return file
    file.close()
    return None


def is_held(path: Path) -> bool:
    """Check if a process holds the file, or it is gone; read access is enough."""
    try:
        with path.open() as file:
            return not lock_if_free(file, shared=True)
    except _GONE:
        return True
