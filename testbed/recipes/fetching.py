"""Many small files of a few servers by HTTP, each thread with one connection to a server.

urllib opens a connection for each file, and so asks for the server's address each time: name
servers that limit their answers made 124 packages take 25 s instead of 1.
"""

from __future__ import annotations

import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from threading import local
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

_PATIENCE = 30.0  # seconds without a byte
_MOVED = (301, 302, 303, 307, 308)
_MOST_MOVES = 5
_OK = 200


class FetchError(Exception):
    """A server's refusal, as text."""


class SilentServer(FetchError):
    """A server that could not be reached."""


class Fetcher:
    """Connections by thread and server, through proxies by scheme (urllib.request.getproxies)."""

    def __init__(self, proxies: Mapping[str, str]) -> None:
        self.proxies, self.kept = proxies, local()

    def get(self, url: str) -> bytes:
        """Return the content. Raises FetchError."""
        if (kind := urlsplit(url).scheme) not in ("http", "https"):
            raise SilentServer(f"{kind or 'a path'} is no address of a server")
        for _ in range(_MOST_MOVES):
            try:
                status, location, content = self._asked(urlsplit(url))
            except (OSError, HTTPException) as error:
                raise FetchError(str(error) or type(error).__name__) from error
            if status == _OK:
                return content
            if status not in _MOVED:
                raise FetchError(f"HTTP status {status}")
            url = urljoin(url, location)
        raise FetchError("it redirects without end")

    def _asked(self, url: SplitResult) -> tuple[int, str, bytes]:
        """Return status, Location and content; a connection that the server closed is renewed."""
        proxy = self._proxy(url)
        target = url.geturl() if proxy and url.scheme == "http" else f"{url.path}?{url.query}"
        connection, is_new = self._connection(url, proxy)
        try:
            connection.request("GET", target.removesuffix("?"), headers=_authorization(proxy))
            answer = connection.getresponse()
        except (BrokenPipeError, ConnectionResetError, RemoteDisconnected):
            connection.close()
            if is_new:
                raise
            return self._asked(url)
        return answer.status, answer.headers.get("Location", ""), answer.read()

    def _proxy(self, url: SplitResult) -> SplitResult | None:
        address = self.proxies.get(url.scheme, "")
        return urlsplit(address) if address and not _is_near(url) else None

    def _connection(
        self, url: SplitResult, proxy: SplitResult | None
    ) -> tuple[HTTPConnection, bool]:
        """Return the open connection to a server, and whether it is new."""
        connections: dict[str, HTTPConnection] = self.kept.__dict__
        key = f"{url.scheme}://{url.netloc}"
        if key not in connections:
            kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
            end = proxy or url
            made = kind(end.hostname or "", end.port, timeout=_PATIENCE)
            if proxy and url.scheme == "https":
                made.set_tunnel(url.hostname or "", url.port, _authorization(proxy))
            connections[key] = made
        if connections[key].sock:
            return connections[key], False
        try:
            connections[key].connect()
        except (OSError, HTTPException) as error:
            way = f", by the proxy {proxy.hostname}:{proxy.port}" if proxy else ""
            raise SilentServer(f"{error}{way}") from error
        return connections[key], True


def _is_near(url: SplitResult) -> bool:
    """Check for a server that no proxy is asked for ($no_proxy)."""
    return bool(urllib.request.proxy_bypass(url.hostname or ""))


def _authorization(proxy: SplitResult | None) -> dict[str, str]:
    if not proxy or not proxy.username:
        return {}
    secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(secret.encode()).decode()}"}
