"""The server of the live page: who gets in, what it sends, and that nothing is left behind."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from experiments.play.lesson import lesson_of
from experiments.play.server import MOST_PAGES, PageOffer, PlayServer
from testbed.host.processes import allowed_processors
from tests.play.made_player import MadePlayer
from tests.play.serving import HANGING, Entered, entered, fetched, served, wait_until
from topologies.errors import TcplabError

ROOT = Path(__file__).resolve().parents[2]


def live(browser: Entered, **more: Any) -> ClientConnection:
    """A web socket as the page opens it."""
    origin = more.pop("origin", browser.origin)
    url = f"{browser.page.replace('http', 'ws', 1)}live"
    cookie = browser.headers if browser.cookie else {}
    return connect(url, origin=origin, open_timeout=HANGING, additional_headers=cookie, **more)


def settings(**changes: str) -> dict[str, str]:
    return {"bw": "10mbit", "duration": "2s", **changes}


def move(number: int, side: str = "A", ask: str = "play", **more: Any) -> str:
    changes = more.pop("changes", {})
    return json.dumps(
        {"ask": ask, "side": side, "number": number, "settings": settings(**changes), **more}
    )


class MadePage:
    """A page as the server sees it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        self.socket.send(text)

    def until(self, kind: str, number: int) -> dict[str, Any]:
        while True:
            message = self.next()
            if (message["kind"], message["number"]) == (kind, number):
                return message

    def next(self) -> dict[str, Any]:
        message = self.socket.recv(HANGING)
        self.heard.append(json.loads(message) if isinstance(message, str) else frame_of(message))
        return self.heard[-1]

    def kinds(self) -> set[str]:
        return {message["kind"] for message in self.heard}


