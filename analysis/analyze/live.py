"""`analyze --live`: follow a capture or an interface while it grows."""

import io
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import IO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from analysis import fmt
from analysis.analyze.listed import MOST, ListedCapture, of_engine
from analysis.analyze.terminal import show
from analysis.flows.reader import FollowedCapture
from topologies.errors import TcplabError, UsageError

_PIECE = 1 << 20
_POLL = 0.1  # seconds between two looks at a file, which does not tell when it grows
_HEADERS = 256  # octets of each packet that are captured: all headers, also in tunnels
_INTERFACES = Path("/sys/class/net")


_FOLLOW_AGAIN = "The tables above show what came before; start again to follow what is there now."


class GrowingFile:
    """A file that another program appends to. It has no end until it is stopped."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file, self._is_stopped = path, file, False

    def read(self, seconds: float) -> bytes | None:
        """Return octets, none in time, or None at the end. Raises TcplabError for another file."""
        if octets := self._file.read(_PIECE):
            return octets
        if self._is_stopped:
            return None
        opened = os.fstat(self._file.fileno())
        try:
            present = self._path.stat()
        except FileNotFoundError:
            raise TcplabError(f"{self._path} was removed.", _FOLLOW_AGAIN) from None
        if (present.st_dev, present.st_ino) != (opened.st_dev, opened.st_ino):
            raise TcplabError(f"{self._path} was replaced by another file.", _FOLLOW_AGAIN)
        if opened.st_size < self._file.tell():
            raise TcplabError(f"{self._path} was truncated.", _FOLLOW_AGAIN)
        time.sleep(min(seconds, _POLL))
        return b""

    def stop(self) -> None:
        self._is_stopped = True


class GrowingPipe:
    """A pipe, until its writer closes it; perhaps of a tcpdump `process`."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes] | None = None) -> None:
        self._descriptor, self._process = descriptor, process
        self._watched = select.poll()  # select(2) refuses descriptors above 1023
        self._watched.register(descriptor, select.POLLIN)

    def read(self, seconds: float) -> bytes | None:
        if not self._watched.poll(1000 * seconds):
            return b""
        octets = os.read(self._descriptor, _PIECE)
        if not octets and self._process:
            self._process.wait()
        return octets or None

    def stop(self) -> None:
        """Stop tcpdump; another writer, on the same terminal, is stopped by the same Ctrl-C."""
        if self._process:
            self._process.send_signal(signal.SIGINT)


GrowingSource = GrowingFile | GrowingPipe


@contextmanager
def growing_source(name: str) -> Iterator[GrowingSource]:
    """Open standard input (-), a file, a pipe or an interface. Raises TcplabError."""
    path = Path(name)
    if name == "-":
        if sys.stdin.isatty():
            raise UsageError(
                "- reads standard input, and that is this terminal.",
                "For example: sudo tcpdump -U -w - | ./tcplab analyze --live -",
            )
        yield GrowingPipe(sys.stdin.fileno())
    elif path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name the file that grows in it.")
    elif path.exists():
        try:
            file = path.open("rb", buffering=0)
        except OSError as error:
            why = f"{path} cannot be read ({error.strerror})."
            raise TcplabError(why, "Check the path.") from error
        with file:
            yield GrowingFile(path, file) if path.is_file() else GrowingPipe(file.fileno())
    elif name in (interfaces := ["any", *sorted(os.listdir(_INTERFACES))]):
        with _tcpdump(name) as source:
            yield source
    else:
        remedy = f"The interfaces are {', '.join(interfaces)}."
        raise UsageError(f"There is no file and no network interface {name}.", remedy)


@contextmanager
def _tcpdump(interface: str) -> Iterator[GrowingSource]:
    """Run tcpdump on the interface; end it in any case."""
    program = shutil.which("tcpdump")
    if not program:
        raise UsageError(
            "Capturing on an interface needs tcpdump, which is not installed.",
            "Install tcpdump, or follow a file that another host captures.",
        )
    command = [program, "-i", interface, "-U", "-s", str(_HEADERS), "-w", "-"]
    with tempfile.TemporaryFile() as said:
        # A session of its own: Ctrl-C on this terminal reaches it by `stop` alone.
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        ) as process:
            try:
                assert process.stdout
                yield GrowingPipe(process.stdout.fileno(), process)
            finally:
                process.terminate()
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode not in (0, -signal.SIGTERM, -signal.SIGINT):
        raise TcplabError(
            f"tcpdump cannot capture on {interface}: {text.strip()}.",
            f"sudo tcpdump -i {interface} -U -w - | ./tcplab analyze --live -",
        )
    for line in text.splitlines():
        if "dropped" in line and not line.startswith("0 "):
            print(f"tcpdump: {line}", file=sys.stderr)


