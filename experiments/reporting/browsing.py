"""Servers for browsers of this computer, pages opened in one, and runs compared and listed.

The name in Host is checked against DNS rebinding. An address with a token reaches a browser by a
private file that redirects, as in Jupyter: its command line is in /proc for all users.
"""

import asyncio
import re
import signal
import socket
import string
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Self

import uvicorn
from rich import markup
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol

from analysis.pages.comparison import (
    ComparedSide,
    SideComparison,
    compared,
    print_comparison,
    side_of_points,
    side_of_run,
    write_page,
)
from analysis.pages.comparison import write_index as write_index
from analysis.records.run_directory import index
from experiments.sweep.store import FILE, not_found, results
from testbed.host.scratch import scratch
from topologies.errors import TcplabError, UsageError

HOST = "127.0.0.1"
REFUSED = 1008  # close code of a WebSocket whose page or message is refused (RFC 6455, 7.4.1)
MOST_CONNECTIONS = 128  # connections of one server; a browser opens six and one for each page
_NAMED = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{1,5}))?", re.IGNORECASE)
_LAST_PORT = 65535
_LONGEST_MESSAGE = 1 << 16
"""Bytes of a WebSocket message; a link that changes often is its longest part."""
_ENDING = 10  # seconds in which open requests must end when the server ends; they need milliseconds
_FULL = (
    f"This server has {MOST_CONNECTIONS} connections already: close pages that you do not use.\n"
)


class LocalServer:
    """A server of `application` that listens at once; a context manager that closes its socket."""

    def __init__(self, application: ASGIApp, port: int = 0) -> None:
        """Raises TcplabError if the port is taken. Port 0 is any that is free."""
        try:
            self._socket = socket.create_server((HOST, port))  # early requests wait until `run`
        except OSError as error:
            problem = f"Cannot listen on port {port}: {error.strerror}."
            raise TcplabError(problem, "Choose another with --port.") from None
        self.port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                NameCheck(application),
                log_level="error",  # a malformed request needs no line in the terminal
                access_log=False,
                proxy_headers=False,
                server_header=False,
                http=BoundedProtocol,
                backlog=MOST_CONNECTIONS,
                ws="websockets-sansio",
                ws_max_size=_LONGEST_MESSAGE,
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=_ENDING,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def run(self) -> None:
        """Serve until a signal arrives, or until `end` is called."""
        with self._signals():
            self._server.run(sockets=[self._socket])

    def end(self) -> None:
        """End `run`; from any thread."""
        self._server.should_exit = True

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Let SIGTERM raise SystemExit after the server has ended, and SIGHUP end it too.

        uvicorn sends itself the signal again, which would leave what the program started.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            signal.SIGTERM: signal.signal(signal.SIGTERM, _leave),
            signal.SIGHUP: signal.signal(signal.SIGHUP, lambda *_: self.end()),
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


class NameCheck:
    """A layer that passes on requests to this computer by one of its names, and refuses others."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] in ("http", "websocket")
        names = Headers(scope=scope).getlist("host") if is_asked else []
        named = _NAMED.fullmatch(names[0]) if len(names) == 1 else None
        if not is_asked or (named and int(named[1] or 0) <= _LAST_PORT):
            await self._inner(scope, receive, send)
        else:
            sentence = "This server answers to the names 127.0.0.1 and localhost only."
            await refuse(sentence, scope, receive, send)


async def refuse(sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request by 403 and the sentence, and a WebSocket by its end."""
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).close(REFUSED)
    else:
        await PlainTextResponse(f"{sentence}\n", 403)(scope, receive, send)