def frame_of(data: bytes) -> dict[str, Any]:
    """A binary message as the page reads it."""
    size = int.from_bytes(data[:4], "little")
    header: dict[str, Any] = json.loads(data[4 : 4 + size])
    at = 4 + size
    for column in header["columns"]:
        assert at % 8 == 0, "a browser could not look at it where it is"
        kind = np.dtype(column["type"])
        column["values"] = np.frombuffer(data, kind, column["length"], at)
        at += -(-column["values"].nbytes // 8) * 8
    assert at == len(data)
    return header


@contextmanager
def page(player: MadePlayer) -> Iterator[MadePage]:
    with served(player) as address, live(entered(address)) as socket:
        yield MadePage(socket)


def test_the_page_and_its_parts_are_there() -> None:
    with served(MadePlayer()) as address:
        browser = entered(address)
        for path in ("", "play.js", "plots.js", "play.css", "offer.json"):
            answer = fetched(f"{browser.page}{path}", browser.headers)
            assert answer.status == 200, path
            assert "default-src 'none'" in str(answer.getheader("content-security-policy"))
        for path in (
            "../server.py",
            "..%2fserver.py",
            "%2e%2e/server.py",
            "own.css/../../turns.py",
        ):
            assert fetched(f"{browser.page}{path}", browser.headers).status in (403, 404)


def test_the_token_becomes_a_cookie_of_this_path_and_leaves_the_address() -> None:
    with served(MadePlayer()) as address:
        answer = fetched(address)
        place = urlsplit(address)
        token = place.query.removeprefix("token=")
    assert (answer.status, answer.getheader("location")) == (303, place.path)
    value, *attributes = str(answer.getheader("set-cookie")).split("; ")
    assert value == f"tcplab-play-{place.port}={token}"
    assert {each.lower() for each in attributes} == {
        *("httponly", "samesite=strict", f"path={place.path}".lower())
    }
    assert answer.getheader("cache-control") == "no-store"


def test_a_tunnel_to_another_port_has_a_cookie_of_that_name() -> None:
    with served(MadePlayer()) as address:
        answer = fetched(address, {"Host": "localhost:1234"})
    assert str(answer.getheader("set-cookie")).startswith("tcplab-play-1234=")


STRANGERS: list[dict[str, str]] = [
    {"Host": "rebound.example:{port}"},
    {"Host": ""},
    {"Host": "127.0.0.1.rebound.example:{port}"},
    {"Origin": "http://elsewhere.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1:{port}"},
]


def test_who_has_not_the_whole_address_does_not_get_in() -> None:
    with served(MadePlayer()) as address:
        browser = entered(address)
        page, top = browser.page, browser.origin
        for other in (f"{top}/", f"{top}/another-word/", f"{page[:-1]}x/", f"{page[:-2]}/"):
            assert fetched(other, browser.headers).status == 403
            with pytest.raises(InvalidStatus):
                live(browser._replace(page=other), origin=top)
        for token in ("", "x", address[-4:], f"{address.partition('=')[2]}x", "%ff%00"):
            assert fetched(f"{page}?token={token}").status == 403


@pytest.mark.parametrize(
    "cookie", ["", "tcplab-play={token}", "{name}=x", "{name}=", "{name}={place}"]
)
def test_the_path_without_the_cookie_shows_no_settings_and_runs_nothing(cookie: str) -> None:
    player = MadePlayer()
    with served(player) as address:
        page, _, token = address.partition("?token=")
        name, place = f"tcplab-play-{urlsplit(address).port}", page.split("/")[3]
        given = cookie.format(token=token, name=name, place=place)
        answer = fetched(f"{page}offer.json", {"Cookie": given} if given else {})
        assert answer.status == 403 and b"whole address" in answer.data  # type: ignore[attr-defined]
        with pytest.raises(InvalidStatus):
            live(Entered(page, given))
    assert not player.played


@pytest.mark.parametrize("strange", STRANGERS, ids=str)
def test_no_page_of_another_name_gets_in(strange: dict[str, str]) -> None:
    with served(MadePlayer()) as address:
        browser = entered(address)
        port = str(urlsplit(address).port)
        headers = {name: value.format(port=port) for name, value in strange.items()}
        assert fetched(browser.page, headers | browser.headers).status == 403
        assert fetched(address, headers).status == 403
        if "Origin" in headers:
            with pytest.raises(InvalidStatus):
                live(browser, origin=headers["Origin"])


def test_a_web_socket_without_an_origin_is_refused() -> None:
    with served(MadePlayer()) as address, pytest.raises(InvalidStatus):
        live(entered(address), origin=None)


def test_one_page_too_many_is_told_so_and_the_others_go_on() -> None:
    with served(MadePlayer(0.02)) as address, ExitStack() as stack:
        browser = entered(address)
        pages = [stack.enter_context(live(browser)) for _ in range(MOST_PAGES)]
        with live(browser) as beyond, pytest.raises(ConnectionClosed) as refused:
            beyond.recv(HANGING)
        assert refused.value.rcvd and refused.value.rcvd.code == 1013
        assert "pages are open already" in refused.value.rcvd.reason
        pages[0].close()
        last = MadePage(pages[-1])
        last.say(move(1))
        last.until("outcome", 1)
        wait_until(lambda: gets_in(browser))


def gets_in(browser: Entered) -> bool:
    """Whether one more page is served; the one before may still be ending."""
    with live(browser) as socket:
        opened = MadePage(socket)
        opened.say(move(1))
        try:
            opened.until("outcome", 1)
        except ConnectionClosed:
            return False
    return True


def test_a_move_becomes_frames_events_and_an_outcome() -> None:
    with page(MadePlayer(0.02)) as opened:
        opened.say(move(7, changes={"loss": "1%", "flows": "cubic+reno"}))
        outcome = opened.until("outcome", 7)
    assert opened.kinds() == {
        *("accepted", "samples", "event", "rates", "drops", "packets", "queue", "outcome")
    }
    assert outcome["verdict"] == "good" and len(outcome["flows"]) == 2
    assert outcome["measures"]["goodput"] == pytest.approx(
        sum(flow["goodput_mbit_s"] for flow in outcome["flows"])
    )
    samples = [message for message in opened.heard if message["kind"] == "samples"]
    times = [message["columns"][0]["values"] for message in samples]
    assert sum(map(len, times)) == 2 * 200
    assert opened.heard[0]["settings"]["loss"] == "1%" and "loss" in opened.heard[0]["command"]


def test_a_problem_names_its_field_and_the_next_move_runs() -> None:
    with page(MadePlayer(0.02)) as opened:
        opened.say(move(1, changes={"delay": "soon"}))
        problem = opened.until("problem", 1)
        assert problem["field"] == "delay" and "soon" in problem["sentence"]
        opened.say(move(2))
        opened.until("outcome", 2)


def test_a_newer_move_ends_the_run_and_only_its_frames_come() -> None:
    player = MadePlayer(HANGING)
    with page(player) as opened:
        opened.say(move(1))
        opened.until("samples", 1)
        player.seconds = 0.02
        opened.say(move(2, changes={"loss": "2%"}))
        opened.until("outcome", 2)
    assert (player.ended, player.running) == (2, 0)


def test_twenty_moves_in_a_second_leave_nothing_behind() -> None:
    player = MadePlayer(0.05)
    with page(player) as opened:
        for number in range(20):
            opened.say(move(number, changes={"seed": str(number + 1)}, dragging=number < 19))
        opened.until("outcome", 19)
        assert player.most == 1
        assert player.played[-1].as_data()["seed"] == "20"
        assert len(player.played) < 20
        assert player.running == 0
    assert player.ended == len(player.played)


def test_a_slider_that_is_let_go_where_it_was_dragged_goes_on_with_its_run() -> None:
    player = MadePlayer(0.3)
    with page(player) as opened:
        opened.say(move(1, dragging=True))
        opened.until("samples", 1)
        opened.say(move(1))
        opened.until("outcome", 1)
        opened.say(move(1))
        opened.say(move(2))
        opened.until("outcome", 2)
    assert len(player.played) == 2 and "stopped" not in opened.kinds()


def test_both_sides_run_at_once() -> None:
    player = MadePlayer(0.3)
    with page(player) as opened:
        opened.say(move(1, "A"))
        opened.say(move(2, "B"))
        opened.until("samples", 2)
        opened.until("outcome", 2)
    assert player.most == min(2, allowed_processors())


def test_a_page_that_is_closed_ends_its_run() -> None:
    player = MadePlayer(HANGING)
    with page(player) as opened:
        opened.say(move(1))
        opened.until("samples", 1)
    wait_until(lambda: player.running == 0)
    assert player.ended == 1


def test_ten_pages_share_the_processors() -> None:
    player = MadePlayer(0.05)
    with served(player) as address, ThreadPoolExecutor(10) as pages:
        browser = entered(address)
        list(pages.map(lambda turn: three_moves(browser, turn), range(10)))
    assert player.most <= allowed_processors() and len(player.played) == 30


def three_moves(browser: Entered, turn: int) -> None:
    with live(browser) as socket:
        mine = MadePage(socket)
        for number in range(3):
            mine.say(move(number, changes={"seed": str(10 * turn + number + 1)}))
            mine.until("outcome", number)


def test_many_seeds_come_as_a_band_and_saving_says_where() -> None:
    player = MadePlayer(0.02, ROOT / "somewhere")
    with page(player) as opened:
        opened.say(move(1, ask="seeds", seeds=20))
        opened.until("banded", 1)
        assert "band" in opened.kinds()
        opened.say(move(2, ask="save"))
        assert opened.until("saved", 2)["path"] == str(ROOT / "somewhere/1")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"ask": "play"}',
        move(1, side="C"),
        move(1, ask="delete"),
        "9" * 5000,
        move(1, ask="seeds", seeds=10**6),
        "[" * 30000,
    ],
)
def test_what_no_page_sends_closes_the_socket_and_nothing_runs(text: str) -> None:
    player = MadePlayer()
    with page(player) as opened:
        opened.say(text)
        with pytest.raises(ConnectionClosed) as refused:
            opened.next()
    assert refused.value.rcvd and refused.value.rcvd.code == 1008 and not player.played


