"""Scratch folders and locks, which end with their process (flock(2)).

Who needs a folder removes those that killed processes left. A user's are in one folder with the
user's number in its name; where another user has taken it, in one with a random end.
"""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from topologies.untrusted import remove

LOCK = "lock"  # name of the file in a folder that the folder's process locks
_GONE = (FileNotFoundError, NotADirectoryError)


def lock_if_free(file: IO[str] | int, *, shared: bool = False) -> bool:
    """Take the lock of an open file unless somebody holds it; whether it was taken."""
    try:
        fcntl.flock(file, fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX))
    except BlockingIOError:
        return False
    return True


@contextmanager
def gate(path: Path) -> Iterator[None]:
    """A lock on a path, behind which things are made and locked, and orphans looked for."""
    flags = os.O_RDONLY | os.O_DIRECTORY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def held(folder: Path) -> IO[str]:
    """Return the lock of a folder that was made behind the same gate, held."""
    file = (folder / LOCK).open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def orphaned_locks(path: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders of dead processes behind the gate at `path`, each locked meanwhile."""
    with gate(path):
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


_GATE = ".gate"
_OTHERS = 0o077
_MEMORY = Path("/dev/shm")


@contextmanager
def scratch(in_memory: bool = False) -> Iterator[Path]:
    """Provide an empty folder that is gone afterwards, on the disk of $TMPDIR or `in_memory`."""
    base = _base(in_memory)
    _remove_orphans(base)
    with gate(base / _GATE):
        folder = Path(tempfile.mkdtemp(dir=base))
        lock = held(folder)
    with lock:
        (folder / "work").mkdir()
        try:
            yield folder / "work"
        finally:
            remove(folder)


def claimed(name: str) -> IO[str] | None:
    """Lock a name that only this user's processes can take; None while one of them holds it."""
    file = (_base(in_memory=True) / name).open("w")
    if lock_if_free(file):
        return file
    file.close()
    return None


def remove_orphans() -> list[Path]:
    """Remove what killed processes of this user left; the folders that are gone."""
    return [place for base in _bases() for place in _remove_orphans(base)]


def _name() -> str:
    return f"tcplab-{os.geteuid()}"


def _bases(*roots: Path) -> list[Path]:
    """Return this user's folders there, or everywhere; of each root the usual one first."""
    roots = roots or (Path(tempfile.gettempdir()), _MEMORY)
    named = (base for root in roots for base in (root / _name(), *root.glob(f"{_name()}-*")))
    return [base for base in named if _is_ours(base)]


def _is_ours(base: Path) -> bool:
    """Check for a folder, no link, of this user that is closed to others."""
    try:
        status = base.lstat()
    except FileNotFoundError:
        return False
    is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & _OTHERS
    return is_private and status.st_uid == os.geteuid()


def _base(in_memory: bool) -> Path:
    usable = in_memory and os.access(_MEMORY, os.W_OK)
    root = _MEMORY if usable else Path(tempfile.gettempdir())
    with suppress(FileExistsError):
        (root / _name()).mkdir(mode=0o700)
    if ours := _bases(root):
        return ours[0]
    return Path(tempfile.mkdtemp(prefix=f"{_name()}-", dir=root))


def _remove_orphans(base: Path) -> list[Path]:
    removed = []
    for folder in orphaned_locks(base / _GATE, base.iterdir()):
        remove(folder)
        removed.append(folder)
    return removed


def orphans() -> list[Path]:
    """Return the folders of this user's killed processes, without removing them."""
    folders = [folder for base in _bases() for folder in base.iterdir()]
    return [folder for folder in folders if not is_held(folder / LOCK)]
