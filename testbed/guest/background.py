"""Work beside other work: a thread that ends with the block it belongs to, and whose failure is not
lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def in_background(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work(stop)` in a thread meanwhile; it must return soon after `stop` is set. Raises what
    it raised.
    """
    stop = threading.Event()
    failures: list[Exception] = []

    def guarded() -> None:
        try:
            work(stop)
        except Exception as error:  # raised again below: nobody sees a thread's own
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
