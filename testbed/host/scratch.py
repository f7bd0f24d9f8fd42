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


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder that is gone afterwards, on the disk of $TMPDIR."""
    place, lock = _made(_base())
    with lock:
        try:
            yield place / "work"
        finally:
            remove(place)


def remove_orphans() -> list[Path]:
    """Remove what killed processes of this user left; the folders that are gone."""
    if not _place().exists():
        return []
    with locks.gate(_base() / _GATE):
        return _remove_orphans(_place())


def _made(base: Path) -> tuple[Path, IO[str]]:
    """A new place and its lock, held."""
    with locks.gate(base / _GATE):
        _remove_orphans(base)
        place = Path(tempfile.mkdtemp(dir=base))
        (place / "work").mkdir()
        return place, locks.made(place / _LOCK)


def _place() -> Path:
    return Path(tempfile.gettempdir()) / f"tcplab-{os.geteuid()}"


def _base() -> Path:
    """One folder for each user, which nobody else could have made."""
    base = _place()
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
    places = list(_place().iterdir()) if _place().exists() else []
    return [place for place in places if not locks.is_held(place / _LOCK)]