def test_only_this_computer_is_listened_on() -> None:
    with PlayServer(MadePlayer(), PageOffer()) as server:
        port = server.port
        with pytest.raises(TcplabError, match="--port"):
            PlayServer(MadePlayer(), PageOffer(), port)
        listening = Path("/proc/net/tcp").read_text()
    assert f" 0100007F:{port:04X} " in listening and f" 00000000:{port:04X} " not in listening


SERVING = """
from experiments.play.server import PageOffer
from experiments.play.server import PlayServer
from tests.play.made_player import MadePlayer

class Leaving(MadePlayer):
    def __exit__(self, *_):
        print("the player has ended", flush=True)
with Leaving() as player:
    server = PlayServer(player, PageOffer())
    print(server.address, flush=True)
    server.run()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_in_order(number: signal.Signals) -> None:
    command = [sys.executable, "-c", SERVING]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        wait_until(lambda: answers(port))
        process.send_signal(number)
        rest, _ = process.communicate(timeout=HANGING)
    assert rest == "the player has ended\n"


def answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), HANGING) as asked:
        asked.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return asked.recv(1 << 16).startswith(b"HTTP")


def test_lessons_are_offered_as_html_without_any_of_their_own() -> None:
    text = (
        "---\ntitle: <b>T</b>\n---\n## Step\n<script>x</script> [y](javascript:z)\n```play\n```\n"
    )
    lesson = lesson_of("own", text)
    (step,) = lesson.steps
    assert "<script" not in step.before and 'javascript:z"' not in step.before
    with served(MadePlayer(), PageOffer((lesson,), "own")) as address:
        browser = entered(address)
        answer = fetched(f"{browser.page}offer.json", browser.headers)
        offer = json.loads(answer.data)  # type: ignore[attr-defined]
    assert offer["first"] == "own" and offer["lessons"][0]["title"] == "<b>T</b>"
