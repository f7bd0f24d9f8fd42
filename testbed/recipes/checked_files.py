"""Which files were read whole and had their digest, and whether they are still what they were.

Whoever writes to a file, replaces it or gives it another name changes its inode or the time of its
last change (st_ctime, inode(7)), which cannot be set to what it was. So a file for which these are
as they were has the content that it had; git(1) knows by the same what changed in its work tree.
What a disk loses by itself changes no time: after a day each file is read again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_KEPT = 24 * 3600  # seconds
_SETTLED = 2.0
"""Seconds: a file that was changed later may be changed again within the tick of its times."""

FileState = list[int]
"""Inode, size, and nanoseconds of the last write and the last change."""


def states(folder: Path, names: Iterable[str]) -> dict[str, FileState]:
    """How files are now, without those that are not there."""
    there: dict[str, FileState] = {}
    for name in names:
        with suppress(OSError):
            status = (folder / name).stat()
            times = [status.st_mtime_ns, status.st_ctime_ns]
            there[name] = [status.st_ino, status.st_size, *times]
    return there


def unchanged(memory: Path, digests: Mapping[str, str], now: Mapping[str, FileState]) -> bool:
    """Whether all files had their digests when `memory` was written, and none has changed since."""
    try:
        written = json.loads(memory.read_bytes())
        is_recent = 0 <= time.time() - written["checked"] < _KEPT
        return is_recent and bool(written["files"] == _as_written(digests, now))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def remember(memory: Path, digests: Mapping[str, str], before: Mapping[str, FileState]) -> None:
    """Note that files have their digests, `before` being how they were before they were read.

    Nothing is noted if one was just changed, or if the cache cannot be written to.
    """
    latest = max((state[-1] for state in before.values()), default=0)
    if time.time() - latest / 1e9 < _SETTLED:
        return
    files = _as_written(digests, before)
    written = memory.with_name(f".{memory.name}-{os.getpid()}")
    with suppress(OSError):
        memory.parent.mkdir(exist_ok=True)
        written.write_text(json.dumps({"checked": time.time(), "files": files}))
        written.replace(memory)


def _as_written(
    digests: Mapping[str, str], files: Mapping[str, FileState]
) -> dict[str, list[str | FileState | None]]:
    return {name: [digest, files.get(name)] for name, digest in digests.items()}
