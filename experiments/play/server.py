"""The server of the page: on this computer only, behind a word that nobody else knows.

Whoever opens the page needs its address, of which the token is a part. The names in Host and
Origin are checked too, so that no page of the web can reach it by a name that leads to 127.0.0.1
(DNS rebinding).
"""

from __future__ import annotations

import hmac
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from experiments.play.offer import PageOffer
from experiments.play.page_session import PageSession
from experiments.play.page_text import PAGE, plots_module, style
from experiments.play.player import Player
from experiments.play.turns import Turns
from testbed.host.capacity import allowed_processors
from testbed.host.ports import told_if_taken
from topologies.errors import UsageError

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_TOKEN_BYTES = 24
_LONGEST_MESSAGE = 1 << 16
"""Bytes of a page's message; a link that changes often is the longest part of one."""
_ENDING = 10
"""Seconds that runs have to end in when the server ends; they need some milliseconds."""
_REFUSED = 1008
"""The code of a web socket that was closed because of what it said (RFC 6455, 7.4.1)."""
_SAFE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def application(player: Player, token: str, places: int, offered: PageOffer) -> ASGIApp:
    """Everything below `/TOKEN/`; at most `places` runs at once."""
    turns = Turns(places)

    def offer(_: Request) -> Response:
        return JSONResponse(offered.as_data())

    def plots(_: Request) -> Response:
        return Response(plots_module(), media_type="text/javascript")

    def looks(_: Request) -> Response:
        return Response(style(), media_type="text/css")

    async def live(socket: WebSocket) -> None:
        await socket.accept()
        channel = SocketChannel(socket)
        try:
            await PageSession(player, turns, channel).converse()
        except UsageError as error:
            await socket.close(_REFUSED, str(error)[:120])
        except WebSocketDisconnect:
            return

    routes = [
        Route("/offer.json", offer),
        Route("/plots.js", plots),
        Route("/play.css", looks),
        WebSocketRoute("/live", live),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    return Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token)


class SocketChannel:
    """A page behind a web socket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> str | None:
        try:
            return await self._socket.receive_text()
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes, which no page of ours sends
            return None

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)


class Guard:
    """Lets in who was given the address, by its own name, and no page of another site."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._token = inner, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_welcome(scope):
            await self._inner(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(_REFUSED)
        else:
            said = "Open the whole address that tcplab play printed.\n"
            await PlainTextResponse(said, 403, headers=_SAFE)(scope, receive, send)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        asked = scope["path"].split("/")[1]
        by_name = urlsplit(f"//{headers.get('host', '')}").hostname in _NAMES
        own = origin is None or origin == f"http://{headers.get('host')}"
        from_page = origin is not None or scope["type"] == "http"  # browsers always name it there
        return by_name and own and from_page and hmac.compare_digest(asked.encode(), self._token)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SAFE.items():
                headers[name] = value
        await send(message)

    return sent


class PlayServer:
    """One server with its address; `run` serves until a signal, or until `end` is called."""

    def __init__(self, player: Player, offered: PageOffer, port: int = 0) -> None:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._socket = _listening(port)
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}/{token}/"
        config = uvicorn.Config(
            application(player, token, allowed_processors(), offered),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=_LONGEST_MESSAGE,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=_ENDING,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        with self._socket, self._signals():
            self._server.run(sockets=[self._socket])

    def end(self) -> None:
        """Ends `run`; from any thread."""
        self._server.should_exit = True

    def close(self) -> None:
        """For who never ran it."""
        self._socket.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """uvicorn ends at Ctrl-C and SIGTERM, and sends itself the signal again when it has ended.

        Then the program must leave as after any other error, so that the player ends its guests. A
        terminal that is closed (SIGHUP) ends the server too.
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


def _listening(port: int) -> socket.socket:
    """Raises TcplabError if the port is taken."""
    with told_if_taken(port):
        return socket.create_server((HOST, port))  # who opens the page now waits until it is served
