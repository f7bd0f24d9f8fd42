"""What a guest sees of this computer and may take of it: the command line before the lab kernel's.

Every path, the environment and the command line are always the same, whatever gives them to the
guest: namespaces (testbed/virtual/bubblewrap.py) or a parent that answers its system calls
(testbed/virtual/supervised.py). In both the program `confine` (testbed/lab/kernel/confine.c) sets
limits and the filter of system calls. docs/design.md says what remains possible.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from testbed.jobs.following import Limits

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

OUT = "/lab/out"
MEMORY_FOLDER, KERNEL_FOLDER = "/dev/shm", "/tmp"
"""The folders of the file that is the guest's memory, and of its kernel's process number."""
# glibc from 2.35 on registers memory with the host's kernel, which Linux before 6.13 takes away
# from the process that it is: it would panic in its first signal.
_NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
KERNEL_FILES = 1 << 20
"""Bytes that a kernel may write beside its memory and the run's folder."""
_BESIDE_MEMORY = 64 << 20  # bytes
_FOREVER = 10**9  # seconds
_CPU_SLACK = 30  # seconds: the wall clock ends a run before its processor time does


def own_folders(limits: Limits) -> dict[str, int]:
    """The folders that only the guest sees and may write to, with their sizes in bytes."""
    return {MEMORY_FOLDER: (limits.memory_mib << 20) + _BESIDE_MEMORY, KERNEL_FOLDER: KERNEL_FILES}


VARIABLES = {"TMPDIR": MEMORY_FOLDER, "HOME": "/", "PATH": "/lab", **_NO_RSEQ}
"""The environment of the guest's kernel."""


@dataclass(frozen=True)
class Sandbox(ABC):
    """A guest's place on this computer.

    `code` is the program that it runs, `job` the descriptor of its archive; `report` is the one on
    which the process number of the guest's first process comes; `user` is the guest's user and
    group if the caller is root.
    `scratch` is an empty folder that is gone after the run.
    """

    lab: Lab
    out: Path
    code: Path
    job: int
    report: int
    user: tuple[int, int] | None
    limits: Limits
    scratch: Path

    name: ClassVar[str]
    """What doctor and manifests call it."""
    end: ClassVar[signal.Signals] = signal.SIGKILL
    """The signal to the first process at which all others end before it does."""

    @abstractmethod
    def command(self) -> list[str]:
        """What comes before the kernel and its arguments."""

    @property
    def beside(self) -> Path | None:
        """A folder of this computer, beside `out`, to which the guest writes."""
        return None

    def _lab_files(self) -> dict[str, Path]:
        lab = self.lab
        return {
            "/lab/linux": lab.kernel,
            "/lab/init": lab.init,
            "/lab/image.squashfs": lab.image,
            "/lab/code.pyc": self.code,
        }

    def _limits(self) -> list[str]:
        """The numbers that `confine` takes, and the way in which the kernel rules its processes."""
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
        return [*map(str, numbers), "seccomp" if self.lab.seccomp else "ptrace"]
