"""Processors, memory and processes: what this machine has for guests, and what a run takes.

A guest's kernel and its programs take turns, so they have one processor, claimed by the lock of a
file that only this user's processes can open. proc_pid_stat(5) of every descendant is read, since
bubblewrap does not wait for the processes it starts.
"""

from __future__ import annotations

import math
import os
import pwd
import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.host.scratch import claimed
from topologies.errors import UsageError

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = re.compile(rb"^(VmHWM|RssAnon):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class ProcessUsage:
    """CPU seconds of a process, its descendants and those it has waited for; bytes of memory.

    `peak` is of the largest, `private` what no file holds, of all together.
    """

    cpu: float = 0.0
    peak: int = 0
    private: int = 0

    def __add__(self, other: ProcessUsage) -> ProcessUsage:
        return ProcessUsage(
            self.cpu + other.cpu, max(self.peak, other.peak), self.private + other.private
        )


def taken_by(pid: int) -> ProcessUsage:
    """Return the usage of a process and its descendants, without those that end meanwhile."""
    total = ProcessUsage()
    for process in with_descendants(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended between two looks
            ticks = _read(process, "stat").rpartition(b")")[2].split()[11:15]
            memory = dict(_MEMORY.findall(_read(process, "status")))
            peak, private = (1024 * int(memory.get(name, 0)) for name in (b"VmHWM", b"RssAnon"))
            total += ProcessUsage(sum(map(int, ticks)) / _TICKS, peak, private)
    return total


def with_descendants(pid: int) -> Iterator[int]:
    """Yield a process and those below it, as far as they are still there."""
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        with suppress(FileNotFoundError, ProcessLookupError):
            waiting += map(int, _read(process, f"task/{process}/children").split())
            yield process


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line; none if it has ended."""
    try:
        return _read(pid, "cmdline").decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _read(pid: int, name: str) -> bytes:
    """Read a file of /proc without buffers: this runs thousands of times a minute."""
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        return file.read()


def is_ready(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read, or the other end is gone, for at most `seconds`."""
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    return bool(watched.poll(math.ceil(1000 * seconds)))


def invoking_user() -> tuple[int, int] | None:
    """User and group number of the caller of sudo; None without sudo, or if that was root."""
    user = int(os.environ.get("SUDO_UID", 0)) if os.geteuid() == 0 else 0
    return (user, pwd.getpwuid(user).pw_gid) if user else None


_LOOK = 0.01  # seconds between two readings of /proc/stat: one of its clock ticks
_NO_LIMIT = 2**40  # MiB


@contextmanager
def claimed_processor() -> Iterator[int]:
    """Provide the least busy processor that no run of this user has claimed, else the first."""
    ordered = _least_busy_first()
    claims = ((number, claimed(f"processor-{number}")) for number in ordered)
    number, claim = next((claim for claim in claims if claim[1]), (ordered[0], None))
    with claim or nullcontext():
        yield number


@contextmanager
def on_processor(number: int | None) -> Iterator[None]:
    """Keep processes that this thread starts on that processor; None allows all."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed if number is None else {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def allowed_processors() -> int:
    return len(os.sched_getaffinity(0))


def guests_at_once(needed_mib: int, workers: int | None = None) -> int:
    """Return how many guests of `needed_mib` run at once. Raises UsageError for too few."""
    free = available_mib()
    fitting = free // needed_mib
    if fitting < (count := workers or 1):
        number = "A guest" if count == 1 else f"{count} guests"
        needed = f"{number} would take about {count * needed_mib} MiB of memory"
        remedy = "Lower --duration, --bw or the number of flows, or run fewer at once (--workers)."
        raise UsageError(f"{needed}, and {free} MiB are free.", remedy)
    return workers or min(allowed_processors(), fitting)


def available_mib() -> int:
    """MiB of memory that are free without swapping (proc_meminfo(5)), in our control group too."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    machine = next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))
    return min(machine, _left_in_control_group())


def _left_in_control_group() -> int:
    """Return memory.max less memory.current (cgroups(7)) of a container or a cluster's job."""
    own = Path("/proc/self/cgroup").read_text().partition("0::")[2].splitlines()
    group = Path("/sys/fs/cgroup") / (own[0].lstrip("/") if own else "")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except OSError:
        return _NO_LIMIT  # this system keeps no such limit
    return _NO_LIMIT if limit == "max" else max(0, int(limit) - used) >> 20


def _least_busy_first() -> list[int]:
    before = _busy_ticks()
    time.sleep(_LOOK)
    after = _busy_ticks()
    return sorted(os.sched_getaffinity(0), key=lambda number: after[number] - before[number])


def _busy_ticks() -> dict[int, int]:
    """Return the busy clock ticks of each processor, from proc_stat(5)."""
    rows = re.findall(r"(?m)^cpu(\d+) (.*)$", Path("/proc/stat").read_text())
    ticks = {int(number): [int(each) for each in row.split()] for number, row in rows}
    return {number: sum(each[:3] + each[5:8]) for number, each in ticks.items()}
