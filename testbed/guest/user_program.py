"""A program of the user's in a host: started in its root, followed by its pipes and its end.

Moments are waited for to the nanosecond by timerfd_create(2); poll(2) waits a thousandth longer.
"""

import ctypes
import heapq
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from testbed.guest.host_root import root_of

_MONOTONIC, _ABSOLUTE = 1, 1  # CLOCK_MONOTONIC, TFD_TIMER_ABSTIME
_CLOSED_ON_EXEC = os.O_CLOEXEC | os.O_NONBLOCK
_SECOND = 10**9
_libc = ctypes.CDLL(None, use_errno=True)


class EventLoop:
    """Handlers of descriptors, and actions at moments of CLOCK_MONOTONIC, in ns."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self._clock = _libc.timerfd_create(_MONOTONIC, _CLOSED_ON_EXEC)
        self.watch(self._clock, lambda: None)

    def watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        """Call the handler whenever the descriptor can be read or has ended."""
        self._handlers[descriptor] = handler
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._handlers[descriptor]

    def at(self, moment: int, action: Callable[[], None]) -> None:
        """Call the action at that moment, or as soon as time moves if it is past."""
        heapq.heappush(self._timers, (moment, next(self._numbers), action))

    def run(self, until: Callable[[], bool], deadline: int | None) -> bool:
        """Let time go on until something holds; return whether it does at the deadline."""
        while not until():
            now = time.monotonic_ns()
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()
            if deadline is not None and now >= deadline:
                return until()
            moments = [moment for moment, _number, _action in self._timers[:1]]
            moments += [] if deadline is None else [deadline]
            first = min(moments, default=0)
            value = (ctypes.c_long * 4)(0, 0, first // _SECOND, first % _SECOND)
            _libc.timerfd_settime(self._clock, _ABSOLUTE, value, None)
            self._handle(None)
        return True

    def drain(self) -> None:
        while self._handle(0):
            pass

    def _handle(self, timeout: int | None) -> bool:
        events = [number for number, _event in self._poll.poll(timeout) if number != self._clock]
        for descriptor in events:
            if descriptor in self._handlers:
                self._handlers[descriptor]()
        return bool(events)


_ENTER = "/lab/init"
"""It enters a host and a root before it becomes the program (testbed/lab/kernel/init.c)."""
_PIECE = 1 << 16


@dataclass(frozen=True)
class ProgramStart:
    """A start: program and arguments, environment, folder, user and group, its input."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: str
    user: int = 0
    group: int = 0
    input: str = ""


class UserProgram:
    """A started program. `news` is what it printed since it was asked last; `now` is the time."""

    def __init__(
        self, pid: int, host: str, start: ProgramStart, loop: EventLoop, now: Callable[[], int]
    ) -> None:
        self.ended_at: int | None = None
        self._told = False
        self._loop = loop
        self._printed = {"stdout": bytearray(), "stderr": bytearray()}
        self._fresh = {"stdout": 0, "stderr": 0}
        self._process = _started(pid, host, start)
        for name in self._printed:
            self._watch(name)
        end = os.pidfd_open(self._process.pid)

        def ended() -> None:
            loop.forget(end)
            os.close(end)
            self._process.wait()
            self.ended_at = now()

        loop.watch(end, ended)

    def has_printed(self, text: bytes) -> bool:
        return any(text in printed for printed in self._printed.values())

    def news(self) -> dict[str, Any]:
        """Return what is new, if anything: text of its streams, its status once it has ended."""
        texts: dict[str, Any] = {}
        for name, printed in self._printed.items():
            texts[name] = printed[self._fresh[name] :].decode("latin-1")
            self._fresh[name] = len(printed)
        ended, self._told = self.ended_at is not None and not self._told, self.ended_at is not None
        if not ended and not any(texts.values()):
            return {}
        code = self._process.returncode  # None while it runs; of a signal, as a shell says it
        status = code if code is None or code >= 0 else 128 - code
        return {**texts, "status": status, "ended_at": self.ended_at}

    def signal(self, number: int) -> None:
        """Send a signal to it, unless it has ended."""
        if self.ended_at is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it and all that it started in its session."""
        if self.ended_at is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _watch(self, name: str) -> None:
        stream = getattr(self._process, name)

        def read() -> None:
            if piece := os.read(stream.fileno(), _PIECE):
                self._printed[name] += piece
            else:
                self._loop.forget(stream.fileno())
                stream.close()

        self._loop.watch(stream.fileno(), read)


def _started(pid: int, host: str, start: ProgramStart) -> subprocess.Popen[bytes]:
    where = [f"/proc/{pid}/ns/net", host, str(root_of(host)), start.folder]
    words = [_ENTER, *where, str(start.user), str(start.group), *start.argv]
    with tempfile.TemporaryFile() as given:
        given.write(start.input.encode())
        given.seek(0)
        pipe = subprocess.PIPE
        streams: dict[str, Any] = {"stdin": given, "stdout": pipe, "stderr": pipe}
        environment = dict(start.environment)
        return subprocess.Popen(words, env=environment, start_new_session=True, **streams)
