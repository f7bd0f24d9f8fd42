"""Processes of a run: resources they took, their descriptors, and the user behind sudo.

proc_pid_stat(5) of every descendant is read: bubblewrap does not wait for the processes it starts,
so the usual accounting of ended children misses them.
"""

from __future__ import annotations

import math
import os
import pwd
import re
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from topologies.errors import CommandError

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = re.compile(rb"^(VmHWM|RssAnon):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class ProcessUsage:
    """CPU seconds of a process, its descendants and those it has waited for; bytes of memory.

    `peak` is the most that the largest of them had, `private` what no file holds, of all together.
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
            total += _of_process(process)
    return total


def with_descendants(pid: int) -> Iterator[int]:
    """Yield a process and those below it, as far as they are still there."""
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        with suppress(FileNotFoundError, ProcessLookupError):
            waiting += map(int, _told(process, f"task/{process}/children").split())
            yield process


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line; none if it has ended."""
    try:
        return _told(pid, "cmdline").decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _of_process(pid: int) -> ProcessUsage:
    ticks = _told(pid, "stat").rpartition(b")")[2].split()[11:15]
    kilobytes = dict(_MEMORY.findall(_told(pid, "status")))
    peak, private = (1024 * int(kilobytes.get(name, 0)) for name in (b"VmHWM", b"RssAnon"))
    return ProcessUsage(sum(map(int, ticks)) / _TICKS, peak, private)


def _told(pid: int, name: str) -> bytes:
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


def output_of(
    command: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    umask: int = -1,
) -> str:
    """Return the output of a command that must succeed. Raises CommandError."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        umask=umask,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        printed = done.stdout + done.stderr
        raise CommandError(" ".join(map(str, command)), done.returncode, printed)
    return done.stdout
