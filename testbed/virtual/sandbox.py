"""Sandboxes of a guest: the command line before the lab kernel's, and which of them works here.

Paths, environment and command line are always the same: by namespaces (bwrap(1)), or by a parent
that answers the kernel's system calls (testbed/lab/kernel/supervisor.c). In both `confine` sets
limits and the filter of system calls (confine.c). The remaining risks are in
docs/concepts/trust.md.

Each is tried with `confine` in the place of the kernel (--probe).
"""

import ctypes
import functools
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, ClassVar

from testbed.host.job_archive import job_file
from testbed.host.processes import invoking_user
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from testbed.lab.tools import bubblewrap_command
from topologies.errors import TcplabError, is_absent
from topologies.notation import toml_file

OUT = "/lab/out"
HOST = "/lab/host"
"""Where the guest's kernel finds the folders of this computer that its programs see."""
MEMORY_FOLDER, KERNEL_FOLDER = "/dev/shm", "/tmp"
"""The folders of the file that is the guest's memory, and of its kernel's process number."""
# glibc from 2.35 on registers memory with the host's kernel, which Linux before 6.13 takes away
# from the process that it is: it would panic in its first signal.
_NO_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
KERNEL_FILES = 1 << 20  # bytes that a kernel may write outside its memory and the run's folder
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

    `code` is its program, `job` the descriptor of its archive, `report` the one for its first
    process's number, `user` its user and group if the caller is root, `scratch` an empty folder,
    `line` the descriptor for orders or -1. Its programs see `folders`, read-only, below HOST.
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

    name: ClassVar[str]  # what doctor and manifests call it
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
        programs = {"/lab/linux": self.lab.kernel, "/lab/init": self.lab.init}
        return programs | {"/lab/image.squashfs": self.lab.image, "/lab/code.pyc": self.code}

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
        variables = [word for pair in VARIABLES.items() for word in ("--setenv", *pair)]
        start = ["--clearenv", *variables, "--chdir", "/", "--", "/confine", *self._limits()]
        return [*bubblewrap_command(), *namespaces, *self._files(), *start]

    def _files(self) -> list[str]:
        """Read-only but for the run's folder and the guest's memory.

        There is no /proc, and /dev has one device: /dev/zero is memory that no limit counts, and
        each /dev/ptmx takes one of the host's terminals.
        """
        devices = "--dir /dev --dev-bind /dev/null /dev/null"
        options = ["--ro-bind", "/proc/cpuinfo", "/proc/cpuinfo", *devices.split()]
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
        job, processor = Path(f"/proc/self/fd/{self.job}"), Path("/proc/cpuinfo")
        read = {"/": self.scratch / "root", **self._lab_files(), "/lab/job.pyz": job}
        read |= {"/proc/cpuinfo": processor, **self._host_folders()}
        written = {OUT: self.out.resolve(), KERNEL_FOLDER: self.scratch / "tmp"}
        written |= {name: Path(name) for name in _DEVICES if os.access(name, os.R_OK | os.W_OK)}
        words = [str(self.lab.confine), "--report", str(self.report)]
        for option, values in (("--place", read), ("--own", written), ("--set", VARIABLES)):
            for name, value in values.items():
                words += [option, f"{name}={value}"]
        return [*words, *self._limits()]

    @property
    def second(self) -> Path | None:
        return self.scratch / "tmp"

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


KINDS: tuple[type[Sandbox], ...] = (Bubblewrap, Supervised)  # the best first
_PATIENCE = 60.0  # seconds
_NOBODY = 65534
_ALL_USERS = ["0", "0", "4294967295"]  # user_namespaces(7): every user is itself
_LANDLOCK_CREATE_RULESET, _ASK_VERSION = 444, 1  # landlock_create_ruleset(2)
_FULL_LANDLOCK = 6  # its first version that keeps signals and abstract sockets in
_REMEDIES: dict[str, str] = toml_file(Path(__file__).with_name("remedies.toml"))
"""What may be in the words of a sandbox that failed, and what to do then."""


@dataclass(frozen=True)
class SandboxChoice:
    """A sandbox that works here, why better ones do not, and Landlock's version; 0 without it."""

    kind: type[Sandbox]
    refused: tuple[tuple[str, str], ...]
    landlock: int

    @property
    def missing(self) -> str:
        """A sentence on limits of the guest that this kernel lacks; may be empty."""
        if not self.landlock:
            return "This kernel has no Landlock: one layer of the sandbox is missing."
        old = f"This kernel's Landlock has version {self.landlock}: it does not restrict signals."
        return old if self.landlock < _FULL_LANDLOCK else ""

    def as_data(self) -> dict[str, Any]:
        """Return the entry of a manifest: name, Landlock's version, refused and missing."""
        known = {"name": self.kind.name, "landlock": self.landlock}
        return known | {"refused": dict(self.refused), "missing": self.missing}


@functools.cache
def allowed_sandbox(confine: Path) -> SandboxChoice:
    """Return the best sandbox that works for the lab's `confine`. Raises TcplabError."""
    refused: list[tuple[str, str]] = []
    for kind in KINDS:
        words = _failure(kind, confine)
        if not words:
            libc = ctypes.CDLL(None, use_errno=True)  # an error if this kernel has no Landlock
            version = int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _ASK_VERSION))
            return SandboxChoice(kind, tuple(refused), max(0, version))
        refused.append((kind.name, words))
    reasons = "; ".join(f"{name}: {words}" for name, words in refused)
    remedy = next(remedy for sign, remedy in _REMEDIES.items() if sign in refused[-1][1])
    raise TcplabError(f"No sandbox for guests works on this system ({reasons}).", remedy)


def ordinary_user() -> tuple[int, int] | None:
    """Return the user of the guest if root starts it: the user behind sudo, or number 65534.

    None if the caller is an ordinary user, as root of a user namespace is outside.
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
        lab = Lab(*(confine,) * 4, "", seccomp=True, digests={}, packages={})
        sandbox = kind(lab, out, confine, *descriptors, ordinary_user(), Limits(10), own)
        try:
            command = sandbox.command()
        except TcplabError:
            return "not installed"
        try:
            options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True}
            options |= {"text": True, "check": False, "cwd": "/", "pass_fds": descriptors}
            probe = [*command, "/lab/linux", "--probe"]
            done = subprocess.run(probe, timeout=_PATIENCE, **options)
        except OSError as error:
            return "not installed" if is_absent(error) else str(error)
        except subprocess.TimeoutExpired:
            return "it does not answer"
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""
