"""Work in a thread that ends with its `with` block and whose failure is not lost."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """What tells work to end. A pipe: to wait for threading.Event takes nine system calls.

    A guest makes each of them through its kernel, also those that only read the clock.
    """

    def __init__(self) -> None:
        self._heard, self._told = os.pipe()
        self._watched = select.poll()
        self._watched.register(self._heard, select.POLLHUP)

    def wait(self, seconds: float) -> bool:
        """Whether the work has to end; waits for that as long as `seconds`."""
        return bool(self._watched.poll(1000 * seconds))

    def set(self) -> None:
        """The work has to end now."""
        os.close(self._told)

    def close(self) -> None:
        """Nobody waits any more."""
        os.close(self._heard)


@contextmanager
def in_background(name: str, work: Callable[[Stop], None]) -> Iterator[None]:
    """Run `work(stop)` in a thread during the block, and raise at the end what it raised.

    `work` must return soon after `stop` is set.
    """
    stop = Stop()
    failures: list[Exception] = []

    def guarded() -> None:
        try:
            work(stop)
        except Exception as error:  # raised again below: a thread's own error would go unseen
            failures.append(error)

    thread = threading.Thread(target=guarded, name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        stop.close()
    if failures:
        raise failures[0]
