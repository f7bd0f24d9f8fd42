"""What a guest sees of this computer and may take of it: the command line before the lab kernel's.

bubblewrap gives the kernel namespaces of its own, in which every path, the environment and the
command line are always the same. One folder of the host is all that is seen, and everything dies
with the namespaces' first process. The program `confine` (testbed/lab/kernel/confine.c) then sets
limits and the filter of system calls. docs/design.md says what remains possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.jobs.following import Limits
from testbed.lab.bubblewrap.bubblewrap_recipe import bubblewrap_command
from testbed.lab.ready import Lab

OUT = "/lab/out"
MEMORY_FOLDER, KERNEL_FOLDER = "/dev/shm", "/tmp"
"""The folders of the file that is the guest's memory, and of its kernel's process number."""
_USER = 1000
# glibc from 2.35 on registers memory with the host's kernel, which Linux before 6.13 takes away
# from the process that it is: it would panic in its first signal.
_NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
_BESIDE_MEMORY, _KERNEL_FILES = 64 << 20, 1 << 20  # bytes of the two
_FOREVER = 10**9  # seconds
_CPU_SLACK = 30  # seconds: the wall clock ends a run before its processor time does


def own_folders(limits: Limits) -> dict[str, int]:
    """The folders that only the guest sees and may write to, with their sizes in bytes."""
    return {MEMORY_FOLDER: (limits.memory_mib << 20) + _BESIDE_MEMORY, KERNEL_FOLDER: _KERNEL_FILES}


@dataclass(frozen=True)
class Sandbox:
    """A guest's place on this computer.

    `job` is the descriptor of its archive; `report` is the one on which bubblewrap reports the
    process number; `user` is the guest's user and group if the caller is root.
    """

    lab: Lab
    out: Path
    job: int
    report: int
    user: tuple[int, int] | None
    limits: Limits

    def command(self) -> list[str]:
        """What comes before the kernel and its arguments."""
        return [
            *bubblewrap_command(),
            *self._namespaces(),
            *self._files(),
            *self._variables(),
            "--",
            *self._confined(),
        ]

    def _namespaces(self) -> list[str]:
        """bwrap(1): an ordinary user gets a user namespace; for root, `confine` changes user."""
        identity = ["--unshare-user", "--uid", str(_USER), "--gid", str(_USER)]
        privileges = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        return [
            "--die-with-parent",
            "--new-session",
            "--info-fd",
            str(self.report),
            "--unshare-net",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--hostname",
            "lab",
            *(privileges if self.user else identity),
        ]

    def _files(self) -> list[str]:
        """Read-only but for the run's folder and the guest's memory.

        There is no /proc, through which processes reach each other: the kernel reads only the type
        of the processor.
        """
        return [
            "--ro-bind",
            "/proc/cpuinfo",
            "/proc/cpuinfo",
            "--dev",
            "/dev",
            "--remount-ro",
            "/dev",
            *self._own_folders(),
            "--dir",
            "/lab/dev",
            "--dir",
            "/lab/image",
            *self._lab_files(),
            "--perms",
            "0444",
            "--ro-bind-data",
            str(self.job),
            "/lab/job.pyz",
            "--bind",
            str(self.out.resolve()),
            OUT,
            "--remount-ro",
            "/",
        ]

    def _own_folders(self) -> list[str]:
        sizes = own_folders(self.limits).items()
        option = ("--perms", "1777", "--size")
        return [word for folder, size in sizes for word in (*option, str(size), "--tmpfs", folder)]

    def _lab_files(self) -> list[str]:
        lab = self.lab
        places = {
            lab.confine: "/confine",
            lab.kernel: "/lab/linux",
            lab.init: "/lab/init",
            lab.image: "/lab/image.squashfs",
        }
        return [word for file, place in places.items() for word in ("--ro-bind", str(file), place)]

    def _variables(self) -> list[str]:
        values = {"TMPDIR": MEMORY_FOLDER, "HOME": "/", "PATH": "/lab", **_NO_RSEQ}
        words = [word for name, value in values.items() for word in ("--setenv", name, value)]
        return ["--clearenv", *words, "--chdir", "/"]

    def _confined(self) -> list[str]:
        user, group = self.user or (0, 0)
        limits = self.limits
        seconds = int(min(limits.wall_seconds, _FOREVER)) + _CPU_SLACK
        numbers = (
            user,
            group,
            limits.memory_mib << 20,
            limits.output_bytes,
            limits.processes,
            seconds,
        )
        way = "seccomp" if self.lab.seccomp else "ptrace"
        return ["/confine", *map(str, numbers), way]