_WAIT = 0.2  # seconds after which Ctrl-C is noticed at the latest, even without packets
_LAST = 2.0  # seconds that packets which are on their way have to come once Ctrl-C was pressed
_SHARE = 10  # looks at what was counted take at most one part in so many of the time
_OTHER_LINES = 16
"""Lines of the screen that the table of many leaves to its head, the counts and the notes."""


def follow(name: str, interval: float, console: Console) -> ListedCapture:
    """Follow `name` until its end or Ctrl-C; return the last tables. Raises TcplabError."""
    capture = FollowedCapture("standard input" if name == "-" else name)
    try:
        with growing_source(name) as source, _asked_to_stop() as is_stopped:
            with _drawing(console) as draw:
                due = time.monotonic() + interval
                while not is_stopped():
                    if (octets := source.read(min(interval, _WAIT))) is None:
                        break
                    capture.feed(octets)
                    if (now := time.monotonic()) >= due:
                        draw(capture)
                        due = max(due + interval, now + _SHARE * (time.monotonic() - now))
            was_stopped = is_stopped()
            source.stop()
            latest = time.monotonic() + _LAST
            while (left := latest - time.monotonic()) > 0:
                if (octets := source.read(left)) is None:
                    break
                capture.feed(octets)
            if not was_stopped:
                capture.end()  # an incomplete end is damage then
    finally:
        listed = _listed(capture)
        if listed.file.format:
            _show(listed, console, MOST)
    if not listed.file.format:
        raise TcplabError(f"No packets came from {capture.name}.", "Is tcpdump running, with -U?")
    return listed


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Return a flag set by Ctrl-C or SIGTERM; a second signal interrupts as usual."""
    asked: list[int] = []
    usual = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)
        signal.signal(number, usual[number])

    try:
        for number in usual:
            signal.signal(number, ask)
        yield lambda: bool(asked)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


@contextmanager
def _drawing(console: Console) -> Iterator[Callable[[FollowedCapture], None]]:
    """Draw tables on the terminal's alternate screen, which vanishes at the end; else lines."""
    if not console.is_terminal:
        yield lambda capture: console.print(Text(_line(capture)), soft_wrap=True)
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda capture: live.update(_tables(capture, console), refresh=True)


def _tables(capture: FollowedCapture, console: Console) -> Text:
    """Return the tables as they are now, with as many connections as the screen holds."""
    listed = _listed(capture)
    width, height = console.size
    text = io.StringIO()
    screen = Console(file=text, width=width, force_terminal=True, highlight=False, no_color=False)
    screen.print(Text("Ctrl-C ends it.", style="dim"))
    if listed.file.format:
        _show(listed, screen, max(3, min(MOST, (height - _OTHER_LINES) // 3)))
    else:
        screen.print(f"No packets came from {capture.name} yet.")
    return Text.from_ansi(text.getvalue())


def _line(capture: FollowedCapture) -> str:
    listed = _listed(capture)
    file = listed.file
    if file.last is None:
        return "no packets yet"
    at = datetime.fromtimestamp(file.last // 10**9, UTC)
    data, again = (
        sum(sum(listed.column(f"{name}_{way}")) for way in ("a2b", "b2a"))
        for name in ("unique_bytes_sent", "retransmissions")
    )
    return (
        f"{at:%H:%M:%S}  {fmt.counted(file.packets, 'packet')},"
        f" {fmt.counted(listed.in_all or 0, 'connection')}, {fmt.size(data)} (each once),"
        f" {fmt.counted(again, 'retransmission')}"
    )


def _listed(capture: FollowedCapture) -> ListedCapture:
    results, file, in_all = capture.columns()
    return of_engine(results, file, in_all=in_all, is_growing=True)


def _show(listed: ListedCapture, console: Console, most: int) -> None:
    show(listed, console, most=most)
    if forgotten := (listed.in_all or 0) - listed.height:
        connections = fmt.counted(forgotten, "connection")
        console.print(Text(f"Forgotten to save memory: {connections}, those silent longest."))
