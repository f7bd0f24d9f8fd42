"""A guest that has been started: the lab kernel's command line, its sandbox, all its processes.

The options of the kernel are those of Documentation/virt/uml and of the design's measurements.
What the guest may do to this computer is in testbed/virtual/sandbox.py, guest_processes.py and
adoption.py; which sandbox it gets, in choice.py.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING

from testbed.host.scratch import scratch
from testbed.jobs.archive import job_file
from testbed.jobs.following import (
    CONSOLE,
    JobEnd,
    Limits,
    Progress,
    follow,
    started,
)
from testbed.virtual.adoption import adopted
from testbed.virtual.choice import allowed_sandbox, ordinary_user
from testbed.virtual.guest_processes import GuestBounds, GuestProcesses
from testbed.virtual.sandbox import Sandbox
from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

ADDRESSES_BESIDE, PRIVATE_MEMORY, DESCRIPTORS = 64 << 20, 32 << 20, 8193
_EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which every guest starts


@dataclass(frozen=True)
class RunningGuest:
    """A guest that has been started: its first process, and what all of them may take."""

    process: Popen[bytes]
    processes: GuestProcesses
    bounds: GuestBounds

    def follow(self, progress: Progress) -> JobEnd:
        """Follow it to its end. Raises TcplabError beyond its limits."""
        out, limits = self.bounds.out, self.bounds.limits
        check, stop = self.bounds.check, self.processes.stop_kernel
        return follow(self.process, out, progress, limits, check, stop)


@contextmanager
def guest(
    lab: Lab,
    code: Path,
    archive: bytes,
    seed: int,
    out: Path,
    limits: Limits,
    processor: int | None,
    real_time: bool = False,
    sandbox: type[Sandbox] | None = None,
    loud: bool = False,
) -> Iterator[RunningGuest]:
    """A guest that runs the program `code` with the job `archive`.

    None of its processes is left afterwards. The other parameters are those of `run_in_guest`
    (testbed.virtual.virtual_run). Raises TcplabError.
    """
    user = ordinary_user()
    require_limits(limits)
    kind = sandbox or allowed_sandbox(lab.confine).kind
    with (
        adopted(out, user),
        scratch() as folder,
        job_file(archive) as job,
        (out / CONSOLE).open("wb") as console,
        GuestProcesses(kind.end) as processes,
    ):
        place = kind(lab, out, code, job.fileno(), processes.report, user, limits, folder)
        command = place.command() + _kernel(lab, seed, limits, real_time, loud)
        descriptors = [job.fileno(), processes.report]
        with started(command, console, descriptors, processor) as process, processes.ended():
            processes.started()
            yield RunningGuest(
                process, processes, GuestBounds(out, limits, processes, place.beside)
            )


def lacking(lab: Lab) -> dict[str, bool]:
    """What the guest must do without; nothing is said, and no packet moves, if it has all."""
    return {} if lab.open_vswitch else {"open_vswitch": False}


def require_limits(limits: Limits) -> None:
    """Raises TcplabError if this process may not have what the guest's kernel needs."""
    for name, (resource_number, needed, option) in _needed(limits).items():
        most = resource.getrlimit(resource_number)[1]
        if most != resource.RLIM_INFINITY and most < needed:
            raise TcplabError(
                f"A guest with {limits.memory_mib} MiB of memory needs a limit of {name} of"
                f" {needed:,} or more, and yours is {most:,}.",
                f"Raise it (ulimit {option}) in the shell, or where your system sets it.",
            )


def _needed(limits: Limits) -> dict[str, tuple[int, int, str]]:
    """Limits that `confine` cannot raise: getrlimit(2)'s number, the least value, ulimit's option.

    They are those of testbed/lab/kernel/confine.c.
    """
    memory = limits.memory_mib << 20
    return {
        "address space in bytes": (resource.RLIMIT_AS, memory + ADDRESSES_BESIDE, "-v"),
        "file size in bytes": (resource.RLIMIT_FSIZE, memory, "-f"),
        "private memory in bytes": (resource.RLIMIT_DATA, PRIVATE_MEMORY, "-d"),
        "open files": (resource.RLIMIT_NOFILE, DESCRIPTORS, "-n"),
    }


def _kernel(lab: Lab, seed: int, limits: Limits, real_time: bool, loud: bool) -> list[str]:
    """The lab kernel's command line.

    It is mixed into the kernel's random pool, so nothing in it varies but the seed.
    """
    travels = lab.time_travel and not real_time
    clock = ["time-travel=inf-cpu", f"time-travel-start={_EPOCH}"] if travels else []
    return [
        "/lab/linux",
        f"mem={limits.memory_mib}M",
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "init=/init",
        "hostfs=/lab",
        f"seed={seed}",
        *clock,
        "norandmaps",
        *(["seccomp=on"] if lab.seccomp else []),
        "uml_dir=/tmp/",
        "umid=lab",
        "con=null",
        "con0=null",
        "console=stderr0",
        "stderr=1",
        "loglevel=7" if loud else "quiet",
    ]
