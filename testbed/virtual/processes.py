"""The processes of a guest and its folder, seen from outside.

Limits of a process are set inside (testbed/lab/kernel/confine.c); memory and files of all together
are looked at while the guest runs. Then the folder is checked once before it is read.
"""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from testbed.host.processes import ProcessUsage, command_line, is_ready, with_descendants
from testbed.host.supervise import Limits
from testbed.virtual.sandbox import KERNEL_FILES, own_folders
from topologies.errors import TcplabError
from topologies.notation import json_value
from topologies.untrusted import entries, remove

_DYING = 60.0  # seconds that killed processes may take to be gone, on a busy machine too
_PANICKING = 5.0  # seconds that a kernel may take for its last words
_KERNEL = "/lab/linux"  # the first word of its command line
# Bytes of memory that no file holds, of all processes together; 2000 of them take 1 MiB.
_PRIVATE = 64 << 20
_MEMORY_FILES = 1000  # files next to the guest's memory, which is one
_DEEPEST = 8  # levels of folders whose content is counted
_SETTLING = 5.0  # seconds of an order before mappings are counted, which takes milliseconds
_SPARE_MAPPINGS = 16
_SPARING = 20  # a look at the run's folder is followed by a pause that many times as long


class GuestProcesses:
    """The processes of a guest. The first, bubblewrap's or the supervisor, is the last to go.

    At SIGKILL the kernel ends all of a namespace before that (pid_namespaces(7)), at `end` a
    supervisor does. `report` is for bubblewrap's --info-fd.
    """

    def __init__(self, end: signal.Signals) -> None:
        self._signal = end
        self._heard, self.report = os.pipe()
        os.set_blocking(self._heard, False)
        self._open = {self._heard, self.report}
        self._text = b""
        self._first: int | None = None
        self.pid: int | None = None

    def __enter__(self) -> GuestProcesses:
        return self

    def __exit__(self, *_error: object) -> None:
        for descriptor in tuple(self._open):
            self._close(descriptor)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """End all of them when the block ends. Raises TcplabError if something stays."""
        try:
            yield
        finally:
            self._end()

    def started(self) -> None:
        """Close this end of the report, which the guest has too, so that the report ends."""
        self._close(self.report)

    def listen(self) -> None:
        """Read the report; once it is whole, keep a descriptor of the first process."""
        if self.pid is not None:
            return
        try:
            while received := os.read(self._heard, 4096):
                self._text += received
        except BlockingIOError:
            return
        if self._text:
            self.pid = int(json_value(self._text)["child-pid"])
            with suppress(ProcessLookupError):  # the guest may have ended already
                self._first = os.pidfd_open(self.pid)
                self._open.add(self._first)

    def stop_kernel(self) -> None:
        """Make the guest's kernel panic, so that its last words say where it was.

        It does at signals that it takes for faults of its own (arch/um/kernel/trap.c); it may
        handle the first, and the second always ends it.
        """
        with suppress(ProcessLookupError):
            kernel = os.pidfd_open(number := self._kernel())
            self._open.add(kernel)
            for sent in (signal.SIGSEGV, signal.SIGILL):
                if self._kernel() == number:  # no later process of that number
                    signal.pidfd_send_signal(kernel, sent)
                if self._first is None or is_ready(self._first, _PANICKING):
                    return

    def _kernel(self) -> int:
        """Return the kernel's process, above its own ones. Raises ProcessLookupError."""
        self.listen()
        processes = with_descendants(self.pid) if self.pid is not None else iter(())
        kernels = (pid for pid in processes if command_line(pid)[:1] == [_KERNEL])
        if (kernel := next(kernels, None)) is None:
            raise ProcessLookupError
        return kernel

    def _close(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        os.close(descriptor)

    def _end(self) -> None:
        self.listen()
        if self._first is None:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, self._signal)
        if not is_ready(self._first, _DYING):
            problem = f"Process {self.pid} of a guest cannot be ended within {_DYING:g} s."
            raise TcplabError(problem, "It waits for the disk or the kernel; look at it with ps.")


