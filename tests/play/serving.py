"""A server of the live page that runs while a test does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.play.offer import PageOffer
from experiments.play.player import Player
from experiments.play.server import PlayServer

HANGING = 60
"""Seconds after which something is taken to never come."""
NO_LESSONS = PageOffer()


@contextmanager
def served(player: Player, offer: PageOffer = NO_LESSONS) -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    server = PlayServer(player, offer)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.address
    finally:
        server.end()
        thread.join(HANGING)
        assert not thread.is_alive()


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(HANGING * 100):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")
