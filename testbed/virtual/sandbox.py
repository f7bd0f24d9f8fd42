"""Sandboxes of a guest: the command line before the lab kernel's.

Every path, the environment and the command line are always the same, with namespaces (bwrap(1)) as
with a parent that answers the kernel's system calls. In both the program `confine`
(testbed/lab/kernel/confine.c) sets limits and the filter of system calls. The remaining risks are
in docs/concepts/trust.md.

With namespaces the guest sees one folder of the host, and all its processes die with the first.

Without namespaces `confine` stays as the kernel's parent. A call that names a file or a process
waits until the supervisor has made it in the kernel's place (testbed/lab/kernel/supervisor.c). So
the kernel's paths are those of a namespace, and it reaches no other file.
"""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar

from testbed.jobs.following import Limits
from testbed.lab.tools.recipe import bubblewrap_command

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

OUT = "/lab/out"
HOST = "/lab/host"
"""Where the guest's kernel finds the folders of this computer that its programs see."""
MEMORY_FOLDER, KERNEL_FOLDER = "/dev/shm", "/tmp"
"""The folders of the file that is the guest's memory, and of its kernel's process number."""
# glibc from 2.35 on registers memory with the host's kernel, which Linux before 6.13 takes away
# from the process that it is: it would panic in its first signal.
_NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
KERNEL_FILES = 1 << 20
"""Bytes that a kernel may write outside its memory and the run's folder."""
_BESIDE_MEMORY = 64 << 20  # bytes
_FOREVER = 10**9  # seconds
_CPU_SLACK = 30  # seconds: the wall clock ends a run before its processor time does


def own_folders(limits: Limits) -> dict[str, int]:
    """Return the folders that only the guest sees and may write to, with their sizes in bytes."""
    return {MEMORY_FOLDER: (limits.memory_mib << 20) + _BESIDE_MEMORY, KERNEL_FOLDER: KERNEL_FILES}


VARIABLES = {"TMPDIR": MEMORY_FOLDER, "HOME": "/", "PATH": "/lab", **_NO_RSEQ}
"""The environment of the guest's kernel."""


@dataclass(frozen=True)
class Sandbox(ABC):
    """A guest's place on this computer.

    `code` is the program that it runs, `job` the descriptor of its archive; `report` is the one on
    which the process number of the guest's first process comes; `user` is the guest's user and
    group if the caller is root.
    `scratch` is an empty folder that is gone after the run. `line` is the descriptor on which a
    guest takes orders, -1 for one that takes none. Its programs see `folders` of this computer,
    read-only, by their places below HOST.
    """

    lab: Lab
    out: Path
    code: Path
    job: int
    report: int
    user: tuple[int, int] | None
    limits: Limits
    scratch: Path
    line: int = -1
    folders: Mapping[str, Path] = field(default_factory=dict)

    name: ClassVar[str]
    """What doctor and manifests call it."""
    end: ClassVar[signal.Signals] = signal.SIGKILL
    """The signal to the first process at which all others end before it does."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line before the kernel and its arguments."""

    @property
    def second(self) -> Path | None:
        """A second folder of this computer to which the guest writes, next to `out`."""
        return None

    def _lab_files(self) -> dict[str, Path]:
        lab = self.lab
        return {
            "/lab/linux": lab.kernel,
            "/lab/init": lab.init,
            "/lab/image.squashfs": lab.image,
            "/lab/code.pyc": self.code,
        }

    def _host_folders(self) -> dict[str, Path]:
        """Return the guest's path of each of the folders; those that are in others come later."""
        return {f"{HOST}{place}": folder for place, folder in sorted(self.folders.items())}

    def _limits(self) -> list[str]:
        """Return the arguments of `confine`: numbers, and how the kernel controls its processes."""
        limits = self.limits
        seconds = int(min(limits.wall_seconds, _FOREVER)) + _CPU_SLACK
        sizes = (limits.memory_mib << 20, limits.output_bytes, limits.processes, seconds)
        numbers = map(str, (*(self.user or (0, 0)), *sizes, self.line))
        return [*numbers, "seccomp" if self.lab.seccomp else "ptrace"]


_USER = 1000


