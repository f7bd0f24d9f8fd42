"""Following a job from outside, on either testbed: progress, limits, usage, its end."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from testbed.guest.job_entry import EVENTS, LOG, RESULT
from testbed.guest.programs import wait_until_ended
from testbed.host.processes import ProcessUsage, is_ready, on_processor, taken_by
from topologies import untrusted
from topologies.errors import TcplabError, is_absent
from topologies.notation import json_value

CONSOLE = "console.log"
_REMEDIES = {  # what a dead run's last words may contain, and what to do then
    "No space left": "Free space in /dev/shm and on the disk of the run's folder.",
    "": "The whole output is in console.log and job.log of the run's folder.",
}
LIMIT, NO_RESULT = "at its limit of", "The run ended without a result"
"""Parts of what a run's error says: by these others know which it is."""
_BY_SIGNAL = 128  # bwrap(1) exits with this and the number of the signal that ended the guest
_SIGNALS: dict[int, str] = {
    signal.SIGSYS: "its kernel made a system call of this computer that no guest makes",
    signal.SIGXFSZ: "it wrote a file that is larger than any of a run",
    signal.SIGXCPU: "it took more processor time than the run may",
}
_DYING = 10.0  # seconds that killed processes may take to be gone
_FULL = 2**20  # bytes free
_MOST_EVENTS, _MOST_RESULT = 2**20, 2**20  # bytes read at once
_LONGEST, _LONGEST_LINE = 16_000, 300  # characters of a job's own words
_LATEST = 1e12  # seconds of a job's clock
_POLL = 0.05  # seconds between two looks at a running job

Progress = Callable[[str, float], None]
"""Called again and again with a phase and the seconds of the job's clock; may raise to end it."""


@dataclass(frozen=True)
class Usage:
    """Resources of a run: seconds of its clock, wall and CPU seconds, peak memory in bytes."""

    clock_seconds: float
    wall_seconds: float
    cpu_seconds: float
    memory: int


@dataclass(frozen=True)
class Limits:
    """Limits of a run; a guest is ended at any of them.

    `wall_seconds` is counted outside, as a spinning program freezes virtual time. `output_bytes`
    and `output_files` are what its folder may hold.
    """

    wall_seconds: float = 600.0
    memory_mib: int = 1024
    processes: int = 8192
    output_bytes: int = 4 << 30
    output_files: int = 20_000


