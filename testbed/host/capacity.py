"""What this machine has for guests: memory, and a processor for each.

A guest's kernel and its programs take turns, so on one processor no wake-up is waited for.
Two guests on one processor would take twice as long while another idles, so it is claimed while
a guest runs: by an abstract Unix socket (unix(7)), which all processes of the machine see and
which ends with its holder.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.errors import UsageError

_LOOK = 0.01  # seconds between two readings of /proc/stat: one of its clock ticks
_NO_LIMIT = 2**40  # MiB


@contextmanager
def claimed_processor() -> Iterator[int]:
    """Provide the least busy processor that no other run has claimed, else the least busy."""
    ordered = _least_busy_first()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        yield next((number for number in ordered if _claims(claim, number)), ordered[0])


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
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def guests_at_once(needed_mib: int, workers: int | None = None) -> int:
    """Return the number of parallel guests: one for each processor, as far as memory goes.

    `needed_mib` is what one of them takes. Raises UsageError if there is not enough memory for
    one, or for as many as `workers`.
    """
    free = available_mib()
    fitting = free // needed_mib
    if fitting < (workers or 1):
        number = "A guest" if not workers or workers == 1 else f"{workers} guests"
        raise UsageError(
            f"{number} would take about {(workers or 1) * needed_mib} MiB of memory, and {free} MiB"
            " are free.",
            "Lower --duration, --bw or the number of flows, or run fewer at once (--workers).",
        )
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


def _claims(claim: socket.socket, number: int) -> bool:
    try:
        claim.bind(f"\0tcplab-processor-{number}")
    except OSError:
        return False  # EADDRINUSE: another run has it
    return True


def _least_busy_first() -> list[int]:
    before = _busy_ticks()
    time.sleep(_LOOK)
    after = _busy_ticks()
    return sorted(os.sched_getaffinity(0), key=lambda number: after[number] - before[number])


def _busy_ticks() -> dict[int, int]:
    """Return the busy clock ticks of each processor, from proc_stat(5)."""
    rows = [
        line.split()
        for line in Path("/proc/stat").read_text().splitlines()
        if line[:3] == "cpu" and line[3] != " "
    ]
    return {int(row[0][3:]): sum(int(ticks) for ticks in row[1:4] + row[6:9]) for row in rows}
