"""Scratch folders. A process that needs one removes those that killed processes left.

A finished process removes its own; one that was killed cannot, but the lock that it held
(flock(2)) went with it.

All of a user's are in one folder of a name with the user's number. Where another user has taken
that name, the folder has a random end, and is found again by its beginning and its owner.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from testbed.host import locks
from topologies.foundation.untrusted import remove

_GATE = ".gate"
_OTHERS = 0o077
_MEMORY = Path("/dev/shm")


@contextmanager
def scratch(in_memory: bool = False) -> Iterator[Path]:
    """Provide an empty folder that is gone afterwards, on the disk of $TMPDIR or `in_memory`."""
    base = _base(_MEMORY if in_memory and os.access(_MEMORY, os.W_OK) else _disk())
    _remove_orphans(base)
    with locks.gate(base / _GATE):
        place = Path(tempfile.mkdtemp(dir=base))
        lock = locks.held(place)
    with lock:
        (place / "work").mkdir()
        try:
            yield place / "work"
        finally:
            remove(place)


def remove_orphans() -> list[Path]:
    """Remove what killed processes of this user left; the folders that are gone."""
    return [place for base in _all_bases() for place in _remove_orphans(base)]


def _disk() -> Path:
    return Path(tempfile.gettempdir())


def _name() -> str:
    return f"tcplab-{os.geteuid()}"


def _bases(root: Path) -> list[Path]:
    """Return this user's folders there, the usual one first."""
    named = [root / _name(), *root.glob(f"{_name()}-*")]
    return [base for base in named if _is_ours(base)]


def _all_bases() -> list[Path]:
    return [base for root in (_disk(), _MEMORY) for base in _bases(root)]


def _is_ours(base: Path) -> bool:
    """Check for a folder, no link, of this user that is closed to others."""
    try:
        status = base.lstat()
    except FileNotFoundError:
        return False
    is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & _OTHERS
    return is_private and status.st_uid == os.geteuid()


def _base(root: Path) -> Path:
    with suppress(FileExistsError):
        (root / _name()).mkdir(mode=0o700)
    if ours := _bases(root):
        return ours[0]
    return Path(tempfile.mkdtemp(prefix=f"{_name()}-", dir=root))


def _remove_orphans(base: Path) -> list[Path]:
    removed = []
    for place in locks.orphans(base / _GATE, base.iterdir()):
        remove(place)
        removed.append(place)
    return removed


def orphans() -> list[Path]:
    """Return the folders of this user's killed processes, without removing them."""
    places = [place for base in _all_bases() for place in base.iterdir()]
    return [place for place in places if not locks.is_held(place / locks.LOCK)]