@contextmanager
def started(
    command: list[str], console: IO[bytes], descriptors: list[int], processor: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A job in a process group of its own, killed as a whole at the end, whatever happens.

    All its processes inherit one end of a pipe: when that closes, the last of them is gone.
    """
    watching, alive = os.pipe()
    try:
        try:
            with on_processor(processor):
                streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": console}
                streams |= {"stderr": console, "pass_fds": [*descriptors, alive]}
                process = subprocess.Popen(command, start_new_session=True, cwd="/", **streams)
        except OSError as error:
            if not is_absent(error):
                raise
            problem = f"{command[0]} is not installed."
            raise TcplabError(problem, "Run ./tcplab, which installs what is missing.") from None
        finally:
            os.close(alive)
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                is_ready(watching, _DYING)
    finally:
        os.close(watching)


class WallLimit(TcplabError):
    """The end of a job at its limit of wall time."""


@dataclass
class FollowedJob:
    """A job that is followed: its phase and clock as it last wrote them, and what it has taken.

    `before` are the processor seconds that its process had taken when the job began.
    """

    process: subprocess.Popen[bytes]
    out: Path
    limits: Limits
    before: float = 0.0
    phase: str = "starting"
    elapsed: float = 0.0
    wall_seconds: float = 0.0
    taken: ProcessUsage = field(default_factory=ProcessUsage)
    begun: float = field(default_factory=time.monotonic)
    _offset: int = 0

    def looks(self) -> Iterator[ProcessUsage]:
        """Yield what it takes now, again and again until its end. Raises WallLimit."""
        while not wait_until_ended(self.process, _POLL):
            yield self.look()
        self._read_events()
        self.wall_seconds = time.monotonic() - self.begun

    def look(self) -> ProcessUsage:
        """Return what it takes now, and read what it tells. Raises WallLimit."""
        self.wall_seconds = time.monotonic() - self.begun
        if self.wall_seconds > self.limits.wall_seconds:
            stopped = f"The run was stopped {LIMIT} {self.limits.wall_seconds:g} s of wall time"
            remedy = f"Look at {LOG} in the run's folder; raise the limit with --limit."
            raise WallLimit(f"{stopped}: perhaps a program spins.", remedy)
        self._read_events()
        latest, taken = taken_by(self.process.pid), self.taken
        self.taken = ProcessUsage(max(taken.cpu, latest.cpu), max(taken.peak, latest.peak))
        return latest

    def usage(self, out: Path) -> Usage:
        """Return what it says of itself in `out` after its end. Raises TcplabError."""
        clock = clock_at_end(out, self.process.returncode or 0)
        return Usage(clock, self.wall_seconds, self.taken.cpu - self.before, self.taken.peak)

    def _read_events(self) -> None:
        """Read new events, of which the last complete one counts."""
        text = b""
        with (
            suppress(FileNotFoundError, untrusted.StrangeFile),
            untrusted.opened(self.out, EVENTS) as file,
        ):
            file.seek(self._offset)
            text = file.read(_MOST_EVENTS)
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.splitlines()[-1:]:
            event = _object(line, EVENTS)
            self.phase = _sentence(event.get("phase"), self.phase)
            self.elapsed = _number(event.get("elapsed"))


def clock_at_end(out: Path, status: int) -> float:
    """Return the seconds that a job's clock showed at its good end. Raises TcplabError."""
    if why := _SIGNALS.get(status - _BY_SIGNAL):
        raise TcplabError(f"{NO_RESULT}: {why}.", "Only its guest was ended.")
    if not untrusted.is_file(out, RESULT):
        if shutil.disk_usage(out).free < _FULL:
            problem = f"The disk of {out} is full."
            raise TcplabError(problem, "Free space and run again; what was measured is kept.")
        texts = (untrusted.tail_if_any(out, name, _LONGEST) for name in (CONSOLE, LOG))
        lines = [line[:_LONGEST_LINE] for text in texts for line in text.splitlines()[-8:]]
        words = _sentence("\n".join(lines)).strip() or "(none)"
        remedy = next(remedy for sign, remedy in _REMEDIES.items() if sign in words)
        raise TcplabError(f"{NO_RESULT} (status {status}). Its last words:\n{words}\n", remedy)
    result = _object(untrusted.content(out, RESULT, _MOST_RESULT), RESULT)
    if result.get("ok") is not True:
        problem = _sentence(result.get("problem"), NO_RESULT)
        raise TcplabError(problem, _sentence(result.get("remedy")))
    return _number(result.get("elapsed"))


def _object(text: bytes, name: str) -> dict[str, Any]:
    """Parse a job's JSON; a guest may have written anything. Raises TcplabError."""
    with suppress(ValueError):
        if isinstance(parsed := json_value(text), dict):
            return parsed
    raise TcplabError(f"The run's {name} is not what a run writes.", "Run it again.")


def _sentence(value: object, otherwise: str = "") -> str:
    """Return a job's text, cut to a message's length, without control characters but line ends."""
    text = value if isinstance(value, str) else otherwise
    return untrusted.plain(text[:_LONGEST])


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _LATEST else 0.0


_SIGN = "tcplab: "
_SPINS = " spins, "
_WAITED = re.compile(r"(.+) waited in a loop for time, (\d+) times, which moved it by (\d+) us")
_READ = 1 << 16  # bytes from the end of the console


def waits(out: Path) -> list[str]:
    """Return a sentence for each program that waited for time in loops; known after the end."""
    sentences = []
    for found in filter(None, map(_WAITED.fullmatch, _said(out))):
        name, count, moved = found.groups()
        times = "once" if count == "1" else f"{count} times"
        moves = f"moved it by {int(moved) / 1e6:.3g} s"
        sentences.append(f"{name} waited for time in a loop {times}, which {moves}")
    return sentences


def spin(out: Path) -> str:
    """Return the sentence on a program whose processor time moved virtual time; else empty."""
    return next((words for words in _said(out) if _SPINS in words), "")


def _said(out: Path) -> list[str]:
    lines = untrusted.tail_if_any(out, CONSOLE, _READ).splitlines()
    return [words for _, sign, words in (line.partition(_SIGN) for line in lines) if sign]
