"""The virtual testbed: a job inside the lab kernel, sandboxed, in virtual time, repeatable from its seed.

bubblewrap gives the kernel namespaces of its own, in which every path, the environment and the command line are
always the same, nothing of the host is seen but one folder, and everything dies with this process. The options of
the kernel are those of Documentation/virt/uml and of the design's measurements.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from testbed.archive import job_archive, job_file
from testbed.caller import who_typed_sudo
from testbed.lab import Lab
from testbed.machine import claimed_processor
from testbed.running import CONSOLE, Limits, Progress, Usage, follow, started
from topologies.errors import TcplabError

_EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which every guest starts
_SANDBOX_USER = 1000
_NOBODY = 65534
_ALL_USERS = ["0", "0", "4294967295"]  # user_namespaces(7): every user is itself


def run_in_guest(
    lab: Lab, module: str, data: Any, seed: int, out: Path, progress: Progress, limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None, real_time: bool = False,
) -> Usage:  # fmt: skip
    """Run `perform(data, room)` of `module` in a fresh guest; its results are in the empty folder `out` afterwards.

    `files` go along, by name. In `real_time` nothing is repeatable: for a guest that somebody types into.

    Raises TcplabError with the guest's own message where it fails, is stopped or dies; what it had delivered by
    then stays in `out`.
    """
    limits = limits or Limits()
    user = _ordinary_user()
    with (
        claimed_processor() as processor,
        _owned_by(out, user),
        job_file(job_archive(module, data, files)) as job,
        (out / CONSOLE).open("wb") as console,
    ):
        pinned = ["taskset", "--cpu-list", str(processor)]
        command = pinned + _sandbox(lab, out, job, user) + _kernel(lab, seed, limits, user, real_time)
        with started(command, console, [job.fileno()]) as process:
            return follow(process, out, progress, limits)


def _ordinary_user() -> tuple[int, int] | None:
    """Who the guest runs as where the caller is root: who typed sudo, or nobody. None: the caller, who is not root.

    Root of a user namespace, as in a rootless container, is an ordinary user outside.
    """
    if os.geteuid() != 0 or Path("/proc/self/uid_map").read_text().split() != _ALL_USERS:
        return None
    return who_typed_sudo() or (_NOBODY, _NOBODY)


@contextmanager
def _owned_by(folder: Path, user: tuple[int, int] | None) -> Iterator[None]:
    """The folder handed to the guest's user, and with all that is in it back to ours.

    A guest is not trusted: a link that it left could lead our readers to a file of the host, so links go.
    """
    if user:
        os.chown(folder, *user)
        if folder.stat().st_uid != user[0]:
            raise TcplabError(f"{folder} is on a file system without owners.", "Use --out with a folder on a disk.")
    try:
        yield
    finally:
        for path in (folder, *folder.rglob("*")):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                path.unlink()
            elif user:
                os.chown(path, os.geteuid(), os.getegid())


def _sandbox(lab: Lab, out: Path, job: IO[bytes], user: tuple[int, int] | None) -> list[str]:
    """bwrap(1): as an ordinary user in a user namespace; as root without one, then the kernel changes user."""
    identity = ["--unshare-user", "--uid", str(_SANDBOX_USER), "--gid", str(_SANDBOX_USER)]
    privileges = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    namespaces = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "lab"]
    writable = [option for folder in ("/dev/shm", "/tmp") for option in ("--perms", "1777", "--tmpfs", folder)]
    files = {lab.kernel: "/lab/linux", lab.init: "/lab/init", lab.image: "/lab/image.squashfs"}
    binds = [option for file, place in files.items() for option in ("--ro-bind", str(file), place)]
    return [
        "bwrap", "--die-with-parent", "--new-session", "--clearenv", *namespaces, *(privileges if user else identity),
        "--proc", "/proc", "--dev", "/dev", *writable, "--dir", "/lab/dev", "--dir", "/lab/image", *binds,
        "--perms", "0444", "--ro-bind-data", str(job.fileno()), "/lab/job.pyz",
        "--bind", str(out.resolve()), "/lab/out",
        "--setenv", "TMPDIR", "/dev/shm", "--setenv", "HOME", "/", "--setenv", "PATH", "/lab", "--chdir", "/",
    ]  # fmt: skip


def _kernel(lab: Lab, seed: int, limits: Limits, user: tuple[int, int] | None, real_time: bool) -> list[str]:
    """The lab kernel's command line. It is mixed into the kernel's random pool: nothing in it but the seed varies."""
    become = ["/lab/init", str(user[0]), str(user[1])] if user else []
    clock = [] if real_time else ["time-travel=inf-cpu", f"time-travel-start={_EPOCH}"]
    return [
        *become, "/lab/linux", f"mem={limits.memory_mib}M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro",
        "init=/init", "hostfs=/lab", f"seed={seed}", *clock, "norandmaps",
        *(["seccomp=on"] if lab.seccomp else []), "uml_dir=/tmp/", "umid=lab", "con=null", "con0=null",
        "console=stderr0", "stderr=1", "quiet",
    ]  # fmt: skip
