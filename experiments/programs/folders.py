"""The part of this computer that programs in a network see, and their environment."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from testbed.guest.host_root import HostFolders
from testbed.virtual.choice import ordinary_user
from topologies.foundation.errors import UsageError

_SYSTEM = ("/usr", "/etc", "/opt")
_LINKS = ("/bin", "/sbin", "/lib", "/lib64")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ALL = 0o005  # what others need of a folder


def folders_for(project: Path, more: Iterable[Path] = ()) -> HostFolders:
    """Return what programs see: the system, the interpreter, the project, and `more`.

    They may write to /etc and the project, as overlays. Raises UsageError for a folder that the
    guest's user cannot read.
    """
    wanted = [*map(Path, _SYSTEM), Path(sys.prefix), Path(sys.base_prefix), project, *more]
    wanted += [Path(link) for link in _LINKS if not Path(link).is_symlink()]
    seen = _outermost(path.resolve() for path in wanted if path.is_dir())
    for folder in seen:
        _require_readable(folder)
    links = tuple((link, os.readlink(link)) for link in _LINKS if Path(link).is_symlink())
    written = tuple(str(folder) for folder in seen if _is_written(folder, project))
    return HostFolders(tuple(map(str, seen)), written, links)


def environment() -> dict[str, str]:
    """Return the environment of programs: fixed, except for the interpreter's folder.

    The last variable keeps the loader of programs from looking for this processor's features.
    """
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:{_PATH}",
        "HOME": "/root",
        "USER": "root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-POPCNT,-AVX512CD",
    }


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Return the folders that are in no other, sorted, so that an outer one is mounted first."""
    every = sorted(set(folders))
    return [path for path in every if not any(path.is_relative_to(o) for o in every if o != path)]


def _is_written(folder: Path, project: Path) -> bool:
    return folder == Path("/etc") or folder == project.resolve()


def _require_readable(folder: Path) -> None:
    """As root starts it, a guest has another user; the folders above are bound without it."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if ordinary_user() and mode & _ALL != _ALL:
        raise UsageError(
            f"{folder} has mode {mode:04o}, and the guest of root is another user, who cannot read"
            " it.",
            f"Run as an ordinary user, or allow it: chmod o+rx {folder}",
        )
