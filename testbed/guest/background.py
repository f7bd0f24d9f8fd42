"""Work in a thread that ends with its `with` block and whose failure is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def in_background(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work(stop)` in a thread during the block, and raise at the end what it raised.

    `work` must return soon after `stop` is set.
    """
    stop = threading.Event()
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
    if failures:
        raise failures[0]
