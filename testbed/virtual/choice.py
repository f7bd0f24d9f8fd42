"""Which sandbox this machine allows: each is tried, as a guest would be started in it.

`confine` itself stands in for the kernel and looks at one of its paths (confine.c, --probe), so
what works here works for a guest.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from testbed.host.processes import invoking_user
from testbed.host.scratch import scratch
from testbed.jobs.archive import job_file
from testbed.jobs.following import Limits
from testbed.virtual.sandbox import Bubblewrap, Sandbox, Supervised
from topologies.foundation.errors import TcplabError, is_absent

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

KINDS: tuple[type[Sandbox], ...] = (Bubblewrap, Supervised)
"""The best first."""
_PATIENCE = 60.0  # seconds
_NOBODY = 65534
_ALL_USERS = ["0", "0", "4294967295"]  # user_namespaces(7): every user is itself
_LANDLOCK_CREATE_RULESET, _ASK_VERSION = 444, 1  # landlock_create_ruleset(2)
_FULL_LANDLOCK = 6  # its first version that keeps signals and abstract sockets in
_REMEDIES = {  # what may be in the words of a sandbox that failed, and what to do then
    "notifications: Device or resource busy": (
        "A supervisor of system calls watches this program already, and the kernel allows one: run"
        " outside of that container."
    ),
    "notifications: Invalid argument": "Start Linux 5.19 or later.",
    "as ptrace(2) may": (
        "sudo sysctl -w kernel.yama.ptrace_scope=1 (a 3 stays until the next start: take it out of"
        " /etc/sysctl.d); in a container, start that with --cap-add SYS_PTRACE."
    ),
    "keep a descriptor": (
        "A guest needs 8193 open files, and ulimit -Hn says how many you may have: ask for more in"
        " /etc/security/limits.conf, or of a container with --ulimit nofile=16384."
    ),
    "seccomp filter": (
        "This system, perhaps a container, does not let programs install seccomp filters: run"
        " outside of it, or start it with --security-opt seccomp=unconfined."
    ),
    "": (
        "Install bubblewrap and allow namespaces: sudo sysctl -w user.max_user_namespaces=10000, on"
        " Ubuntu kernel.apparmor_restrict_unprivileged_userns=0."
    ),
}


@dataclass(frozen=True)
class SandboxChoice:
    """A sandbox that works here, why better ones do not, and Landlock's version; 0 without it."""

    kind: type[Sandbox]
    refused: tuple[tuple[str, str], ...]
    landlock: int

    @property
    def missing(self) -> str:
        """A sentence on limits of the guest that this kernel lacks; may be empty."""
        if self.landlock >= _FULL_LANDLOCK:
            return ""
        if not self.landlock:
            return "This kernel has no Landlock: one layer of the sandbox is missing."
        return f"This kernel's Landlock has version {self.landlock}: it does not restrict signals."

    def as_data(self) -> dict[str, Any]:
        """Return the entry of a manifest: name, Landlock's version, refused and missing."""
        return {
            "name": self.kind.name,
            "landlock": self.landlock,
            "refused": dict(self.refused),
            "missing": self.missing,
        }


@functools.cache
def allowed_sandbox(confine: Path) -> SandboxChoice:
    """Return the best sandbox that works for the lab's `confine`. Raises TcplabError."""
    refused: list[tuple[str, str]] = []
    for kind in KINDS:
        words = _failure(kind, confine)
        if not words:
            return SandboxChoice(kind, tuple(refused), landlock_version())
        refused.append((kind.name, words))
    reasons = "; ".join(f"{name}: {words}" for name, words in refused)
    remedy = next(remedy for sign, remedy in _REMEDIES.items() if sign in refused[-1][1])
    raise TcplabError(f"No sandbox for guests works on this system ({reasons}).", remedy)


def landlock_version() -> int:
    """Return the version of Landlock that this kernel has, 0 if it has none or refuses it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _ASK_VERSION)))


def ordinary_user() -> tuple[int, int] | None:
    """Return the user of the guest if root starts it: the user behind sudo, or number 65534.

    None if the caller is an ordinary user, who then is the guest's too. Root of a user namespace,
    as in a rootless container, is an ordinary user outside.
    """
    if os.geteuid() != 0 or Path("/proc/self/uid_map").read_text().split() != _ALL_USERS:
        return None
    return invoking_user() or (_NOBODY, _NOBODY)


def _failure(kind: type[Sandbox], confine: Path) -> str:
    """Try the sandbox and return its message; empty if it works."""
    with scratch() as folder, job_file(b"") as job, Path(os.devnull).open("wb") as report:
        out, own = folder / "out", folder / "own"
        out.mkdir()
        own.mkdir()
        descriptors = (job.fileno(), report.fileno())
        # Not a Lab, whose module needs more than Python: `confine` is in the place of every file.
        files = dict.fromkeys(("kernel", "confine", "init", "image"), confine)
        lab = cast("Lab", SimpleNamespace(seccomp=True, **files))
        sandbox = kind(lab, out, confine, *descriptors, ordinary_user(), Limits(10), own)
        try:
            command = sandbox.command()
        except TcplabError:
            return "not installed"
        return _words([*command, "/lab/linux", "--probe"], descriptors)


def _words(command: list[str], descriptors: tuple[int, int]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            pass_fds=descriptors,
            cwd="/",
        )
    except OSError as error:
        return "not installed" if is_absent(error) else str(error)
    except subprocess.TimeoutExpired:
        return "it does not answer"
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""
