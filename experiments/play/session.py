"""Session of one open page, and its messages.

The page sends JSON texts: `play`, `seeds`, `save` and `stop`, each with a side and a growing
number. It receives JSON texts with a `kind`, and frames as binary messages: the length of a header
(four bytes, least significant first), the header as JSON, then the columns one after the other.
Each part is padded to eight bytes, so that a browser can view the columns in place.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np

from experiments.play.columns import Frame, PlayEvent
from experiments.play.guests import MovedOn
from experiments.play.player import Player, measures_of
from experiments.play.settings import PlaySettings, WrongSetting
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value

_MOST_SEEDS = 100
_LARGEST = 8  # bytes of the largest number of a column; every column begins at a multiple of them


class Move(msgspec.Struct, frozen=True):
    """Request of a page for one of its sides, with a running number; with `seeds` for a band."""

    ask: Literal["play", "seeds", "save"]
    side: Literal["A", "B"]
    number: int
    settings: dict[str, str]
    seeds: Annotated[int, msgspec.Meta(ge=0, le=_MOST_SEEDS)] = 0


def move_from(text: str) -> Move:
    """Read a move from a page's message. Raises UsageError for an invalid message."""
    try:
        return msgspec.convert(json_value(text), Move)
    except ValueError as error:  # also msgspec.ValidationError
        raise UsageError(f"No message of the page: {error}", "Load the page again.") from None


def frame_message(move: Move, frame: Frame) -> bytes:
    """Write a frame as one binary message."""
    columns = {name: np.ascontiguousarray(column) for name, column in frame.columns.items()}
    header = {
        "kind": frame.kind,
        "side": move.side,
        "number": move.number,
        "columns": [
            {"name": name, "type": str(column.dtype), "length": len(column)}
            for name, column in columns.items()
        ],
    }
    text = json.dumps(header).encode()
    text += b" " * (-(4 + len(text)) % _LARGEST)
    parts = [len(text).to_bytes(4, "little"), text]
    for column in columns.values():
        data = column.tobytes()
        parts += [data, bytes(-len(data) % _LARGEST)]
    return b"".join(parts)


class PageChannel(Protocol):
    """A connection to a page: a web socket, or a notebook."""

    async def receive(self) -> str | None:
        """Return the page's next message; None when it has left."""

    async def send(self, message: str | bytes) -> None: ...


Listener = Callable[[Move, Frame | PlayEvent], None]
"""Further receiver of the frames and events of a page, in the thread of the run."""


class PageSession:
    """Runs of one page: at most one of each side. `turns` are the processors of all pages."""

    def __init__(
        self,
        player: Player,
        turns: asyncio.Semaphore,
        channel: PageChannel,
        listen: Listener = lambda _move, _heard: None,
    ) -> None:
        self._player, self._turns, self._channel, self._told = player, turns, channel, listen
        self._outbox = asyncio.Queue[tuple[Move, str | bytes]]()
        self._sides = {name: PageSide(self._run) for name in ("A", "B", "save")}
        self._loop = asyncio.get_running_loop()

    async def converse(self) -> None:
        """Serve the page until it leaves. Raises an ExceptionGroup."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(side.work()) for side in self._sides.values()]
            workers.append(group.create_task(self._deliver()))
            while (text := await self._channel.receive()) is not None:
                move = move_from(text)
                self._sides["save" if move.ask == "save" else move.side].take(move)
            for worker in workers:
                worker.cancel()

    async def _deliver(self) -> None:
        while True:
            move, text = await self._outbox.get()
            if move.ask == "save" or not self._sides[move.side].is_replaced(move):
                await self._channel.send(text)

    def _say(self, move: Move, kind: str, **more: Any) -> None:
        mark = {"kind": kind, "side": move.side, "number": move.number}
        self._send(move, json.dumps(mark | more, allow_nan=False, default=float))

    def _send(self, move: Move, message: str | bytes) -> None:
        self._loop.call_soon_threadsafe(self._outbox.put_nowait, (move, message))

    async def _run(self, side: PageSide) -> None:
        async with self._turns:
            move = side.begin()
            try:
                settings = PlaySettings.from_data(move.settings)
                full, command = settings.as_data(), settings.command()
                self._say(move, "accepted", settings=full, command=command)
                await _in_thread(lambda: self._perform(move, settings, side.ended), side.ended)
            except MovedOn:
                self._say(move, "stopped")
            except TcplabError as error:
                field = error.field if isinstance(error, WrongSetting) else ""
                self._say(move, "problem", field=field, sentence=str(error))

    def _perform(self, move: Move, settings: PlaySettings, ended: threading.Event) -> None:
        if move.ask == "save":
            path = self._player.save(settings)
            self._say(move, "saved", path=str(path))
            return
        events: list[PlayEvent] = []

        def hear(heard: Frame | PlayEvent) -> None:
            self._told(move, heard)
            if isinstance(heard, PlayEvent):
                events.append(heard)
                said = asdict(heard)
                self._say(move, "event", event=said.pop("kind"), **said)
            else:
                self._send(move, frame_message(move, heard))

        if move.ask == "seeds":
            self._player.seeds(settings, move.seeds, hear, ended)
            self._say(move, "banded")
            return
        outcome = self._player.play(settings, hear, ended)
        measures = measures_of(outcome, events)
        self._say(move, "outcome", measures=measures, **asdict(outcome))


class PageSide:
    """The newest move of one side, and its current run."""

    def __init__(self, run: Callable[[PageSide], Awaitable[None]]) -> None:
        self._run = run
        self._newest: Move | None = None
        self._moved = asyncio.Event()
        self._running: Move | None = None
        self.ended = threading.Event()

    def take(self, move: Move) -> None:
        """Take a newer move, and end the run; a slider that is released repeats its last number."""
        if self._running and move.number == self._running.number:
            return
        self._newest = move
        self._moved.set()
        self.ended.set()

    def begin(self) -> Move:
        assert self._newest
        self._moved.clear()
        self._running = self._newest
        self.ended = threading.Event()
        return self._newest

    def is_replaced(self, move: Move) -> bool:
        ended = self._newest is not move and self.ended.is_set()
        return ended or self._running is not move

    async def work(self) -> None:
        while True:
            await self._moved.wait()
            await self._run(self)


async def _in_thread(work: Callable[[], None], ended: threading.Event) -> None:
    """Wait for the thread even if cancelled: it is asked to end, and never outlives the task."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        ended.set()
        await asyncio.wait([thread])
        thread.exception()  # asyncio prints errors that are never retrieved
        raise
