"""Following a job from outside, on either testbed: progress, limits, what it took, how it ended."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from testbed.inside.programs import wait_until_ended
from testbed.inside.room import EVENTS, LOG, RESULT
from testbed.usage import cpu_and_memory
from topologies.errors import TcplabError

CONSOLE = "console.log"
_REMEDIES = {  # what a dead run's last words may contain, and what to do then
    "namespace": (
        "This system does not let ordinary users make namespaces, which the sandbox needs: "
        "sudo sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1, on Ubuntu "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container, start that with more rights."
    ),
    "seccomp": "This system, perhaps a container, does not let programs install seccomp filters; run outside of it.",
    "ptrace": "This system, perhaps a container, does not let programs trace their children; run outside of it.",
    "No space left": "Free space in /dev/shm and on the disk of the run's folder.",
    "": "The whole output is in console.log and job.log of the run's folder.",
}
LIMIT, NO_RESULT = "at its limit of", "The run ended without a result"
"""Parts of what a run's error says: by these others know which it is."""
_DYING = 10.0  # seconds that killed processes may take to be gone
_FULL = 2**20  # bytes free
_POLL = 0.05  # seconds between two looks at a running job

Progress = Callable[[str, float], None]
"""Called again and again with what is being done and the seconds that have passed on the job's own clock.

What it raises ends the job.
"""


@dataclass(frozen=True)
class Usage:
    """What a run took: seconds of its own clock, wall and CPU seconds of this machine, peak memory in bytes."""

    clock_seconds: float
    wall_seconds: float
    cpu_seconds: float
    memory: int


@dataclass(frozen=True)
class Limits:
    """`wall_seconds` is counted outside: a program that spins freezes virtual time, and its own time-outs with it."""

    wall_seconds: float = 600.0
    memory_mib: int = 1024


@contextmanager
def started(command: list[str], console: IO[bytes], descriptors: list[int]) -> Iterator[subprocess.Popen[bytes]]:
    """A job in a process group of its own, killed as a whole at the end, whatever happens.

    All its processes inherit one end of a pipe: when that closes, the last of them is gone.
    """
    watching, alive = os.pipe()
    try:
        try:
            process = _popen(command, console, [*descriptors, alive])
        finally:
            os.close(alive)
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                select.select([watching], [], [], _DYING)
    finally:
        os.close(watching)


def _popen(command: list[str], console: IO[bytes], descriptors: list[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, pass_fds=descriptors,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    except FileNotFoundError:
        raise TcplabError(f"{command[0]} is not installed.", "Run ./tcplab, which installs what is missing.") from None


def follow(process: subprocess.Popen[bytes], out: Path, progress: Progress, limits: Limits) -> Usage:
    """Follow a job to its end. Raises TcplabError at the wall-clock limit, or with the job's own message."""
    begun = time.monotonic()
    told, cpu, memory = _Told(out / EVENTS, progress), 0.0, 0
    while not wait_until_ended(process, _POLL):
        if time.monotonic() - begun > limits.wall_seconds:
            raise TcplabError(
                f"The run was stopped {LIMIT} {limits.wall_seconds:g} s of wall time: perhaps a program spins.",
                f"Look at {LOG} in the run's folder; raise the limit with --limit.",
            )
        told.again()
        latest = cpu_and_memory(process.pid)
        cpu, memory = max(cpu, latest[0]), max(memory, latest[1])
    told.again()
    return Usage(_verdict(out, process.returncode), time.monotonic() - begun, cpu, memory)


@dataclass
class _Told:
    """The job's events, as far as they have been read and handed on."""

    events: Path
    progress: Progress
    offset: int = 0
    phase: str = "starting"
    elapsed: float = 0.0

    def again(self) -> None:
        """Read what is new, and tell what the last complete line says."""
        if self.events.exists():
            with self.events.open("rb") as file:
                file.seek(self.offset)
                self._read(file.read())
        self.progress(self.phase, self.elapsed)

    def _read(self, text: bytes) -> None:
        complete = text[: text.rfind(b"\n") + 1]
        self.offset += len(complete)
        for line in complete.splitlines()[-1:]:
            event = json.loads(line)
            self.phase, self.elapsed = str(event["phase"]), float(event["elapsed"])


def _verdict(out: Path, status: int) -> float:
    """The seconds that a job's clock showed at its good end. Raises TcplabError with its message otherwise."""
    result_file = out / RESULT
    if not result_file.exists():
        if shutil.disk_usage(out).free < _FULL:
            raise TcplabError(f"The disk of {out} is full.", "Free space and run again; what was measured is kept.")
        words = _last_words(out)
        remedy = next(remedy for sign, remedy in _REMEDIES.items() if sign in words)
        raise TcplabError(f"{NO_RESULT} (status {status}). Its last words:\n{words}\n", remedy)
    result = json.loads(result_file.read_text())
    if not result["ok"]:
        raise TcplabError(str(result["problem"]), str(result["remedy"]))
    return float(result["elapsed"])


def _last_words(out: Path) -> str:
    texts = ((out / name).read_text(errors="replace") for name in (CONSOLE, LOG) if (out / name).exists())
    return "\n".join(line for text in texts for line in text.splitlines()[-8:]).strip() or "(none)"
