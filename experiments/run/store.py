"""Run directories, `runs/<experiment>/<id>/`, written as `<id>.in-progress`, then renamed.

A lock that the kernel frees tells orphans, which the next writer keeps as interrupted runs.
Files are never overwritten.
"""

from __future__ import annotations

import datetime
import errno
import itertools
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import testbed
from testbed.host import scratch
from testbed.host.processes import invoking_user
from topologies import untrusted
from topologies.errors import TcplabError

FORMAT = 1
_OF_THE_DISK = {
    errno.ENOSPC: "Free space there, or use --out with a folder on another disk.",
    errno.EDQUOT: "Free space within your quota, or use --out with a folder on another disk.",
    errno.EROFS: "Use --out with a folder on a disk that is not read-only.",
    errno.EACCES: "Use --out with a folder that you may write to.",
    errno.EPERM: "Use --out with a folder that you may write to.",
}
"""Errors of a disk or its permissions, with the remedy."""
_IN_PROGRESS = ".in-progress"
_GATE = ".lock"
_ROOM_NEEDED = 200 * 2**20  # bytes; a run keeps captures, a full disk would cut them


@contextmanager
def new_run(shelf: Path, label: str) -> Iterator[RunFolder]:
    """Make a locked folder on a `shelf`, named by time and `label`. Raises TcplabError."""
    require_writable(shelf)
    try:
        if shutil.disk_usage(shelf).free < _ROOM_NEEDED:
            raise TcplabError(
                f"Less than {_ROOM_NEEDED >> 20} MiB are free at {shelf}.",
                "Free some, or use --out.",
            )
        keep_orphans(shelf)
        with scratch.gate(shelf / _GATE):
            folder = _made(shelf, label)
            lock = scratch.held(folder)
    except OSError as error:
        raise _unwritable(shelf, error) from error
    with lock:
        try:
            yield RunFolder(folder)
        except OSError as error:
            if error.errno not in _OF_THE_DISK:
                raise
            failed = _unwritable(Path(error.filename or folder), error)
            failed.remedy += " Measured files are kept; the next run puts them in their place."
            raise failed from error


def require_writable(folder: Path) -> None:
    """Make a folder, or raise TcplabError with the reason if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(path: Path, error: OSError) -> TcplabError:
    remedy = _OF_THE_DISK.get(error.errno or 0, "Use --out with another folder.")
    return TcplabError(f"{path} cannot be written: {error.strerror}.", remedy)


def keep_orphans(shelf: Path) -> list[Path]:
    """Finish the runs whose writer died as interrupted, with all that they hold."""
    killed = {"status": "interrupted", "failures": ["The run was killed."]}
    folders = sorted(shelf.glob(f"*{_IN_PROGRESS}"))
    return [
        RunFolder(folder).finish({"experiment": shelf.name, **killed})
        for folder in scratch.orphaned_locks(shelf / _GATE, folders)
    ]


def _made(shelf: Path, label: str) -> Path:
    stem = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-{label}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in itertools.count(1))
    endings = ("", _IN_PROGRESS)
    name = next(n for n in names if not any((shelf / f"{n}{end}").exists() for end in endings))
    folder = shelf / f"{name}{_IN_PROGRESS}"
    folder.mkdir(mode=0o700)  # no other user may add to a run that is being written
    return folder


@dataclass(frozen=True)
class RunFolder:
    """A run that is being written. Put files into `folder`, then call `finish` once."""

    folder: Path

    @property
    def identifier(self) -> str:
        return self.folder.name.removesuffix(_IN_PROGRESS)

    @property
    def place(self) -> Path:
        return self.folder.with_name(self.identifier)

    def finish(self, manifest: dict[str, Any]) -> Path:
        """Write the manifest with the digests of all files; return the run in its final place."""
        everything = {
            "format": FORMAT,
            "id": self.identifier,
            **manifest,
            "files": _digests(self.folder),
        }
        (self.folder / "manifest.json").write_text(json.dumps(everything, indent=1) + "\n")
        self.folder.chmod(stat.S_IMODE(self.folder.parent.stat().st_mode))
        place = self.folder.rename(self.place)
        (place / scratch.LOCK).unlink()  # only now: without it another run would adopt this one
        return place


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    names = [path.relative_to(folder).as_posix() for path in files]
    return {name: untrusted.digest(folder, name) for name in names if name != scratch.LOCK}


def point_latest(run: Path) -> None:
    """Point the link `latest` to the run in one step, if the file system has links."""
    link = run.with_name("latest")
    fresh = run.with_name(f".latest-{os.getpid()}")
    try:
        fresh.symlink_to(run.name)
    except PermissionError:
        return
    fresh.replace(link)


def hand_over(folder: Path) -> None:
    """Point `latest` at the run; under sudo, what was written goes to the user who typed it."""
    point_latest(folder)
    if caller := invoking_user():
        shelf = folder.parent
        for each in (shelf, *shelf.rglob("*")):
            os.chown(each, *caller, follow_symlinks=False)
        os.chown(shelf.parent, *caller)


Facts = dict[str, Any]
"""tcplab (its version), started, status (complete or interrupted), wall_seconds."""


@contextmanager
def result_folder(
    shelf: Path, label: str, write: Callable[[RunFolder, Facts], dict[str, Any]]
) -> Iterator[RunFolder]:
    """Provide a folder on a `shelf`; `write(run, facts)` returns its manifest."""
    begun, status = time.monotonic(), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with new_run(shelf, label) as run:
        try:
            yield run
            status = "complete"
        finally:
            facts = {
                "tcplab": testbed.VERSION,
                "started": started,
                "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
            }
            hand_over(run.finish(write(run, facts)))
