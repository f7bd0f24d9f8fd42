"""The live page in a notebook's cell, with its run as data frames."""

import asyncio
import threading
from typing import Any
from urllib.parse import urlencode

import anywidget
import traitlets

from analysis.table import ColumnTable
from experiments.play.columns import Frame, PlayEvent, joined
from experiments.play.lesson import all_lessons
from experiments.play.player import Player
from experiments.play.server import PAGE, PageOffer, whole_page
from experiments.play.session import Move, PageSession
from experiments.play.settings import PlaySettings
from testbed.host.processes import allowed_processors


class PlayWidget(anywidget.AnyWidget):
    """The page in a cell; `frame` and `events` are of the newest run. `close()` ends its guests."""

    _esm = PAGE / "cell.mjs"
    page = traitlets.Unicode().tag(sync=True)
    offer = traitlets.Dict().tag(sync=True)

    def __init__(self, settings: PlaySettings, player: Player) -> None:
        offer = PageOffer(all_lessons()).as_data() | {"link": f"#{urlencode(settings.as_data())}"}
        super().__init__(page=whole_page(), offer=offer)
        self._settings, self._player = settings, player
        self._number, self._frames = -1, dict[str, list[Frame]]()
        self.events: list[PlayEvent] = []
        self._channel = NotebookChannel(self)
        self.on_msg(lambda _, content, __: self._channel.take(content["text"]))
        self._thread = threading.Thread(target=self._converse, daemon=True)
        self._thread.start()

    @property
    def frame(self) -> dict[str, Any]:
        """Return the newest run by kind, as data frames. Raises UsageError without a library."""
        whole = {kind: joined(frames).columns for kind, frames in self._frames.items()}
        try:
            import pandas
        except ImportError:
            return {kind: ColumnTable.of(**each).to_polars() for kind, each in whole.items()}
        return {kind: pandas.DataFrame(columns) for kind, columns in whole.items()}

    def close(self) -> None:
        self._channel.take(None)
        self._thread.join()
        super().close()

    def _converse(self) -> None:
        async def session() -> None:
            turns = asyncio.Semaphore(allowed_processors())
            await PageSession(self._player, turns, self._channel, self._listen).converse()

        with asyncio.Runner(loop_factory=lambda: self._channel.loop) as runner, self._player:
            runner.run(session())

    def _listen(self, move: Move, heard: Frame | PlayEvent) -> None:
        if move.number != self._number:
            self._number, self._frames, self.events = move.number, {}, []
        if isinstance(heard, PlayEvent):
            self.events.append(heard)
        elif heard.kind == "band":
            self._frames[heard.kind] = [heard]
        else:
            self._frames.setdefault(heard.kind, []).append(heard)


class NotebookChannel:
    """Channel to a cell's page, which sends in the notebook's thread; replies use another."""

    def __init__(self, widget: PlayWidget) -> None:
        self._widget = widget
        self.loop = asyncio.new_event_loop()  # here, so that it takes messages before it runs
        self._inbox = asyncio.Queue[str | None]()

    def take(self, text: str | None) -> None:
        """Take a message of the page, or its end; from any thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._inbox.put_nowait, text)

    async def receive(self) -> str | None:
        return await self._inbox.get()

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self._widget.send({}, buffers=[message])
        else:
            self._widget.send({"text": message})
