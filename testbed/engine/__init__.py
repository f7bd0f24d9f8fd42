"""Many guests at once: tasks, their results, and an engine of threads on this machine."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from threading import Event
from typing import Any

from testbed.lab.ready import Lab
from testbed.virtual.run import GuestKeeper, keeping_guests
from topologies.errors import TcplabError


class Stopped(Exception):
    """The task is not wanted any more."""


@dataclass(frozen=True)
class Task:
    """`function(*arguments, lab, progress)` for a worker. Equal keys stand for equal results."""

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Done:
    """The outcome of a task: its value, or the error and its traceback."""

    key: str
    value: Any = None
    error: BaseException | None = None
    trace: str = ""

    def result(self) -> Any:
        """Return the value, or the TcplabError that ended the task. Raises what is a bug."""
        if self.error and not isinstance(self.error, TcplabError):
            raise self.error
        return self.error or self.value


class Listener:
    """The progress of tasks, from any thread, which this class ignores; subclasses show it."""

    def running(self, key: str, phase: str, elapsed: float) -> None:
        """A task is at this phase, and this many seconds on its own clock."""

    def note(self, text: str) -> None:
        """News for people."""


_AHEAD = 2  # tasks for each slot that are taken at once, so that no slot waits for the caller


@dataclass
class Engine:
    """`slots` threads that run tasks; `stop` ends them with their guests."""

    lab: Lab
    slots: int
    listener: Listener
    keeper: GuestKeeper
    stop: Event = field(default_factory=Event)
    # Not concurrent.futures.wait: a Ctrl-C in it may leave the lock of a future taken, for which
    # its thread then waits for ever.
    _ended: SimpleQueue[Future[Any]] = field(default_factory=SimpleQueue)

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Yield the results as they come. What still runs ends if the caller goes away."""
        waiting, pending = iter(tasks), dict[Future[Any], str]()
        pool = ThreadPoolExecutor(self.slots, "guest", self.keeper.join)

        def submit() -> None:
            for task in islice(waiting, _AHEAD * self.slots - len(pending)):
                future = pool.submit(self._perform, task)
                pending[future] = task.key
                future.add_done_callback(self._ended.put)

        try:
            submit()
            while pending:
                future = self._ended.get()
                key = pending.pop(future)
                submit()
                if error := future.exception():
                    trace = "".join(traceback.format_exception(error)).strip()
                    yield Done(key, error=error, trace=trace)
                else:
                    yield Done(key, future.result())
        finally:
            self.stop.set()
            pool.shutdown(cancel_futures=True)

    def _perform(self, task: Task) -> Any:
        def tell(phase: str, elapsed: float) -> None:
            if self.stop.is_set():
                raise Stopped(task.key)
            self.listener.running(task.key, phase, elapsed)

        return task.function(*task.arguments, self.lab, tell)


@contextmanager
def local_engine(lab: Lab, slots: int, listener: Listener) -> Iterator[Engine]:
    """Provide an engine of `slots` parallel guests on this machine; all are ended afterwards."""
    with keeping_guests() as keeper:
        engine = Engine(lab, slots, listener, keeper)
        try:
            yield engine
        finally:
            engine.stop.set()
