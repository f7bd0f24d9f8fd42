"""A started guest: the lab kernel's command line, its sandbox, its processes, its files.

Kernel options: Documentation/virt/uml and the design's measurements. The limits of what a guest may
do to this computer are in sandbox.py and processes.py; choice.py selects the sandbox.

The guest writes the run's folder, and a student's module is part of it. After its last process
ended, the folder is checked once before it is read: strange entries are removed.
"""

from __future__ import annotations

import math
import os
import resource
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any, NoReturn

from testbed.host.job_archive import job_file
from testbed.host.processes import ProcessUsage, taken_by
from testbed.host.scratch import scratch
from testbed.host.supervise import (
    CONSOLE,
    FollowedJob,
    JobEnd,
    Limits,
    Progress,
    WallLimit,
    started,
    usage_of,
)
from testbed.virtual.line import NUMBER, GuestLine, LineClosed, LineSilent, guest_line
from testbed.virtual.processes import GuestBounds, GuestProcesses, ScatteredPages
from testbed.virtual.sandbox import (
    MEMORY_FOLDER,
    Sandbox,
    allowed_sandbox,
    ordinary_user,
    own_folders,
)
from topologies.errors import TcplabError
from topologies.untrusted import entries, remove

_DEEPEST = 4  # levels of folders: a condition's is one
_MOST = 100_000  # files
_SHOWN = 3
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def adopted(folder: Path, user: tuple[int, int] | None) -> Iterator[None]:
    """Give the folder to the guest's user, if there is one, and take it back with its content.

    Meanwhile no other user can enter it. Raises TcplabError if the guest left what no run leaves,
    or if another user left a file; that is removed.
    """
    owners = give(folder, user)
    try:
        yield
    except TcplabError as error:
        if strange := _take_back(folder, owners):
            raise _left(strange) from error
        raise
    except BaseException:
        _take_back(folder, owners)
        raise
    take_back(folder, owners)


def give(folder: Path, user: tuple[int, int] | None) -> set[int]:
    """Give the folder to a guest's user, if there is one; return who may own files in it."""
    if user:
        os.chown(folder, *user)
        if folder.stat().st_uid != user[0]:
            raise TcplabError(
                f"{folder} is on a file system without owners.",
                "Use --out with a folder on a disk.",
            )
    folder.chmod(0o700)
    # On a file system without owners every file has the folder's.
    return {os.geteuid(), folder.stat().st_uid}


def take_back(folder: Path, owners: set[int]) -> None:
    """Take the folder and its content back. Raises TcplabError for what no run leaves."""
    if strange := _take_back(folder, owners):
        raise _left(strange)


def _take_back(folder: Path, owners: set[int]) -> list[str]:
    """Give all of the folder to this user, and describe what was removed."""
    strange: list[str] = []
    _ours(folder, 0o755)
    for number, (path, status) in enumerate(entries(folder, _DEEPEST, _MOST), 1):
        if number == _MOST:
            strange.append(f"more than {_MOST:,} files")
            remove(path.parent)
        elif why := _oddity(path.relative_to(folder), status, owners):
            strange.append(why)
            remove(path)
        else:
            _ours(path, 0o755 if stat.S_ISDIR(status.st_mode) else 0o644)
    return strange


def _oddity(inside: Path, status: os.stat_result, owners: set[int]) -> str:
    name = repr(str(inside)[:80])
    if status.st_uid not in owners:
        return f"a file of another user, {name}"
    if kind := _KINDS.get(stat.S_IFMT(status.st_mode)):
        return f"{kind}, {name}"
    if not inside.name.isprintable():
        return f"a name that cannot be printed, {name}"
    if stat.S_ISDIR(status.st_mode):
        return f"folders {len(inside.parts)} deep" if len(inside.parts) >= _DEEPEST else ""
    return f"a second name of a file, {name}" if status.st_nlink > 1 else ""


def _ours(path: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, 0, os.getegid(), follow_symlinks=False)
    path.chmod(mode)


def _left(strange: list[str]) -> TcplabError:
    more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
    return TcplabError(
        f"The guest left what no run leaves: {'; '.join(strange[:_SHOWN])}{more}.",
        "It was removed unread. A congestion control has no business with files.",
    )


if TYPE_CHECKING:
    from testbed.lab.ready import Lab

ADDRESSES_BESIDE, PRIVATE_MEMORY, DESCRIPTORS = 64 << 20, 32 << 20, 8193
EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which flows begin in every guest
_BEFORE = 1000_000_000_000  # nanoseconds that it starts earlier, to prepare


