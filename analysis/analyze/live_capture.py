"""A capture that grows: the terminal's tables kept up to date, or a line now and then."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from types import FrameType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from analysis.analyze import short_numbers
from analysis.analyze.capture_terminal import MOST, show
from analysis.analyze.growing_sources import GrowingSource, growing_source
from analysis.analyze.listed_capture import ListedCapture, of_engine
from analysis.flows.followed import FollowedCapture
from analysis.flows.installed_engines import Engine
from topologies.foundation.errors import TcplabError

_WAIT = 0.2
"""Seconds after which Ctrl-C is noticed at the latest, though nothing comes."""
_LAST = 2.0
"""Seconds that packets which are on their way have to come once Ctrl-C was pressed."""
_SHARE = 10
"""Looks at what was counted take at most one part in so many of the time."""
_BESIDE = 16
"""Lines of the screen that the table of many leaves to its head, the counts and the notes."""
Draw = Callable[[FollowedCapture], None]


def follow(name: str, engine: Engine, interval: float, console: Console) -> ListedCapture:
    """Follows what is called `name` until its end or Ctrl-C; prints and returns the last tables.

    `interval` is in seconds. Raises TcplabError if it cannot be followed, or no more, after the
    tables of what came before.
    """
    capture = FollowedCapture("standard input" if name == "-" else name, engine)
    try:
        with growing_source(name) as source, _asked_to_stop() as is_stopped:
            with _drawing(console) as draw:
                _until_stopped(source, capture, interval, draw, is_stopped)
            _until_nothing_comes(source, capture, is_stopped())
    finally:
        listed, in_all = _listed(capture)
        if listed.file.format:
            show(listed, console, in_all, tells_how=False)
            _tell_forgotten(listed, in_all, console)
    if not listed.file.format:
        raise TcplabError(f"No packets came from {capture.name}.", "Is tcpdump running, with -U?")
    return listed


def _until_stopped(
    source: GrowingSource,
    capture: FollowedCapture,
    interval: float,
    draw: Draw,
    is_stopped: Callable[[], bool],
) -> None:
    due = time.monotonic() + interval
    while not is_stopped() and (octets := source.read(min(interval, _WAIT))) is not None:
        if octets:
            capture.feed(octets)
        if (now := time.monotonic()) >= due:
            draw(capture)
            due = max(due + interval, now + _SHARE * (time.monotonic() - now))


def _until_nothing_comes(source: GrowingSource, capture: FollowedCapture, stopped: bool) -> None:
    """Takes what is on its way; what is then not whole is damage, unless we stopped it."""
    source.stop()
    latest = time.monotonic() + _LAST
    while time.monotonic() < latest:
        octets = source.read(latest - time.monotonic())
        if octets is None:
            break
        capture.feed(octets)
    if not stopped:
        capture.end()


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether the user asked to stop, by Ctrl-C or SIGTERM; a second time interrupts as usual."""
    asked: list[int] = []
    usual = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)
        signal.signal(number, usual[number])

    for number in usual:
        signal.signal(number, ask)
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _drawing(console: Console) -> AbstractContextManager[Draw]:
    return _on_screen(console) if console.is_terminal else _by_lines(console)


@contextmanager
def _on_screen(console: Console) -> Iterator[Draw]:
    """Draws the tables on the terminal's other screen, which vanishes at the end."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda capture: live.update(_tables(capture, console), refresh=True)


@contextmanager
def _by_lines(console: Console) -> Iterator[Draw]:
    """Prints a line a look."""
    yield lambda capture: console.print(Text(_line(capture)), soft_wrap=True)


def _tables(capture: FollowedCapture, console: Console) -> Text:
    """The tables as they are now, with as many connections as the screen holds."""
    listed, in_all = _listed(capture)
    width, height = console.size
    screen = Console(
        file=io.StringIO(), width=width, force_terminal=True, highlight=False, no_color=False
    )
    screen.print(Text("Ctrl-C ends it.", style="dim"))
    if listed.file.format:
        most = max(3, min(MOST, (height - _BESIDE) // 3))
        show(listed, screen, in_all, most, tells_how=False)
        _tell_forgotten(listed, in_all, screen)
    else:
        screen.print(f"No packets came from {capture.name} yet.")
    assert isinstance(screen.file, io.StringIO)
    return Text.from_ansi(screen.file.getvalue())


def _line(capture: FollowedCapture) -> str:
    listed, in_all = _listed(capture)
    file = listed.file
    if file.last is None:
        return "no packets yet"
    at = datetime.fromtimestamp(file.last // 10**9, UTC)
    data, again = (
        sum(sum(listed.column(f"{name}_{way}")) for way in ("a2b", "b2a"))
        for name in ("unique_bytes_sent", "retransmissions")
    )
    return (
        f"{at:%H:%M:%S}  {short_numbers.counted(file.packets, 'packet')},"
        f" {short_numbers.counted(in_all, 'connection')}, {short_numbers.size(data)} (each once),"
        f" {short_numbers.counted(again, 'retransmission')}"
    )


def _listed(capture: FollowedCapture) -> tuple[ListedCapture, int]:
    """What came so far, and the number of all connections."""
    results, file, in_all = capture.columns()
    return of_engine(results, file), in_all


def _tell_forgotten(listed: ListedCapture, in_all: int, console: Console) -> None:
    if forgotten := in_all - listed.height:
        connections = short_numbers.counted(forgotten, "connection")
        console.print(Text(f"Forgotten to save memory: {connections}, those silent longest."))