class BoundedProtocol(H11Protocol):
    """A connection. One too many closes an idle one: first those that never had a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            ours = (each for each in self.connections if isinstance(each, BoundedProtocol))
            idle = (each for each in ours if each.is_idle())
            min(idle, key=lambda each: (each.cycle is not None, each.since)).refuse()

    def is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def refuse(self) -> None:
        """Answer 503 with a sentence, and close."""
        self.connections.discard(self)
        head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close"
        self.transport.write(f"{head}\r\nContent-Length: {len(_FULL)}\r\n\r\n{_FULL}".encode())
        self.transport.close()


_SNAPS = Path("/snap")
_TEXT = Path(__file__).with_name("open.html").read_text(encoding="utf-8")


@contextmanager
def opened_in_browser(address: str, failed: Callable[[], None]) -> Iterator[None]:
    """Open `address` in the browser by a file; calls `failed`, from a thread, if none starts."""
    with _private_folder() as name:
        file = Path(name) / "open.html"
        file.touch(mode=0o600)
        file.write_text(_TEXT.format(address=escape(address)), encoding="utf-8")

        def start() -> None:
            if not webbrowser.open(file.as_uri()):
                failed()

        # Some browsers of $BROWSER return when they are closed, and need the server until then.
        threading.Thread(target=start, daemon=True).start()
        yield


def _private_folder() -> AbstractContextManager[Path | str]:
    """Provide a folder with mode 0700 that the browser can read.

    A snap has a /tmp of its own, and sees visible folders of the home only (jupyter/notebook#4500).
    """
    if _SNAPS.is_dir():
        try:
            return TemporaryDirectory(prefix="tcplab-play-", dir=Path.home())
        except (OSError, RuntimeError):  # the home is missing, or cannot be written to
            pass
    return scratch()


_MOST = len(string.ascii_uppercase)
_FOLDER = "comparisons"


def compare_sides(which: Sequence[str], out: Path, console: Console) -> tuple[SideComparison, Path]:
    """Print the comparison and write its page. Raises UsageError for an unknown run or point."""
    comparison = compared(_sides(which, out))
    # A page named by its sides, so that a comparison keeps its page.
    names = (side.name.replace("/", "-").replace(" ", "-") for side in comparison.sides)
    page = write_page(comparison, out / _FOLDER, "_".join(names)[:200] + ".html")
    print_comparison(comparison, console)
    console.print(f"Page: {page}", highlight=False, soft_wrap=True)
    return comparison, page


def _sides(named: Sequence[str], out: Path) -> list[ComparedSide]:
    which = _once(named, out)
    if not 2 <= len(which) <= _MOST:
        problem = f"compare needs 2 to {_MOST} different runs; got {len(which)}."
        raise UsageError(problem, "Name runs or points: ./tcplab compare runs/sack/A runs/sack/B.")
    return [_side(letter, one, out) for letter, one in zip(string.ascii_uppercase, which)]  # noqa: B905


def _once(named: Sequence[str], out: Path) -> list[str]:
    """Drop repeated folders: runs/sack/* names the newest also as `latest`."""
    firsts: dict[Path, str] = {}
    for one in named:
        places = [folder.resolve() for folder in _folders(one, out) if folder.is_dir()]
        firsts.setdefault(places[0] if places else Path(one), one)
    return list(firsts.values())


def _folders(named: str, out: Path) -> tuple[Path, Path]:
    return Path(named), out / named


def _side(letter: str, named: str, out: Path) -> ComparedSide:
    for folder in _folders(named, out):
        if (folder / "sweep.json").exists():
            remedy = "Name points of it by their keys, which are in the column `point` of rows.csv."
            raise UsageError(f"'{named}' is a sweep.", remedy)
        if (folder / "manifest.json").exists():
            return side_of_run(letter, folder)
    return _side_of_points(letter, named, out)


def _side_of_points(letter: str, beginning: str, out: Path) -> ComparedSide:
    if not (out / FILE).exists():
        raise not_found(beginning)
    with results(out) as memory:
        kept, _ = memory.single(beginning)
        asked = (kept.experiment, kept.combination, kept.origin)
        alike = [
            each
            for each in memory.listed()
            if (each.experiment, each.combination, each.origin) == asked
            and each.status == "complete"
        ]
        records = memory.records(each.key for each in alike)
        rows = [(each.seed, records[each.key]["rows"]) for each in alike]
    settings = {"experiment": kept.experiment, **kept.combination}
    return side_of_points(letter, kept.key[:12], settings, rows)


def folders(out: Path) -> list[Path]:
    return [out / line.name for line in index(out)]


def runs_table(out: Path) -> Table:
    """Make the table of runs; the first column is as wide as the longest name."""
    lines = index(out)
    table = Table(title=f"Runs in {out}", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    longest = max((len(line.name) for line in lines), default=0)
    table.add_column("run, and what was asked", min_width=longest)
    table.add_column("figure", max_width=12)
    for name in ("claim", "network"):
        table.add_column(name, min_width=9, max_width=12)
    for line in lines:
        seeds = f"{line.seeds:,} seeds" if line.seeds > 1 else ""
        asked = ", ".join(filter(None, (line.parameters, seeds)))
        state = line.network if line.status == "complete" else line.status
        told = (line.figure, line.verdict, state)
        table.add_row(
            f"{markup.escape(line.name)}\n[dim]{markup.escape(asked)}[/dim]",
            *map(markup.escape, told),
        )
    return table