@dataclass(frozen=True)
class RunningGuest:
    """A guest that has been started: its first process, and what all of them may take.

    `line` is for one that takes orders.
    """

    process: Popen[bytes]
    processes: GuestProcesses
    bounds: GuestBounds
    line: GuestLine | None = None

    def follow(self, progress: Progress) -> JobEnd:
        """Follow it to its end. Raises TcplabError beyond its limits."""
        job = FollowedJob(self.process, self.bounds.out, self.bounds.limits)
        try:
            for taken in job.looks():
                progress(job.phase, job.elapsed)
                self.bounds.check(taken)
        except WallLimit:
            self.processes.stop_kernel()  # its last words say where it was
            raise
        progress(job.phase, job.elapsed)
        return job.end()

    def carry(self, order: Any, progress: Progress) -> JobEnd:
        """Order something, and follow it until it is done. Raises TcplabError as `follow`."""
        assert self.line
        job = FollowedJob(self.process, self.bounds.out, self.bounds.limits)
        before = taken_by(self.process.pid).cpu
        self.order(order)

        def look() -> None:
            self.bounds.check(job.look())
            progress(job.phase, job.elapsed)

        try:
            self.line.receive(math.inf, look)
        except LineClosed:
            self.ended()
        except WallLimit:
            self.processes.stop_kernel()
            raise
        look()
        return job.end(before)

    def order(self, order: Any) -> None:
        """Tell it what to do. Raises TcplabError if it has ended."""
        assert self.line
        try:
            self.line.send(order)
        except LineClosed:
            self.ended()

    def first_message(self, name: str, patience: float) -> Any:
        """Return what it says once it has started. Raises TcplabError after `patience` seconds."""
        try:
            return self.heard(patience)
        except LineSilent:
            raise TcplabError(
                f"{name} was not ready within {patience:g} s.", "The machine is too busy."
            ) from None

    def heard(self, patience: float) -> Any:
        """Return the next message of a guest that takes orders.

        Raises LineSilent after `patience` seconds. Raises TcplabError beyond the guest's limits,
        and with its last words if it has ended.
        """
        assert self.line
        pages = ScatteredPages(self.process.pid)

        def look() -> None:
            self.bounds.check(taken_by(self.process.pid))
            pages.look()

        try:
            return self.line.receive(patience, look)
        except LineClosed:
            return self.ended()

    def ended(self) -> NoReturn:
        """Raise TcplabError with the last words of a guest that has ended too early."""
        status = self.process.wait()
        usage_of(JobEnd(status, 0.0, ProcessUsage()), self.bounds.out)
        raise TcplabError("The guest ended before it was told to.", "Its job.log may say why.")


@dataclass(frozen=True)
class GuestSettings:
    """The settings of a guest; a processor of None is any, the options are `run_in_guest`'s.

    A guest that `takes_orders` has a line. Its programs see `folders` of this computer, by
    place, read-only.
    `clock` is its time at the start line, in nanoseconds since 1970. With `computing` the
    processor's time is virtual time too, and the run is not repeatable.
    """

    lab: Lab
    out: Path
    limits: Limits
    processor: int | None
    real_time: bool = False
    sandbox: type[Sandbox] | None = None
    loud: bool = False
    takes_orders: bool = False
    folders: Mapping[str, Path] = field(default_factory=dict)
    clock: int = EPOCH
    computing: bool = False


@contextmanager
def guest(settings: GuestSettings, code: Path, archive: bytes) -> Iterator[RunningGuest]:
    """Provide a guest that runs the program `code` with the job `archive`. Raises TcplabError."""
    lab, out, limits = settings.lab, settings.out, settings.limits
    user = ordinary_user()
    require_limits(limits)
    kind = settings.sandbox or allowed_sandbox(lab.confine).kind
    with (
        adopted(out, user),
        scratch() as folder,
        job_file(archive) as job,
        (out / CONSOLE).open("wb") as console,
        GuestProcesses(kind.end) as processes,
        guest_line() if settings.takes_orders else nullcontext() as line,
    ):
        given = [line.theirs.fileno()] if line else []
        place = kind(
            lab,
            out,
            code,
            job.fileno(),
            processes.report,
            user,
            limits,
            folder,
            line=given[0] if given else -1,
            folders=settings.folders,
        )
        command = place.command() + _kernel(settings)
        descriptors = [job.fileno(), processes.report, *given]
        with (
            started(command, console, descriptors, settings.processor) as process,
            processes.ended(),
        ):
            processes.started()
            if line:
                line.started()
            bounds = GuestBounds(out, limits, processes, place.second)
            yield RunningGuest(process, processes, bounds, line)


def lacking(lab: Lab) -> dict[str, bool]:
    """Return the features that the guest lacks; empty, so that no packet moves, if it has all."""
    return {} if lab.open_vswitch else {"open_vswitch": False}


def require_limits(limits: Limits) -> None:
    """Raises TcplabError if this process may not have what the guest's kernel needs."""
    # Limits that `confine` cannot raise (testbed/lab/kernel/confine.c), with ulimit's options.
    memory = limits.memory_mib << 20
    for name, number, needed, option in (
        ("address space in bytes", resource.RLIMIT_AS, memory + ADDRESSES_BESIDE, "-v"),
        ("file size in bytes", resource.RLIMIT_FSIZE, own_folders(limits)[MEMORY_FOLDER], "-f"),
        ("private memory in bytes", resource.RLIMIT_DATA, PRIVATE_MEMORY, "-d"),
        ("open files", resource.RLIMIT_NOFILE, DESCRIPTORS, "-n"),
    ):
        most = resource.getrlimit(number)[1]
        if most != resource.RLIM_INFINITY and most < needed:
            raise TcplabError(
                f"A guest with {limits.memory_mib} MiB of memory needs a limit of {name} of"
                f" {needed:,} or more; the limit here is {most:,}.",
                f"Raise it (ulimit {option}) in the shell, or where your system sets it.",
            )


def _kernel(settings: GuestSettings) -> list[str]:
    """Return the kernel's words, without the seed: that is drawn from at the start line."""
    lab, memory = settings.lab, settings.limits.memory_mib
    travels = lab.time_travel and not settings.real_time
    way = "time-travel" if settings.computing else "time-travel=inf-cpu"
    clock = f"{way} time-travel-start={settings.clock - _BEFORE}" if travels else ""
    seccomp, volume = (
        "seccomp=on" if lab.seccomp else "",
        "loglevel=7" if settings.loud else "quiet",
    )
    orders = f"orders={NUMBER}" if settings.takes_orders else ""
    words = (
        f"/lab/linux mem={memory}M root=none rootfstype=hostfs rootflags=/ ro init=/init"
        f" hostfs=/lab seed=1 {clock} norandmaps {seccomp} uml_dir=/tmp/ umid=lab"
        f" con=null con0=null console=stderr0 stderr=1 {volume} {orders}"
    )
    return words.split()
