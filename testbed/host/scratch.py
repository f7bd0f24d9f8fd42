"""Folders for what nobody keeps. What a killed process left is removed by the next that needs one.

A finished process removes its own; one that was killed cannot, but the lock that it held
(flock(2)) went with it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from testbed.host import locks
from topologies.errors import TcplabError
from topologies.untrusted import remove

_LOCK, _GATE = "lock", ".gate"
_MEMORY = Path("/dev/shm")


@contextmanager
def scratch(in_memory: bool = False) -> Iterator[Path]:
    """An empty folder that is gone afterwards, on the disk of $TMPDIR.

    `in_memory` puts it into /dev/shm, if there is one: to write through to it takes no disk.
    """
    place, lock = _made(_base(_MEMORY if in_memory and os.access(_MEMORY, os.W_OK) else _disk()))
    with lock:
        try:
            yield place / "work"
        finally:
            remove(place)


def remove_orphans() -> list[Path]:
    """Remove what killed processes of this user left; the folders that are gone."""
    removed = []
    for root in (_disk(), _MEMORY):
        if _place(root).exists():
            with locks.gate(_base(root) / _GATE):
                removed += _remove_orphans(_place(root))
    return removed


def _made(base: Path) -> tuple[Path, IO[str]]:
    """A new place and its lock, held."""
    with locks.gate(base / _GATE):
        _remove_orphans(base)
        place = Path(tempfile.mkdtemp(dir=base))
        (place / "work").mkdir()
        return place, locks.made(place / _LOCK)


def _disk() -> Path:
    return Path(tempfile.gettempdir())


def _place(root: Path) -> Path:
    return root / f"tcplab-{os.geteuid()}"


def _base(root: Path) -> Path:
    """One folder for each user, which nobody else could have made."""
    base = _place(root)
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise TcplabError(
            f"{base} belongs to somebody else.", "Set TMPDIR to a folder of your own."
        )
    return base


def _remove_orphans(base: Path) -> list[Path]:
    removed = []
    for place in base.iterdir():
        if lock := locks.adopted(place / _LOCK):
            with lock:
                remove(place)
            removed.append(place)
    return removed


def orphans() -> list[Path]:
    """What killed processes of this user left; removes nothing."""
    bases = [_place(root) for root in (_disk(), _MEMORY)]
    places = [place for base in bases if base.exists() for place in base.iterdir()]
    return [place for place in places if not locks.is_held(place / _LOCK)]
