"""Guests that carry one seed after the other: booting and building the network is half a run.

The start line makes the packets of a seed the same in a guest that has carried others
(testbed.guest.start_line). A guest is kept by the thread that started it, for orders of the same
network, and killed when the thread wants another or `keeping_guests` ends. Between two orders it
rests, and what it left in its folder is checked as at the end of a guest.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.guest.job_entry import LOG
from testbed.host.capacity import claimed_processor
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE, Limits, Progress, Usage, usage_of
from testbed.virtual.guest import RunningGuest, give, take_back
from testbed.virtual.run import guest_ahead, ordered
from testbed.virtual.sandbox import ordinary_user

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

_GROWING = (CONSOLE, LOG)  # files that the guest holds open
_MOST_ORDERS = 50  # then its memory is filled with what it kept
_SHARE = 0.2  # of the processor time after which its kernel would be ended, as for one run


@dataclass
class _KeptGuest:
    """A guest that waits for orders on the network `key`, and how much of its logs is known."""

    key: str
    running: RunningGuest
    folder: Path
    known: dict[str, int] = field(default_factory=dict)
    orders: int = 0
    cpu_seconds: float = 0.0

    def is_spent(self) -> bool:
        """Return whether it has carried so much that another one has to follow."""
        most = _SHARE * self.running.bounds.limits.wall_seconds
        return self.orders >= _MOST_ORDERS or self.cpu_seconds > most

    def carry(self, order: Any, out: Path, progress: Progress) -> Usage:
        """Carry an order out, with its results in `out`. Raises TcplabError, and is of no use."""
        try:
            ended = self.running.carry(order, progress)
        finally:
            take_back(self.folder, give(self.folder, ordinary_user()))
            self._hand_out(out)
        give(self.folder, ordinary_user())
        self.orders += 1
        self.cpu_seconds += ended.taken.cpu
        return usage_of(ended, out)

    def _hand_out(self, out: Path) -> None:
        for file in sorted(self.folder.iterdir()):
            if file.name not in _GROWING:
                shutil.move(file, out / file.name)
                continue
            content = file.read_bytes()[self.known.get(file.name, 0) :]
            self.known[file.name] = self.known.get(file.name, 0) + len(content)
            (out / file.name).write_bytes(content)


class GuestKeeper:
    """The guests of threads that have joined, one each."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[ExitStack] = []

    def join(self) -> None:
        """Keep the guests of the calling thread too, until `keeping_guests` ends."""
        _joined.keeper = self

    def carry(
        self,
        lab: Lab,
        module: str,
        known: Any,
        order: Any,
        seed: int,
        out: Path,
        progress: Progress,
        limits: Limits,
    ) -> Usage:
        """Carry out an order in a guest that knows `known`, used or new. Raises TcplabError."""
        key = json.dumps([lab.digests, module, known, repr(limits)], sort_keys=True)
        guest = getattr(self._own, "guest", None)
        if guest is None or guest.key != key or guest.is_spent():
            self.forget()
            guest = self._own.guest = self._started(key, lab, module, known, limits)
        try:
            return guest.carry(ordered(order, seed, last=False), out, progress)
        except BaseException:
            self.forget()
            raise

    def _started(self, key: str, lab: Lab, module: str, known: Any, limits: Limits) -> _KeptGuest:
        with ExitStack() as starting:
            folder = starting.enter_context(scratch())
            processor = starting.enter_context(claimed_processor())
            running = starting.enter_context(
                guest_ahead(lab, module, known, folder, limits, processor)
            )
            self._own.stack = starting.pop_all()
        self._all.append(self._own.stack)
        return _KeptGuest(key, running, folder)

    def forget(self) -> None:
        """End the thread's guest, if it has one."""
        self._own.guest = None
        if stack := getattr(self._own, "stack", None):
            self._own.stack = None
            self._all.remove(stack)
            stack.close()

    def end(self) -> None:
        """End the guests of all threads."""
        with ExitStack() as all_of_them:
            for stack in self._all:
                all_of_them.push(stack)


_joined = threading.local()


@contextmanager
def keeping_guests() -> Iterator[GuestKeeper]:
    """Keep guests of this thread, and of those that join, which carry no order by the end."""
    keeper, before = GuestKeeper(), getattr(_joined, "keeper", None)
    keeper.join()
    try:
        yield keeper
    finally:
        _joined.keeper = before
        keeper.end()


@contextmanager
def guest_keeper() -> Iterator[GuestKeeper]:
    """Provide what keeps this thread's guests; if they are not kept, for the block alone."""
    if keeper := getattr(_joined, "keeper", None):
        yield keeper
        return
    with keeping_guests() as alone:
        yield alone