class Bubblewrap(Sandbox):
    """Namespaces: an ordinary user gets a user namespace; for root, `confine` changes user."""

    name: ClassVar[str] = "bubblewrap"

    def command(self) -> list[str]:
        """Return the command line of bubblewrap and of `confine` in it."""
        ends = ["--die-with-parent", "--new-session", "--info-fd", str(self.report)]
        spaces = "--unshare-net --unshare-pid --unshare-ipc --unshare-uts --hostname lab"
        identity = f"--unshare-user --uid {_USER} --gid {_USER}"
        if self.user:  # root's privileges, for changing user
            identity = "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID"
        namespaces = [*ends, *spaces.split(), *identity.split()]
        variables = ["--clearenv", *_pairs("--setenv", VARIABLES), "--chdir", "/"]
        files = [*self._files(), *variables]
        return [*bubblewrap_command(), *namespaces, *files, "--", "/confine", *self._limits()]

    def _files(self) -> list[str]:
        """Read-only but for the run's folder and the guest's memory.

        There is no /proc, through which processes reach each other: the kernel reads only the type
        of the processor. /dev has one device: /dev/zero is memory that no limit counts, and each
        /dev/ptmx takes one of the host's terminals.
        """
        words = "--ro-bind /proc/cpuinfo /proc/cpuinfo --dir /dev --dev-bind /dev/null /dev/null"
        options = words.split()
        for folder, size in own_folders(self.limits).items():
            options += ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
        options += ["--dir", "/lab/dev", "--dir", "/lab/image"]
        for place, file in {"/confine": self.lab.confine, **self._lab_files()}.items():
            options += ["--ro-bind", str(file), place]
        options += self._bound_folders()
        options += ["--perms", "0444", "--ro-bind-data", str(self.job), "/lab/job.pyz"]
        return [*options, "--bind", str(self.out.resolve()), OUT, "--remount-ro", "/"]

    def _bound_folders(self) -> list[str]:
        """bwrap(1) would make the folders above for its own user alone, whom the guest is not."""
        options: list[str] = []
        made: set[PurePath] = set()
        for place, folder in self._host_folders().items():
            for above in reversed(PurePath(place).parents):
                if above.is_relative_to(HOST) and above not in made:
                    made.add(above)
                    options += ["--perms", "0755", "--dir", str(above)]
            options += ["--ro-bind", str(folder), place]
            made.add(PurePath(place))
        return options


def _pairs(option: str, values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (option, name, value)]


_FOLDERS = ("lab/dev", "lab/image", "lab/out", "dev/shm", "proc", "tmp")
_FILES = (
    *("confine", "lab/linux", "lab/init", "lab/image.squashfs", "lab/code.pyc", "lab/job.pyz"),
    "proc/cpuinfo",
)
_DEVICES = ("/dev/null",)


class Supervised(Sandbox):
    """A guest whose parent answers for it. `scratch` holds the folders that lead nowhere else."""

    name: ClassVar[str] = "supervisor"
    end: ClassVar[signal.Signals] = signal.SIGTERM

    def command(self) -> list[str]:
        """Return the command line of `confine`; makes the folders that it names."""
        self._make_folders()
        return [
            str(self.lab.confine),
            "--report",
            str(self.report),
            *_options("--place", self._read()),
            *_options("--own", self._written()),
            *_options("--set", VARIABLES),
            *self._limits(),
        ]

    @property
    def second(self) -> Path | None:
        return self.scratch / "tmp"

    def _read(self) -> dict[str, Path]:
        return {
            "/": self.scratch / "root",
            **self._lab_files(),
            "/lab/job.pyz": Path(f"/proc/self/fd/{self.job}"),
            "/proc/cpuinfo": Path("/proc/cpuinfo"),
            **self._host_folders(),
        }

    def _written(self) -> dict[str, Path]:
        devices = {name: Path(name) for name in _DEVICES if os.access(name, os.R_OK | os.W_OK)}
        return {OUT: self.out.resolve(), KERNEL_FOLDER: self.scratch / "tmp", **devices}

    def _make_folders(self) -> None:
        """Make the empty folders that the guest sees, and those of its kernel."""
        root, own = self.scratch / "root", self.scratch / "tmp"
        for name in _FOLDERS:
            (root / name).mkdir(parents=True)
        for name in _FILES:
            (root / name).touch()
        for place in self._host_folders():
            (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        own.mkdir()
        if self.user:
            os.chown(own, *self.user)


def _options(option: str, values: Mapping[str, object]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]
