"""Servers for browsers of this computer: names in Host, and the number of connections."""

import random
import re
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from experiments.reporting.browsing import HOST, MOST_CONNECTIONS, LocalServer
from tests.play.made_player import MadePlayer
from tests.play.serving import HANGING, entered, fetched, running, served

NAMES = (
    *("127.0.0.1", "localhost", "LocalHost", "[::1]", "::1", "[::1", "::1]", "[]", "[", "]", "[:"),
    *("127.1", "127.0.0.2", "0.0.0.0", "2130706433", "0x7f.1", "127.0.0.1.", "localhost."),
    *("127.0.0.1.rebound.example", "rebound.example", "localhost.example", "xlocalhost"),
    *("user@127.0.0.1", "127.0.0.1@rebound.example", "http://127.0.0.1", "127.0.0.1/x"),
    *("127.0.0.1 rebound.example", "127.0.0.1,rebound.example", "[::ffff:127.0.0.1]"),
    *("[fe80::1%lo]", "", " ", "%", "%00", "%31", "*", "?", "#", "\\", '"', "a" * 5000, "\xe4"),
    "\u0131".encode().decode("latin-1"),
)
PORTS = (
    *("", ":", ":0", ":80", ":{port}", ":65535", ":65536", ":99999", ":123456", ":-1", ":x"),
    *(":8\xb2", ":80:80"),
)
RIGHT = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:(0|80|\d+))?", re.IGNORECASE | re.ASCII)
FLOOD = 1500
ALPHABET = "127.0localhost[]:%@/\\ \t#?\x00\x7f\xff-_"


def odd_heads(port: int) -> Iterator[tuple[str, bool]]:
    """Heads of requests, and whether the server should answer them by its page."""
    generator = random.Random(1)
    hosts = [f"{name}{end}".format(port=port) for name in NAMES for end in PORTS]
    hosts += ["".join(generator.choices(ALPHABET, k=generator.randrange(20))) for _ in range(300)]
    for host in hosts:
        found = RIGHT.fullmatch(host.strip(" \t"))
        yield f"Host: {host}\r\n", bool(found) and int(found[3] or 0) <= 65535
    yield "", False
    for second in ("127.0.0.1", "rebound.example", ""):
        yield f"Host: 127.0.0.1\r\nHost: {second}\r\n", False
        yield f"Host: {second}\r\nhost: 127.0.0.1\r\n", False
    yield "X-Forwarded-Host: 127.0.0.1\r\nHost: rebound.example\r\n", False
    yield "Host:127.0.0.1\r\n", True
    yield "Host : 127.0.0.1\r\n", False
    yield "Host: 127.0.0.1\r\n rebound.example\r\n", False


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Room for both ends of a flood in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * FLOOD)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def answer_to(port: int, request: bytes) -> bytes:
    with socket.create_connection((HOST, port), HANGING) as asked:
        asked.sendall(request)
        received = b""
        while piece := asked.recv(1 << 16):
            received += piece
    return received


def site_server(folder: Path) -> LocalServer:
    """A server as that of `docs --serve`."""
    files = StaticFiles(directory=folder, html=True, check_dir=False)
    return LocalServer(Starlette(routes=[Mount("/", files)]), 0)


@contextmanager
def both_servers(folder: Path) -> Iterator[list[tuple[int, str]]]:
    """Port and path of the live page's server and of the documentation's."""
    (folder / "index.html").write_text("the site")
    with served(MadePlayer()) as address, site_server(folder) as docs, running(docs):
        place = urlsplit(address)
        yield [(int(place.port or 0), place.path), (docs.port, "/")]


def test_names_that_a_request_may_have(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with both_servers(tmp_path) as servers:
        for port, path in servers:
            for version in ("1.0", "1.1"):
                for head, is_right in odd_heads(port):
                    text = f"GET {path} HTTP/{version}\r\n{head}Connection: close\r\n\r\n"
                    answer = answer_to(port, text.encode("latin-1"))
                    status, body = answer[9:12], answer.partition(b"\r\n\r\n")[2]
                    assert status in ((b"200",) if is_right else (b"400", b"403")), (text, answer)
                    assert is_right or body.strip().count(b"\n") == 0 < len(body.strip()), text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("target", ["*", "x", "http://rebound.example/", "//", "/%", "/?token=%ff"])
def test_targets_that_no_browser_asks_for(tmp_path: Path, target: str) -> None:
    with both_servers(tmp_path) as servers:
        for port, _ in servers:
            text = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            assert answer_to(port, text.encode())[9:10] in (b"2", b"3", b"4")


def test_a_page_opens_while_another_user_holds_all_connections(many_descriptors: None) -> None:
    with served(MadePlayer()) as address, ExitStack() as stack:
        port = int(urlsplit(address).port or 0)
        held = [
            stack.enter_context(socket.create_connection((HOST, port), HANGING))
            for _ in range(FLOOD)
        ]
        browser = entered(address)
        assert fetched(f"{browser.page}offer.json", browser.headers).status == 200
        refused = [each for each in held if answer_so_far(each).startswith(b"HTTP/1.1 503 ")]
        assert len(refused) >= FLOOD - MOST_CONNECTIONS
        assert b"connections already" in answer_so_far(held[0])


def answer_so_far(connection: socket.socket) -> bytes:
    connection.setblocking(False)
    try:
        return connection.recv(1 << 16, socket.MSG_PEEK)
    except BlockingIOError:
        return b""


def test_an_answer_on_its_way_never_makes_room(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("x" * (64 << 20))
    with site_server(tmp_path) as docs, running(docs), ExitStack() as stack:
        slow = stack.enter_context(socket.create_connection((HOST, docs.port), HANGING))
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        received = len(slow.recv(1000))
        for _ in range(2 * MOST_CONNECTIONS):
            stack.enter_context(socket.create_connection((HOST, docs.port), HANGING))
        while piece := slow.recv(1 << 20):
            received += len(piece)
    assert received > 64 << 20


def test_a_server_ends_from_another_thread() -> None:
    async def application(*_: object) -> None:
        raise AssertionError("no request comes")

    with LocalServer(application) as server, running(server):
        assert server.port
