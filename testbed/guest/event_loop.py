"""Waiting for descriptors and moments at once, in virtual time, to the nanosecond.

poll(2) waits up to a thousandth longer than it was asked to. A timer with a descriptor
(timerfd_create(2)) does not.
"""

from __future__ import annotations

import ctypes
import heapq
import os
import select
import time
from collections.abc import Callable
from itertools import count

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
        """Watch the descriptor no longer."""
        self._poll.unregister(descriptor)
        del self._handlers[descriptor]

    def at(self, moment: int, action: Callable[[], None]) -> None:
        """Call the action at that moment, or as soon as time moves if it is past."""
        heapq.heappush(self._timers, (moment, next(self._numbers), action))

    def run(self, until: Callable[[], bool], deadline: int | None) -> bool:
        """Let time go on until something holds; return whether it does at the deadline."""
        while not until():
            now = self._act()
            if deadline is not None and now >= deadline:
                return until()
            self._arm(deadline)
            self._handle(None)
        return True

    def drain(self) -> None:
        """Handle what there is now."""
        while self._handle(0):
            pass

    def _act(self) -> int:
        """Do what is due; return the time."""
        now = time.monotonic_ns()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        return now

    def _arm(self, deadline: int | None) -> None:
        moments = [moment for moment, _number, _action in self._timers[:1]]
        moments += [] if deadline is None else [deadline]
        first = min(moments, default=0)
        value = (ctypes.c_long * 4)(0, 0, first // _SECOND, first % _SECOND)
        _libc.timerfd_settime(self._clock, _ABSOLUTE, value, None)

    def _handle(self, timeout: int | None) -> bool:
        events = [number for number, _event in self._poll.poll(timeout) if number != self._clock]
        for descriptor in events:
            if descriptor in self._handlers:
                self._handlers[descriptor]()
        return bool(events)
