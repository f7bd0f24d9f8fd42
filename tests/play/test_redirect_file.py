"""How the page is opened: by a private file, so that its token is on no command line."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

import pytest

from experiments.reporting import browsing as redirect_file
from experiments.reporting.browsing import opened_in_browser
from tests.analysis.browser import CHROMIUM, Page, browser
from tests.play.made_player import MadePlayer
from tests.play.serving import HANGING, entered, fetched, served, wait_until

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "http://127.0.0.1:1/place/?token=secret#loss=1%25&bw=5mbit"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that browsers would be started with."""
    addresses: list[str] = []
    monkeypatch.setattr(redirect_file.webbrowser, "open", lambda address: note(address))

    def note(address: str) -> bool:
        addresses.append(address)
        return True

    return addresses


@contextmanager
def shown(address: str, opened: list[str]) -> Iterator[str]:
    """What a browser is started with for `address`, while the page is served."""
    with opened_in_browser(address, never):
        wait_until(lambda: bool(opened))
        yield opened[0]


def never() -> None:
    raise AssertionError("a browser was started")


def file_of(address: str) -> Path:
    assert address.startswith("file:///")
    return Path(unquote(urlsplit(address).path))


def test_only_the_user_reads_the_file_and_it_goes_with_the_page(opened: list[str]) -> None:
    with shown(ADDRESS, opened) as start:
        file = file_of(start)
        assert "secret" not in start
        assert "secret#loss=1%25&amp;bw=5mbit" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) & 0o077 == 0 or is_closed(file.parent)
    assert not file.exists()


def is_closed(folder: Path) -> bool:
    """Whether a folder above keeps others out."""
    return any(stat.S_IMODE(above.stat().st_mode) & 0o077 == 0 for above in folder.parents)


def test_a_browser_that_is_a_snap_gets_a_visible_folder_of_the_home(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(redirect_file, "_SNAPS", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    with shown(ADDRESS, opened) as start:
        folder = file_of(start).parent
        assert folder.parent == tmp_path / "home" and not folder.name.startswith(".")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not list((tmp_path / "home").iterdir())


def test_without_a_home_the_file_is_with_other_temporary_files(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(redirect_file, "_SNAPS", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    with shown(ADDRESS, opened) as start:
        assert "secret" in file_of(start).read_text()


def test_a_missing_browser_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_file.webbrowser, "open", lambda _: False)
    told = threading.Event()
    with opened_in_browser(ADDRESS, told.set):
        assert told.wait(HANGING)


PLAYING = """
import sys
from experiments.cli import play as play_command
from tests.play.made_player import MadePlayer

play_command.Player = MadePlayer
play_command.play(["#loss=1%25"])
"""
RECORDING = """#!/bin/sh
printf '%s\\n' "$@" >'{folder}/part' && mv '{folder}/part' '{folder}/words'
exec >/dev/null 2>&1
while [ -e "${{1#file://}}" ]; do sleep 0.1; done
"""


def test_the_command_starts_the_browser_without_the_token(tmp_path: Path) -> None:
    """And serves while that runs: some browsers return when they are closed."""
    program, words = tmp_path / "browser", tmp_path / "words"
    program.write_text(RECORDING.format(folder=tmp_path))
    program.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", PLAYING],
        cwd=ROOT,
        env=os.environ
        | {"BROWSER": str(program), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        address = process.stdout.readline().removeprefix("The page is ").strip()
        wait_until(words.exists)
        (started_with,) = words.read_text().split()
        file = file_of(started_with)
        assert address.replace("&", "&amp;") in file.read_text()
        assert urlsplit(address).query.removeprefix("token=") not in started_with
        assert fetched(entered(address.partition("#")[0]).page).status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANGING)
    assert not file.exists()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    with TemporaryDirectory() as folder, browser(Path(folder)) as page:
        yield page


needs_chromium = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium here: sudo apt-get install chromium"
)


@pytest.mark.browser
@needs_chromium
def test_chromium_follows_the_file_to_a_clean_address_with_a_cookie(chromium, opened) -> None:
    player = MadePlayer(0.02)
    with served(player) as address, shown(f"{address}#loss=1%25", opened) as start:
        clean = f"{address.partition('?')[0]}#loss=1%25"
        show(chromium, start, clean)
        assert player.played[0].as_data()["loss"] == "1%"
        history = chromium.call("Page.getNavigationHistory")["entries"]
        assert all("token" not in entry["url"] for entry in history)
        (cookie,) = chromium.call("Network.getCookies", urls=[clean])["cookies"]
        assert cookie["name"] == f"tcplab-play-{urlsplit(address).port}"
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert chromium.run("document.cookie") == ""
        assert chromium.call("Network.getCookies", urls=["http://127.0.0.1/"])["cookies"] == []
        chromium.call("Page.navigate", url="about:blank")
        show(chromium, clean, clean)


@pytest.mark.browser
@needs_chromium
def test_a_page_without_the_cookie_says_what_to_open(chromium: Page) -> None:
    player = MadePlayer()
    with served(player) as address:
        chromium.call("Page.navigate", url=address.partition("?")[0])
        wait_until(lambda: chromium.run("document.getElementById('lost')?.hidden === false"))
        assert "whole address" in chromium.run("document.getElementById('lost').textContent")
    assert not player.played


@pytest.mark.browser
@needs_chromium
def test_one_page_too_many_says_so(chromium: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.play.server.MOST_PAGES", 0)
    with served(MadePlayer()) as address:
        chromium.call("Page.navigate", url=address)
        wait_until(lambda: chromium.run("document.getElementById('lost')?.hidden === false"))
        said = chromium.run("document.getElementById('lost').textContent")
        assert "pages are open already" in said


def show(page: Page, start: str, end: str) -> None:
    """Open an address, and wait until the page at another one has shown a run."""
    page.call("Page.navigate", url=start)
    wait_until(lambda: page.run(f"location.href === {end!r}"))
    wait_until(lambda: bool(page.run("window.tcplabPlay?.play?.runs.A?.isWhole")))
