"""Server of the page and its files, behind a token that only its user knows.

The token is exchanged for a cookie of a random path, which browsers send to no other server.
"""

import hmac
import re
import secrets
from asyncio import Semaphore
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from starlette import responses
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
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
    return "\n".join(file.read_text("utf-8") for file in (*shared, PAGE / "own.css"))


def whole_page() -> str:
    text = (PAGE / "index.html").read_text("utf-8")
    scripts = f"<script>\n{whole_script()}</script>"
    return text.replace(_STYLE, f"<style>{style()}</style>").replace(_SCRIPT, scripts)


def shared_page() -> str:
    from analysis import rendering

    empty = dict.fromkeys(("answer", "made", "stage_first"), "")
    return rendering.render("share.html", {"title": "A stage", "stage": "{}", **empty})


def whole_script() -> str:
    """Return all modules as one script, each in a separate scope."""
    parts = [_scoped("plots", _plots(), _OFFERED)]
    for name in _MODULES:
        text = (PAGE / f"{name}.js").read_text("utf-8")
        inner = _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", text))
        parts.append(_scoped(name, inner, _EXPORT.findall(text)))
    return "\n".join(['"use strict";\nconst modules = {};', *parts, ""])


def _scoped(name: str, text: str, offered: Sequence[str]) -> str:
    return f"modules.{name} = (() => {{\n{text}\nreturn {{ {', '.join(offered)} }};\n}})();"


def _plots() -> str:
    """Expand the template of scripts without Jinja, which a server of files need not load."""
    files = (_SHARED / "plots/plots.js", _SHARED / "stage/all.js")
    text = "".join(file.read_text("utf-8") for file in files)
    whole = _INCLUDED.sub(lambda match: (_SHARED / match[1]).read_text("utf-8"), text)
    return _COMMENT.sub("", whole)


@dataclass(frozen=True)
class PageOffer:
    """Lessons, and the name of the one to begin with."""

    lessons: tuple[Lesson, ...] = ()
    first: str = ""

    def as_data(self) -> dict[str, Any]:
        return {
            "lessons": [asdict(lesson) for lesson in self.lessons],
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
        super().__init__(PlayPages(player, place, token, offered).application(), port)
        self.address = f"http://{HOST}:{self.port}/{place}/?token={token}"


@dataclass
class PlayPages:
    """Serves everything below the path `place`, with a run at a time for each processor.

    The page's files need no cookie: after a link from another site a browser sends none.
    """

    player: Player
    place: str
    token: str
    offered: PageOffer
    turns: Semaphore = field(default_factory=lambda: Semaphore(allowed_processors()))
    open: set[WebSocket] = field(default_factory=set)

    def application(self) -> ASGIApp:
        routes = [
            Route("/", self._page),
            Route("/offer.json", self._offer),
            _text("/plots.js", plots_module, "text/javascript"),
            _text("/play.css", style, "text/css"),
            _text("/share.html", shared_page, "text/html"),
            WebSocketRoute("/live", self._live),
            Mount("/", StaticFiles(directory=PAGE)),
        ]
        return Guard(Starlette(routes=[Mount(f"/{self.place}", routes=routes)]), self.place)

    def _page(self, request: Request) -> responses.Response:
        given = request.query_params.get("token")
        if given is None:
            return responses.FileResponse(PAGE / "index.html")
        if not self._fits(given):
            return _refusal()
        # The browser keeps what is behind the #.
        answer = responses.RedirectResponse(f"/{self.place}/", 303)
        # Requests of other sites' pages do not carry it (`strict`).
        more: dict[str, Any] = {"path": f"/{self.place}/", "httponly": True, "samesite": "strict"}
        answer.set_cookie(_cookie(request), self.token, **more)
        return answer

    def _offer(self, request: Request) -> responses.Response:
        known = self._fits(request.cookies.get(_cookie(request), ""))
        return responses.JSONResponse(self.offered.as_data()) if known else _refusal()

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def _live(self, socket: WebSocket) -> None:
        if not self._fits(socket.cookies.get(_cookie(socket), "")):
            await socket.close(REFUSED)
            return
        await socket.accept()
        if len(self.open) >= MOST_PAGES:
            problem = f"{MOST_PAGES} pages are open already. Close one, then reload."
            await socket.close(_BUSY, problem)
            return
        self.open.add(socket)
        try:
            await PageSession(self.player, self.turns, SocketChannel(socket)).converse()
        except* UsageError as group:
            await socket.close(REFUSED, str(group.exceptions[0])[:120])
        except* WebSocketDisconnect:
            pass
        finally:
            self.open.remove(socket)


def _cookie(connection: HTTPConnection) -> str:
    """Name the cookie by the port that the browser sees, which ssh -L may change."""
    return f"tcplab-play-{connection.url.port or 80}"


def _refusal() -> responses.Response:
    return responses.PlainTextResponse(f"{_STRANGER}\n", 403)


def _text(path: str, made: Callable[[], str], kind: str) -> Route:
    return Route(path, lambda _: responses.Response(made(), media_type=kind))


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
        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SAFE)
            await send(message)

        if scope["type"] not in ("http", "websocket") or self._is_welcome(scope):
            await self._inner(scope, receive, safe)
        else:
            await refuse(_STRANGER, scope, receive, safe)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        origins = headers.getlist("origin")
        own = all(origin == f"http://{headers['host']}" for origin in origins)
        from_page = len(origins) == 1 or scope["type"] == "http"  # browsers name a socket's origin
        start = scope["path"].encode()[: len(self._start)]
        return own and from_page and hmac.compare_digest(start, self._start)
