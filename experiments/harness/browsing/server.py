"""A server for browsers of this computer: on 127.0.0.1, by its own name, with few connections.

The name in Host is checked, so that no page of the web can reach a server by a name that leads to
127.0.0.1 (DNS rebinding).

A way to an address with a token that keeps it from other users: a private file that redirects.

The command line of a browser is in /proc, for every user of the computer to read. So the browser
opens a file that only its user can read, as Jupyter does, and finds the address there.
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Self

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol

from testbed.host.scratch import scratch
from topologies.foundation.errors import TcplabError

HOST = "127.0.0.1"
REFUSED = 1008
"""Close code of a WebSocket whose page or message is refused (RFC 6455, 7.4.1)."""
MOST_CONNECTIONS = 128
"""Connections of one server; a browser opens six and one for each page."""
_NAMED = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{1,5}))?", re.IGNORECASE)
_LAST_PORT = 65535
_LONGEST_MESSAGE = 1 << 16
"""Bytes of a WebSocket message; a link that changes often is its longest part."""
_ENDING = 10
"""Seconds in which open requests must end when the server ends; they need milliseconds."""
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

        uvicorn ends at Ctrl-C and SIGTERM, then sends itself the signal again. The program must
        leave then as after any other error, so that what it has started is ended.
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
        if scope["type"] not in ("http", "websocket") or _is_named(scope):
            await self._inner(scope, receive, send)
        else:
            sentence = "This server answers to the names 127.0.0.1 and localhost only."
            await refuse(sentence, scope, receive, send)


def _is_named(scope: Scope) -> bool:
    names = Headers(scope=scope).getlist("host")
    named = _NAMED.fullmatch(names[0]) if len(names) == 1 else None
    return named is not None and int(named[1] or 0) <= _LAST_PORT


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
        """Return True if no request is being answered; WebSockets have left this class."""
        return self.cycle is None or self.cycle.response_complete

    def refuse(self) -> None:
        """Answer 503 with a sentence, and close."""
        self.connections.discard(self)
        head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close"
        self.transport.write(f"{head}\r\nContent-Length: {len(_FULL)}\r\n\r\n{_FULL}".encode())
        self.transport.close()


_SNAPS = Path("/snap")
_TEXT = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>tcplab</title>
<p><a href="{address}">Open the page</a></p>
</html>
"""


@contextmanager
def opened_in_browser(address: str, failed: Callable[[], None]) -> Iterator[None]:
    """Open `address` in the user's browser, by a file that is removed afterwards.

    Calls `failed`, from a thread, if no browser could be started.
    """
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

    A browser that is a snap has a /tmp of its own and sees no hidden folders. It can read the
    visible folders of the home (https://github.com/jupyter/notebook/issues/4500).
    """
    if _SNAPS.is_dir():
        try:
            return TemporaryDirectory(prefix="tcplab-play-", dir=Path.home())
        except (OSError, RuntimeError):  # the home is missing, or cannot be written to
            pass
    return scratch()
