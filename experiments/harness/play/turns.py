"""Who may run now: as many runs at once as there are processors, and every page in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Turns:
    """A semaphore that is fair between pages: the one that was served longest ago comes next.

    Of one page's moves the newest comes first. To be used in one event loop.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[Hashable, list[asyncio.Future[None]]] = {}
        self._served: dict[Hashable, None] = {}

    @asynccontextmanager
    async def turn(self, page: Hashable) -> AsyncIterator[None]:
        """Waits until `page` may run; what is within is the run."""
        await self._admitted(page)
        try:
            yield
        finally:
            self._free += 1
            self._admit()

    async def _admitted(self, page: Hashable) -> None:
        wish = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(page, []).append(wish)
        self._admit()
        try:
            await wish
        except asyncio.CancelledError:
            self._forget(page, wish)
            raise

    def _admit(self) -> None:
        while self._free and self._waiting:
            order = list(self._served)
            page = min(self._waiting, key=lambda one: order.index(one) if one in order else -1)
            wish = self._waiting[page].pop()
            if not self._waiting[page]:
                del self._waiting[page]
            if wish.cancelled():
                continue
            self._served.pop(page, None)
            self._served[page] = None
            self._free -= 1
            wish.set_result(None)

    def _forget(self, page: Hashable, wish: asyncio.Future[None]) -> None:
        """A page that stopped waiting gives back what it was given meanwhile."""
        if not wish.cancelled():
            self._free += 1
            self._admit()
        elif wish in self._waiting.get(page, ()):
            self._waiting[page].remove(wish)
            if not self._waiting[page]:
                del self._waiting[page]

    def leave(self, page: Hashable) -> None:
        """Forgets a page that is gone."""
        self._served.pop(page, None)
