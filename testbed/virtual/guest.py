"""A started guest: the lab kernel's command line, its sandbox, its processes, its line for orders.

Kernel options: Documentation/virt/uml. The line is the outer end of the guest's /dev/orders. A
guest may send anything: a message is bytes of a limited length (recv(2)).
"""

from __future__ import annotations

import json
import math
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any, NoReturn

from testbed.guest.job_entry import LONGEST
from testbed.host import supervise
from testbed.host.job_archive import job_file
from testbed.host.processes import is_ready, taken_by
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE, FollowedJob, Limits, Progress
from testbed.lab.ready import Lab
from testbed.virtual.processes import GuestBounds, GuestProcesses, ScatteredPages, adopted
from testbed.virtual.sandbox import (
    MEMORY_FOLDER,
    Sandbox,
    allowed_sandbox,
    ordinary_user,
    own_folders,
)
from topologies.errors import TcplabError
from topologies.notation import json_value

NUMBER = 8190  # the descriptor in the guest's kernel (LINE of testbed/lab/kernel/confine.h)
_LOOK = 0.05  # seconds between two looks at the guest while it works
_PATIENCE = 60.0  # seconds until a guest reads an order: it does at once
_LENGTH = struct.Struct("<I")


class LineClosed(Exception):
    """The guest has ended."""


class LineSilent(Exception):
    """The guest has not answered in time."""


@dataclass(frozen=True)
class GuestLine:
    ours: socket.socket
    theirs: socket.socket

    def send(self, message: Any) -> None:
        """Send a message. Raises LineClosed; TcplabError for one that is too long."""
        content = json.dumps(message).encode()
        if len(content) > LONGEST:
            problem = f"An order of {len(content):,} bytes is too long: {LONGEST:,} are the most."
            raise TcplabError(problem, "Hand over large data in a file.")
        try:
            self.ours.sendall(_LENGTH.pack(len(content)) + content)
        except OSError as error:
            raise LineClosed from error

    def receive(self, patience: float, look: Callable[[], None]) -> Any:
        """Return the next message; `look` meanwhile. Raises LineClosed, LineSilent, TcplabError."""
        deadline = time.monotonic() + patience
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline, look))
        if length > LONGEST:
            raise TcplabError("The guest sent a message that is too long.", "It was ended.")
        content = self._exactly(length, deadline, look)
        try:
            return json_value(content)
        except ValueError as error:
            raise TcplabError("The guest sent what is no message.", "It was ended.") from error

    def _exactly(self, count: int, deadline: float, look: Callable[[], None]) -> bytes:
        content = b""
        while len(content) < count:
            if is_ready(self.ours.fileno(), _LOOK):
                piece = b""
                with suppress(OSError):
                    piece = self.ours.recv(count - len(content))
                if not piece:
                    raise LineClosed
                content += piece
                continue
            look()
            if time.monotonic() > deadline:
                raise LineSilent
        return content


@contextmanager
def guest_line() -> Iterator[GuestLine]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_PATIENCE)
        yield GuestLine(ours, theirs)


ADDRESSES_BESIDE, PRIVATE_MEMORY, DESCRIPTORS = 64 << 20, 32 << 20, 8193
EPOCH = 1_700_000_000_000_000_000  # nanoseconds since 1970 at which flows begin in every guest
_BEFORE = 1000_000_000_000  # nanoseconds that it starts earlier, to prepare


@dataclass(frozen=True)
class RunningGuest:
    """A started guest: its first process, limits of all of them, and a line if it takes orders."""

    process: Popen[bytes]
    processes: GuestProcesses
    bounds: GuestBounds
    line: GuestLine | None = None

    def follow(self, progress: Progress) -> FollowedJob:
        """Follow it to its end, and return that. Raises TcplabError beyond its limits."""
        with self._job() as job:
            for taken in job.looks():
                progress(job.phase, job.elapsed)
                self.bounds.check(taken)
        progress(job.phase, job.elapsed)
        return job

    @contextmanager
    def _job(self, before: float = 0.0) -> Iterator[FollowedJob]:
        try:
            yield FollowedJob(self.process, self.bounds.out, self.bounds.limits, before)
        except supervise.WallLimit:
            self.processes.stop_kernel()  # its last words say where it was
            raise

    def carry(self, order: Any, progress: Progress) -> FollowedJob:
        """Order something, and follow it until it is done. Raises TcplabError as `follow`."""
        assert self.line
        before = taken_by(self.process.pid).cpu
        self.order(order)
        with self._job(before) as job:

            def look() -> None:
                self.bounds.check(job.look())
                progress(job.phase, job.elapsed)

            try:
                self.line.receive(math.inf, look)
            except LineClosed:
                self.ended()
        look()
        return job

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
            problem = f"{name} was not ready within {patience:g} s."
            raise TcplabError(problem, "The machine is too busy.") from None

    def heard(self, patience: float) -> Any:
        """Return its next message. Raises LineSilent after `patience` seconds, or TcplabError."""
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
        supervise.clock_at_end(self.bounds.out, self.process.wait())
        raise TcplabError("The guest ended before it was told to.", "Its job.log may say why.")


@dataclass(frozen=True)
class GuestSettings:
    """The settings of a guest that writes to the empty folder `out`; a processor of None is any.

    `real_time` and `computing` (the processor's time is virtual time too) are not repeatable.
    `sandbox` is the best that works here, unless named. A `verbose` kernel prints all, and sends
    other packets. Programs see `folders` of this computer, by place, read-only. `clock` is the time
    at the start line, in nanoseconds since 1970.
    """

    lab: Lab
    out: Path
    limits: Limits
    processor: int | None
    real_time: bool = False
    sandbox: type[Sandbox] | None = None
    verbose: bool = False
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
        report, end = processes.report, given[0] if given else -1
        own, seen = (user, limits, folder), settings.folders
        sandbox = kind(lab, out, code, job.fileno(), report, *own, end, seen)
        command, opened = sandbox.command() + _kernel(settings), [job.fileno(), report, *given]
        with (
            supervise.started(command, console, opened, settings.processor) as process,
            processes.ended(),
        ):
            processes.started()
            if line:
                line.theirs.close()  # so that the guest's end is noticed
            bounds = GuestBounds(out, limits, processes, sandbox.second)
            yield RunningGuest(process, processes, bounds, line)


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
            sized = f"A guest with {limits.memory_mib} MiB of memory"
            wanted = f"{sized} needs a limit of {name} of {needed:,} or more"
            remedy = f"Raise it (ulimit {option}) in the shell, or where your system sets it."
            raise TcplabError(f"{wanted}; the limit here is {most:,}.", remedy)


def _kernel(settings: GuestSettings) -> list[str]:
    """Return the kernel's words, without the seed: that is drawn from at the start line."""
    lab, memory = settings.lab, settings.limits.memory_mib
    travels = lab.time_travel and not settings.real_time
    mode = "time-travel" if settings.computing else "time-travel=inf-cpu"
    clock = f"{mode} time-travel-start={settings.clock - _BEFORE}" if travels else ""
    seccomp = "seccomp=on" if lab.seccomp else ""
    volume = "loglevel=7" if settings.verbose else "quiet"
    orders = f"orders={NUMBER}" if settings.takes_orders else ""
    words = (
        f"/lab/linux mem={memory}M root=none rootfstype=hostfs rootflags=/ ro init=/init"
        f" hostfs=/lab seed=1 {clock} norandmaps {seccomp} uml_dir=/tmp/ umid=lab"
        f" con=null con0=null console=stderr0 stderr=1 {volume} {orders}"
    )
    return words.split()
