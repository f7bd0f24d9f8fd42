"""Files by HTTP, and the words for servers that do not answer."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from testbed.builds.debian import Fetcher, FetchError, SilentServer
from testbed.lab import environment


class Server(BaseHTTPRequestHandler):
    """Serves /moved, /gone and anything else."""

    def do_GET(self) -> None:
        status = {"/moved": 302, "/gone": 404}.get(self.path, 200)
        self.send_response(status)
        self.send_header("Location", "/new")
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"new")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_moved_files_are_followed(address: str) -> None:
    assert Fetcher({}).get(f"{address}/moved") == b"new"


def test_a_proxy_is_asked_for_the_whole_address(address: str) -> None:
    fetcher = Fetcher({"http": address})
    assert fetcher.get("http://mirror.invalid/debian/a.deb") == b"new"


def test_what_is_not_there_is_another_error_than_a_silent_server(address: str) -> None:
    with pytest.raises(FetchError, match="HTTP status 404") as missing:
        Fetcher({}).get(f"{address}/gone")
    assert not isinstance(missing.value, SilentServer)
    missing.value.__cause__.close()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("proxies", "url", "words"),
    [
        ({"http": "http://127.0.0.1:1"}, "http://mirror.invalid/a", "by the proxy 127.0.0.1:1"),
        ({}, "http://127.0.0.1:1/a", "refused"),
        ({}, "/no/such/a", "unknown url type"),
        ({}, "cdrom:a", "unknown url type"),
    ],
)
def test_a_server_that_is_not_reached_is_named_by_its_cause(
    proxies: dict[str, str], url: str, words: str
) -> None:
    with pytest.raises(SilentServer, match=words):
        Fetcher(proxies).get(url)


def test_ctrl_c_in_a_first_start_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "make_ready", stop)
    with pytest.raises(SystemExit) as ended:
        environment.main("place", "python", "state")
    assert ended.value.code == 130
    assert capsys.readouterr().err == "tcplab: stopped. Start again; what is whole is kept.\n"
