"""The engine of one machine: a thread for each guest that may run at once.

Guests are processes of their own, so a thread has little to do but wait for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import Any

from testbed.engine.tasks import Done, Engine, Listener, Stopped, Task
from testbed.lab.ready import Lab

_AHEAD = 2  # tasks for each slot that are taken at once, so that no slot waits for the caller


@dataclass
class _ThreadEngine:
    """An engine of `slots` threads, which `stop` ends with their guests."""

    lab: Lab
    slots: int
    listener: Listener
    stop: Event = field(default_factory=Event)

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """The results as they come (testbed.engine.tasks.Engine)."""
        waiting, pending = iter(tasks), dict[Future[Any], Task]()
        pool = ThreadPoolExecutor(self.slots, thread_name_prefix="guest")
        try:
            self._submit(pool, waiting, pending)
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    task = pending.pop(future)
                    self._submit(pool, waiting, pending)
                    yield _outcome(task, future)
        finally:
            self.stop.set()
            pool.shutdown(cancel_futures=True)

    def _submit(
        self, pool: ThreadPoolExecutor, waiting: Iterator[Task], pending: dict[Future[Any], Task]
    ) -> None:
        for task in islice(waiting, _AHEAD * self.slots - len(pending)):
            pending[pool.submit(self._perform, task)] = task

    def _perform(self, task: Task) -> Any:
        def tell(phase: str, elapsed: float) -> None:
            if self.stop.is_set():
                raise Stopped(task.key)
            self.listener.running(task.key, phase, elapsed)

        return task.function(*task.arguments, self.lab, tell)


def _outcome(task: Task, future: Future[Any]) -> Done:
    error = future.exception()
    return Done.failed(task.key, error) if error else Done(task.key, future.result())


@contextmanager
def local_engine(lab: Lab, slots: int, listener: Listener) -> Iterator[Engine]:
    """An engine on this machine with `slots` guests at once; none of them is left afterwards."""
    engine = _ThreadEngine(lab, slots, listener)
    try:
        yield engine
    finally:
        engine.stop.set()
