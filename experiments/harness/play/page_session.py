"""One open page: its moves become runs, the newest of each side, and the runs' frames go to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Protocol

from experiments.harness.play.events import PlayEvent
from experiments.harness.play.measures import measures_of
from experiments.harness.play.page_messages import (
    Move,
    accepted_message,
    event_message,
    frame_message,
    move_from,
    outcome_message,
    plain_message,
    problem_message,
)
from experiments.harness.play.played_columns import Frame
from experiments.harness.play.player import Player
from experiments.harness.play.settings import PlaySettings
from experiments.harness.play.turns import Turns
from experiments.harness.play.waiting import MovedOn
from topologies.foundation.errors import TcplabError

PATIENCE = 0.3
"""Seconds of a run that moves of a slider which is still being dragged do not cut short."""


class PageChannel(Protocol):
    """What a page is reached by: a web socket, or a notebook."""

    async def receive(self) -> str | None:
        """The page's next message; None when it is gone."""

    async def send(self, message: str | bytes) -> None: ...


Listener = Callable[[Move, Frame | PlayEvent], None]
"""Who else hears what a page is sent, in the thread of the run."""


def _nobody(_: Move, __: Frame | PlayEvent) -> None:
    pass


class PageSession:
    """The runs of one page, at most one at a time of each side, and none when it is gone."""

    def __init__(
        self, player: Player, turns: Turns, channel: PageChannel, listen: Listener = _nobody
    ) -> None:
        self._player, self._turns, self._channel, self._told = player, turns, channel, listen
        self._outbox = asyncio.Queue[tuple[Move, str | bytes]]()
        self._sides = {name: PageSide(self._run) for name in ("A", "B", "save")}
        self._loop = asyncio.get_running_loop()

    async def converse(self) -> None:
        """Until the page is gone; its runs have ended then."""
        workers = [asyncio.create_task(side.work()) for side in self._sides.values()]
        workers.append(asyncio.create_task(self._deliver()))
        reading = asyncio.create_task(self._listen())
        try:
            done, _ = await asyncio.wait([reading, *workers], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (reading, *workers):
                task.cancel()
            await asyncio.gather(reading, *workers, return_exceptions=True)
            self._turns.leave(self)

    async def _listen(self) -> None:
        while (text := await self._channel.receive()) is not None:
            move = move_from(text)
            self._sides["save" if move.ask == "save" else move.side].take(move)

    async def _deliver(self) -> None:
        """What is of a run that a newer move has replaced is not sent any more."""
        while True:
            move, message = await self._outbox.get()
            if move.ask == "save" or not self._sides[move.side].is_replaced(move):
                await self._channel.send(message)

    def _say(self, move: Move, message: str | bytes) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._outbox.put_nowait, (move, message))

    async def _run(self, side: PageSide) -> None:
        async with self._turns.turn(self):
            move = side.begin()
            try:
                settings = move.settings()
                self._say(move, accepted_message(move, settings))
                await _in_thread(lambda: self._perform(move, settings, side.ended), side.ended)
            except MovedOn:
                self._say(move, plain_message(move, "stopped"))
            except TcplabError as error:
                self._say(move, problem_message(move, error))

    def _perform(self, move: Move, settings: PlaySettings, ended: threading.Event) -> None:
        """In a thread of its own."""
        if move.ask == "save":
            path = self._player.save(settings)
            self._say(move, plain_message(move, "saved", path=str(path)))
            return
        events: list[PlayEvent] = []

        def hear(heard: Frame | PlayEvent) -> None:
            self._told(move, heard)
            if isinstance(heard, PlayEvent):
                events.append(heard)
                self._say(move, event_message(move, heard))
            else:
                self._say(move, frame_message(move, heard))

        if move.ask == "seeds":
            self._player.seeds(settings, move.seeds, hear, ended)
            self._say(move, plain_message(move, "banded"))
            return
        outcome = self._player.play(settings, hear, ended)
        self._say(move, outcome_message(move, outcome, measures_of(outcome, events)))


class PageSide:
    """The newest move of one side, and the run that is going on."""

    def __init__(self, run: Callable[[PageSide], Awaitable[None]]) -> None:
        self._run = run
        self._newest: Move | None = None
        self._moved = asyncio.Event()
        self._running: Move | None = None
        self._since = 0.0
        self.ended = threading.Event()

    def take(self, move: Move) -> None:
        """A newer move: the run that is going on ends, unless a drag would end each too soon.

        The number of the newest run comes again if a slider is let go where its drag has been.
        """
        if self._running and move.number == self._running.number:
            return
        self._newest = move
        self._moved.set()
        young = asyncio.get_running_loop().time() - self._since < PATIENCE
        if not (move.dragging and young):
            self.ended.set()

    def begin(self) -> Move:
        """The newest move, which is being run from now on."""
        assert self._newest
        self._moved.clear()
        self._running = self._newest
        self._since, self.ended = asyncio.get_running_loop().time(), threading.Event()
        return self._newest

    def is_replaced(self, move: Move) -> bool:
        """Whether a newer move has ended this one's run, or is being run."""
        ended = self._newest is not move and self.ended.is_set()
        return ended or self._running is not move

    async def work(self) -> None:
        while True:
            await self._moved.wait()
            await self._run(self)


async def _in_thread(work: Callable[[], None], ended: threading.Event) -> None:
    """Waits for the thread even if we are cancelled: it is told to end, and nothing outlives us."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        ended.set()
        await asyncio.wait([thread])
        thread.exception()  # nobody is there to hear it: asked for, asyncio does not print it
        raise