@dataclass
class GuestBounds:
    """Limits of all processes of a guest together; `second` is a folder its kernel writes to."""

    out: Path
    limits: Limits
    processes: GuestProcesses
    second: Path | None = None
    next_look: float = field(default=0.0)

    def check(self, taken: ProcessUsage) -> None:
        """Check the memory each time, and the files as often as it is cheap."""
        self.processes.listen()
        if taken.private > _PRIVATE:
            raise _too_much(f"took more than {_PRIVATE >> 20} MiB of memory outside its RAM")
        begun = time.monotonic()
        if begun >= self.next_look:
            self._check_files()
            self.next_look = begun + max(0.2, _SPARING * (time.monotonic() - begun))

    def _check_files(self) -> None:
        if self._extra_files() > _MEMORY_FILES:
            raise _too_much(f"made more than {_MEMORY_FILES} files next to its memory")
        size = 0
        listed = entries(self.out, _DEEPEST, self.limits.output_files + 1)
        for files, (_, status) in enumerate(listed, 1):
            size += status.st_blocks * 512
            most_files, most = self.limits.output_files, self.limits.output_bytes
            if files > most_files or size > most:
                raise _too_much(f"wrote more than {most_files:,} files or {most >> 20:,} MiB")

    def _extra_files(self) -> int:
        """Count the guest's files outside of the run's folder. Raises TcplabError."""
        if not self.second:
            own = own_folders(self.limits).items()
            return sum(self._files_in(folder, size) for folder, size in own)
        found = entries(self.second, _DEEPEST, _MEMORY_FILES + 2)
        sizes = [status.st_blocks * 512 for _, status in found]
        if sum(sizes) > KERNEL_FILES:
            raise _too_much("wrote more outside the run's folder than a kernel does")
        return len(sizes)

    def _files_in(self, folder: str, size: int) -> int:
        """Count the files of a file system that only the guest sees, which its size tells."""
        if self.processes.pid is None:
            return 0
        try:
            status = os.statvfs(f"/proc/{self.processes.pid}/root{folder}")
        except OSError:
            return 0  # not made yet, or gone
        return status.f_files - status.f_ffree if status.f_blocks * status.f_frsize == size else 0


def _too_much(what: str) -> TcplabError:
    return TcplabError(f"The guest {what}, and was stopped.", "No experiment needs that much.")


class ScatteredPages:
    """A look from time to time at how many mappings a guest's processes have.

    Each page of a guest's process that has no neighbour is one; at the most a process hangs.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._next = pid, time.monotonic() + _SETTLING
        self._most = int(Path("/proc/sys/vm/max_map_count").read_text())

    def look(self) -> None:
        """Raise TcplabError for a process that has as many mappings as this computer allows."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SETTLING
        for process in with_descendants(self._pid):
            mappings = 0
            with suppress(OSError):  # it has ended, or may not be read
                mappings = Path(f"/proc/{process}/maps").read_bytes().count(b"\n")
            if mappings > self._most - _SPARE_MAPPINGS:
                problem = f"A program touches more than {self._most:,} scattered pages of memory,"
                remedy = "Let it use less, or allow more: sudo sysctl -w vm.max_map_count=1048576."
                raise TcplabError(f"{problem} the most that this computer maps.", remedy)


_DEEPEST_LEFT = 4  # levels of folders: a condition's is one
_MOST_FILES = 100_000  # files
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
    """Give the folder to the guest's user meanwhile. Raises TcplabError for what no run leaves."""
    owners = give(folder, user)
    try:
        yield
    except TcplabError as error:
        take_back(folder, owners, error)
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
            problem = f"{folder} is on a file system without owners."
            raise TcplabError(problem, "Use --out with a folder on a disk.")
    folder.chmod(0o700)
    # On a file system without owners every file has the folder's.
    return {os.geteuid(), folder.stat().st_uid}


def take_back(folder: Path, owners: set[int], cause: TcplabError | None = None) -> None:
    """Take the folder and its content back. Raises TcplabError for what no run leaves."""
    if strange := _take_back(folder, owners):
        more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
        problem = f"The guest left what no run leaves: {'; '.join(strange[:_SHOWN])}{more}."
        remedy = "It was removed unread. A congestion control has no business with files."
        raise TcplabError(problem, remedy) from cause


def _take_back(folder: Path, owners: set[int]) -> list[str]:
    """Give all of the folder to this user, and describe what was removed."""
    strange: list[str] = []
    _ours(folder, 0o755)
    for number, (path, status) in enumerate(entries(folder, _DEEPEST_LEFT, _MOST_FILES), 1):
        if number == _MOST_FILES:
            strange.append(f"more than {_MOST_FILES:,} files")
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
        return f"folders {len(inside.parts)} deep" if len(inside.parts) >= _DEEPEST_LEFT else ""
    return f"a second name of a file, {name}" if status.st_nlink > 1 else ""


def _ours(path: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, 0, os.getegid(), follow_symlinks=False)
    path.chmod(mode)
