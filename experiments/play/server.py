"""Server of the page and its files, behind a token that only its user knows.

The token is exchanged for a cookie of a random path, which browsers send to no other server.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from analysis.flows.columns import KINDS
from experiments.play.lesson import Lesson
from experiments.play.player import Player
from experiments.play.session import PageSession
from experiments.play.settings import PlaySettings
from experiments.reporting.browsing import HOST, REFUSED, LocalServer, refuse
from experiments.spec import CONGESTION_CONTROLS
from testbed.host import CODE
from testbed.host.processes import allowed_processors
from topologies.disciplines import disciplines
from topologies.errors import UsageError

PAGE = Path(__file__).resolve().parent / "page"
_SHARED = CODE / "analysis/rendering/templates"
_MODULES = (
    *("values", "link", "connection", "run", "graphs", "controls"),
    *("prediction", "lessons", "words", "events", "actions", "stage", "share", "play"),
)
"""In the order of their imports."""
_OFFERED = ("PlotBoard", "ColumnStore", "element", "SERIES", "Stage", "StageModel")
_INCLUDED = re.compile(r'\{% include "([\w/]+\.(?:js|css))" %\}')
_COMMENT = re.compile(r"\{#.*?#\}\n", re.DOTALL)
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_STYLE = '<link rel="stylesheet" href="play.css">'
_SCRIPT = '<script type="module" src="play.js"></script>'


def plots_module() -> str:
    return f"{_plots()}\nexport {{ {', '.join(_OFFERED)} }};\n"


def style() -> str:
    shared = [_SHARED / name for name in ("theme.css", "plots/plots.css", "stage/stage.css")]
    shared.append(PAGE / "own.css")
    return "\n".join(file.read_text(encoding="utf-8") for file in shared)


def whole_page() -> str:
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    scripts = f"<script>\n{whole_script()}</script>"
    return text.replace(_STYLE, f"<style>{style()}</style>").replace(_SCRIPT, scripts)


def shared_page() -> str:
    from analysis import rendering

    empty = dict.fromkeys(("answer", "made", "stage_first"), "")
    return rendering.render("share.html", {"title": "A stage", "stage": "{}", **empty})


def whole_script() -> str:
    """Return all modules as one script, each in a separate scope."""
    plots = f"modules.plots = (() => {{\n{_plots()}\nreturn {{ {', '.join(_OFFERED)} }};\n}})();"
    parts = [_scoped(name, (PAGE / f"{name}.js").read_text("utf-8")) for name in _MODULES]
    return "\n".join(['"use strict";\nconst modules = {};', plots, *parts, ""])


def _plots() -> str:
    """Expand the template of scripts without Jinja, which a server of files need not load."""
    files = (_SHARED / "plots/plots.js", _SHARED / "stage/all.js")
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    whole = _INCLUDED.sub(lambda match: (_SHARED / match[1]).read_text(encoding="utf-8"), text)
    return _COMMENT.sub("", whole)


def _scoped(name: str, text: str) -> str:
    offered = ", ".join(match[1] for match in _EXPORT.finditer(text))
    inner = _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", text))
    return f"modules.{name} = (() => {{\n{inner}\nreturn {{ {offered} }};\n}})();"


@dataclass(frozen=True)
class PageOffer:
    """Lessons, and the name of the one to begin with."""

    lessons: tuple[Lesson, ...] = ()
    first: str = ""

    def as_data(self) -> dict[str, Any]:
        return {
            "lessons": [lesson.as_data() for lesson in self.lessons],
            "first": self.first,
            "defaults": PlaySettings().as_data(),
            "disciplines": {name: each.title for name, each in disciplines().items()},
            "algorithms": list(CONGESTION_CONTROLS),
            "kinds": [{"name": name, "meaning": meaning} for name, meaning in KINDS],
        }


MOST_PAGES = 32  # pages that are open at one time: each has one WebSocket
_TOKEN_BYTES, _PLACE_BYTES = 24, 12
_BUSY = 1013  # close code of a WebSocket that may try again later (RFC 6455, 11.7)
_STRANGER = "Open the whole address that tcplab play printed."
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


class PlayServer(LocalServer):
    """Server of the page; a browser opens `address`, with its token."""

    def __init__(self, player: Player, offered: PageOffer, port: int = 0) -> None:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        place = secrets.token_urlsafe(_PLACE_BYTES)
        super().__init__(
            application(player, PageKey(place, token), allowed_processors(), offered), port
        )
        self.address = f"http://{HOST}:{self.port}/{place}/?token={token}"


class PageKey:
    """Secrets of one server: the path of its page, and the token that opens it."""

    def __init__(self, place: str, token: str) -> None:
        self.place, self._token = place, token

    def fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def is_known(self, connection: HTTPConnection) -> bool:
        return self.fits(connection.cookies.get(_cookie_of(connection), ""))

    def give(self, request: Request, answer: Response) -> None:
        """Set the cookie; requests of other sites' pages do not carry it (`strict`)."""
        path = f"/{self.place}/"
        name = _cookie_of(request)
        answer.set_cookie(name, self._token, path=path, httponly=True, samesite="strict")


