"""A server of the live page that runs while a test does, and a browser's first request to it."""

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from experiments.play.player import Player
from experiments.play.server import PageOffer, PlayServer
from experiments.reporting.browsing import LocalServer

HANGING = 60  # seconds after which something is taken to never come
NO_LESSONS = PageOffer()


@contextmanager
def served(player: Player, offer: PageOffer = NO_LESSONS) -> Iterator[str]:
    """The address, with its token, of a server that runs meanwhile."""
    with PlayServer(player, offer) as server, running(server):
        yield server.address


@contextmanager
def running(server: LocalServer) -> Iterator[None]:
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield
    finally:
        server.end()
        thread.join(HANGING)
        assert not thread.is_alive()


class Entered(NamedTuple):
    """A browser that has opened the address once: the page's clean one, and the cookie."""

    page: str
    cookie: str

    @property
    def origin(self) -> str:
        return self.page.rsplit("/", 2)[0]

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie}


def fetched(address: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    """An answer, whose text is in `data`."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.netloc, timeout=HANGING)
    target = f"{place.path}?{place.query}" if place.query else place.path
    connection.request("GET", target, headers=headers or {})
    answer = connection.getresponse()
    answer.data = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def entered(address: str) -> Entered:
    """What a browser knows after the first request."""
    answer = fetched(address)
    assert answer.status == 303
    cookie = str(answer.getheader("set-cookie")).partition(";")[0]
    return Entered(address.partition("?")[0], cookie)


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(HANGING * 100):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")
