"""Guests of the playground that wait for a player: each serves once, then the next one boots."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from experiments.play.settings import PlaySettings
from experiments.run.seed import PROCEDURE, known_before, limits_for
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from testbed.virtual.guest import GuestSettings
from testbed.virtual.run import guest_ahead, ordered
from topologies.data import to_data
from topologies.errors import TcplabError

WALL_SECONDS = 600.0
_QUIET = 0.5
"""Seconds after a run until the next guest boots: more runs may follow, and the browser draws."""


class MovedOn(Exception):
    """The player moved on before the run was over."""


class WaitingGuest(threading.Thread):
    """A guest from its boot to its end in one thread, with which the kernel ends its sandbox."""

    def __init__(self, lab: Lab, limits: Limits, processor: int | None) -> None:
        super().__init__(name="guest", daemon=True)
        self.folder = Path()
        self.ready, self.over = threading.Event(), threading.Event()
        self.error: TcplabError | None = None
        self._lab, self._limits, self._processor = lab, limits, processor
        self._orders = SimpleQueue[Any]()  # one, then None when the guest or its files may go

    def run(self) -> None:
        known = to_data(known_before(PlaySettings().spec()))
        try:
            with scratch(in_memory=True) as place:
                self.folder = place / "out"
                self.folder.mkdir()
                settings = GuestSettings(self._lab, self.folder, self._limits, self._processor)
                with guest_ahead(settings, PROCEDURE, known) as guest:
                    self.ready.set()
                    order = self._orders.get()
                    if order is None:
                        raise MovedOn
                    guest.order(order)
                    guest.follow(self._go_on)
                self.over.set()
                self._orders.get()  # the folder goes when its files have been read
        except MovedOn:
            pass
        except TcplabError as error:
            self.error = error
        finally:
            self.ready.set()
            self.over.set()

    def tell(self, order: Any, seed: int) -> None:
        self._orders.put(ordered(order, seed))

    def end(self) -> None:
        self._orders.put(None)

    def _go_on(self, _phase: str, _elapsed: float) -> None:
        if not self._orders.empty():
            raise MovedOn


class GuestPool:
    """Guests that wait, each for any seed; a context manager, which ends them.

    One boots at a time, and none during a run or soon after, unless all are taken.
    """

    def __init__(self, lab: Lab, processors: list[int], size: int) -> None:
        self._lab, self._processors, self._size = lab, processors, size
        self._limits = limits_for(PlaySettings().spec(), WALL_SECONDS)
        self._guests: list[WaitingGuest] = []
        self._all: list[WaitingGuest] = []
        self._lock = threading.Lock()
        self._started, self._used = 0, float("-inf")
        self._playing = 0
        self._closed, self._taken = threading.Event(), threading.Event()
        self._filler = threading.Thread(target=self._keep_full, name="guests", daemon=True)

    def __enter__(self) -> GuestPool:
        self._filler.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._closed.set()
        self._taken.set()
        with self._lock:
            every = self._all
        for guest in every:
            guest.end()
        for guest in every:
            guest.join()
        self._filler.join()

    def take(self, limits: Limits) -> WaitingGuest:
        """Return the guest that waits longest, or a new one; each needs `fill_soon`."""
        with self._lock:
            is_fit = bool(self._guests) and limits.memory_mib == self._limits.memory_mib
            guest = self._guests.pop(0) if is_fit else self._boot(limits)
            self._playing += 1
            return guest

    def boot(self, limits: Limits) -> WaitingGuest:
        with self._lock:
            return self._boot(limits)

    def fill_soon(self) -> None:
        """End a run: boot the missing guests after a pause, or at once if none is left."""
        with self._lock:
            self._playing -= 1
            self._used = time.monotonic()
        self._taken.set()

    def _keep_full(self) -> None:
        while not self._closed.is_set():
            self._taken.clear()
            if guest := self._next_guest():
                guest.ready.wait()
            else:
                self._taken.wait(_QUIET if len(self._guests) < self._size else None)

    def _next_guest(self) -> WaitingGuest | None:
        with self._lock:
            self._guests = [guest for guest in self._guests if not guest.over.is_set()]
            is_quiet = not self._playing and time.monotonic() - self._used >= _QUIET
            is_short = len(self._guests) < self._size and (is_quiet or not self._guests)
            if self._closed.is_set() or not is_short:
                return None
            self._guests.append(self._boot(self._limits))
            return self._guests[-1]

    def _boot(self, limits: Limits) -> WaitingGuest:
        processor = self._processors[self._started % len(self._processors)]
        self._started += 1
        guest = WaitingGuest(self._lab, limits, processor)
        guest.start()
        self._all = [*filter(WaitingGuest.is_alive, self._all), guest]
        return guest