def _cookie_of(connection: HTTPConnection) -> str:
    """Name the cookie by the port that the browser sees, which ssh -L may change."""
    return f"tcplab-play-{connection.url.port or 80}"


def application(player: Player, key: PageKey, places: int, offered: PageOffer) -> ASGIApp:
    """Serve everything below the key's path, with at most `places` runs in parallel.

    The page's files need no cookie: after a link from another site a browser sends none.
    """
    pages = LivePages(player, places)

    def page(request: Request) -> Response:
        given = request.query_params.get("token")
        if given is None:
            return FileResponse(PAGE / "index.html")
        if not key.fits(given):
            return PlainTextResponse(f"{_STRANGER}\n", 403)
        answer = RedirectResponse(f"/{key.place}/", 303)  # the browser keeps what is behind the #
        key.give(request, answer)
        return answer

    def offer(request: Request) -> Response:
        if not key.is_known(request):
            return PlainTextResponse(f"{_STRANGER}\n", 403)
        return JSONResponse(offered.as_data())

    async def live(socket: WebSocket) -> None:
        if key.is_known(socket):
            await pages.serve(socket)
        else:
            await socket.close(REFUSED)

    routes = [
        Route("/", page),
        Route("/offer.json", offer),
        _text("/plots.js", plots_module, "text/javascript"),
        _text("/play.css", style, "text/css"),
        _text("/share.html", shared_page, "text/html"),
        WebSocketRoute("/live", live),
        Mount("/", StaticFiles(directory=PAGE)),
    ]
    return Guard(Starlette(routes=[Mount(f"/{key.place}", routes=routes)]), key.place)


def _text(path: str, made: Callable[[], str], kind: str) -> Route:
    def answer(_: Request) -> Response:
        return Response(made(), media_type=kind)

    return Route(path, answer)


class LivePages:
    """Open pages of a server, at most MOST_PAGES."""

    def __init__(self, player: Player, places: int) -> None:
        self._player, self._turns, self._open = player, asyncio.Semaphore(places), 0

    async def serve(self, socket: WebSocket) -> None:
        await socket.accept()
        if self._open >= MOST_PAGES:
            await socket.close(
                _BUSY, f"{MOST_PAGES} pages are open already. Close one, then reload."
            )
            return
        self._open += 1
        try:
            await PageSession(self._player, self._turns, SocketChannel(socket)).converse()
        except UsageError as error:
            await socket.close(REFUSED, str(error)[:120])
        except WebSocketDisconnect:
            return
        finally:
            self._open -= 1


class SocketChannel:
    """A page behind a web socket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> str | None:
        try:
            return await self._socket.receive_text()
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes, which the page never sends
            return None

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)


class Guard:
    """A layer that refuses requests without the secret path and from other sites' pages."""

    def __init__(self, inner: ASGIApp, place: str) -> None:
        self._inner, self._start = inner, f"/{place}/".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        send = _with_headers(send)
        if scope["type"] not in ("http", "websocket") or self._is_welcome(scope):
            await self._inner(scope, receive, send)
        else:
            await refuse(_STRANGER, scope, receive, send)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        origins = headers.getlist("origin")
        own = all(origin == f"http://{headers['host']}" for origin in origins)
        from_page = len(origins) == 1 or scope["type"] == "http"  # browsers name a socket's origin
        start = scope["path"].encode()[: len(self._start)]
        return own and from_page and hmac.compare_digest(start, self._start)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SAFE.items():
                headers[name] = value
        await send(message)

    return sent
