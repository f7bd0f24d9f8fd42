"""A run's folder taken back from its guest: strange entries are removed, the rest becomes ours.

The guest wrote there, and a student's module is part of it. After its last process nothing changes
any more, so the folder is looked through once, before anybody reads in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.foundation.errors import TcplabError
from topologies.foundation.untrusted import entries, remove

_DEEPEST = 4  # levels of folders: a condition's is one
_MOST = 100_000  # files
_SHOWN = 3
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def adopted(folder: Path, user: tuple[int, int] | None) -> Iterator[None]:
    """Give the folder to the guest's user, if there is one, and take it back with its content.

    Meanwhile no other user can enter it. Raises TcplabError if the guest left what no run leaves,
    or if another user left a file; that is removed.
    """
    if user:
        os.chown(folder, *user)
        if folder.stat().st_uid != user[0]:
            raise TcplabError(
                f"{folder} is on a file system without owners.",
                "Use --out with a folder on a disk.",
            )
    folder.chmod(0o700)
    # On a file system without owners every file has the folder's.
    owners = {os.geteuid(), folder.stat().st_uid}
    try:
        yield
    except TcplabError as error:
        if strange := _take_back(folder, owners):
            raise _left(strange) from error
        raise
    except BaseException:
        _take_back(folder, owners)
        raise
    if strange := _take_back(folder, owners):
        raise _left(strange)


def _take_back(folder: Path, owners: set[int]) -> list[str]:
    """Make all of the folder ours, and say in words what was removed."""
    strange: list[str] = []
    _ours(folder, 0o755)
    for number, (path, status) in enumerate(entries(folder, _DEEPEST, _MOST), 1):
        if number == _MOST:
            strange.append(f"more than {_MOST:,} files")
            remove(path.parent)
        elif why := _oddity(path.relative_to(folder), status, owners):
            strange.append(why)
            remove(path)
        else:
            _ours(path, 0o755 if stat.S_ISDIR(status.st_mode) else 0o644)
    return strange


def _oddity(inside: Path, status: os.stat_result, owners: set[int]) -> str:
    """What is wrong with an entry; empty if nothing is."""
    name = repr(str(inside)[:80])
    if status.st_uid not in owners:
        return f"a file of another user, {name}"
    if kind := _KINDS.get(stat.S_IFMT(status.st_mode)):
        return f"{kind}, {name}"
    if not inside.name.isprintable():
        return f"a name that cannot be printed, {name}"
    if stat.S_ISDIR(status.st_mode):
        return f"folders {len(inside.parts)} deep" if len(inside.parts) >= _DEEPEST else ""
    return f"a second name of a file, {name}" if status.st_nlink > 1 else ""


def _ours(path: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, 0, os.getegid(), follow_symlinks=False)
    path.chmod(mode)


def _left(strange: list[str]) -> TcplabError:
    more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
    return TcplabError(
        f"The guest left what no run leaves: {'; '.join(strange[:_SHOWN])}{more}.",
        "It was removed unread. A congestion control has no business with files.",
    )
