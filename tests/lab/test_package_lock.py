"""Locked packages: fetched by name and SHA-256, also if the mirror has moved on."""

import hashlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from testbed.builds import debian
from testbed.builds.debian import LockedPackage, PackageLock, read_lock, write_lock
from testbed.lab import image, tools
from topologies.errors import TcplabError

RECIPES = Path(image.LOCK).parents[1]


@pytest.mark.parametrize(
    ("file", "wanted"),
    [(image.LOCK, image.wanted()), (tools.LOCK, [*tools.WANTED])],
    ids=["image", "tools"],
)
def test_a_lock_has_all_that_is_wanted(file: Path, wanted: list[str]) -> None:
    lock = read_lock(file)
    assert {*wanted} <= {*lock.versions}
    assert all(len(package.sha256) == 64 for package in lock.packages)
    assert all(unquote(package.file).startswith(package.name) for package in lock.packages)


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    packages = [LockedPackage("b", "1:2", "0" * 64, "pool/b.deb"), locked(b"a")]
    write_lock(tmp_path / "lock", "2026-01-31", packages)
    assert read_lock(tmp_path / "lock") == PackageLock("2026-01-31", tuple(sorted(packages)))


def test_what_apt_would_fetch_becomes_a_lock() -> None:
    line = f"'http://m/debian/pool/b/b_1%2b2_all.deb' b_1%3a1+2_all.deb 5 SHA256:{'a' * 64}\n"
    rows = list(debian._locked(line, "http://m/debian"))
    assert rows == [LockedPackage("b", "1:1+2", "a" * 64, "pool/b/b_1%2b2_all.deb")]


def locked(content: bytes) -> LockedPackage:
    return LockedPackage("thing", "1", hashlib.sha256(content).hexdigest(), "pool/thing_1_all.deb")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where this machine serves the test's folder: sealed commands see nothing of /tmp."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def mirrors(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a mirror `now`, and of an archive `past` with the state of one day."""
    for place in ("now", "past/20260131T235959Z"):
        (tmp_path / place / "pool").mkdir(parents=True)
    monkeypatch.setattr(debian, "mirror", lambda _suite: f"{address}/now")
    monkeypatch.setattr(debian, "PUBLIC", f"{address}/public")
    monkeypatch.setattr(debian, "SNAPSHOT", f"{address}/none")
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def fetched(mirrors: Path, report: Any) -> bytes:
    lock = PackageLock("2026-01-31", (locked(b"old"),))
    ((_, content),) = debian.contents(lock, "any", report, bytes)
    return content


def test_what_the_mirror_has_is_taken_from_it(mirrors: Path, report: Any) -> None:
    (mirrors / "now/pool/thing_1_all.deb").write_bytes(b"old")
    assert fetched(mirrors, report) == b"old"


@pytest.mark.parametrize("by_now", [None, b"another"], ids=["gone", "another"])
def test_what_the_mirror_has_no_longer_comes_from_the_past(
    mirrors: Path, address: str, report: Any, by_now: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_now:
        (mirrors / "now/pool/thing_1_all.deb").write_bytes(by_now)
    with pytest.raises(TcplabError, match=r"has thing 1 \(.*\)\..*TCPLAB_SNAPSHOT"):
        fetched(mirrors, report)
    (mirrors / "past/20260131T235959Z/pool/thing_1_all.deb").write_bytes(b"old")
    monkeypatch.setenv("TCPLAB_SNAPSHOT", f"{address}/past")
    assert fetched(mirrors, report) == b"old"


def test_where_apt_knows_no_mirror_the_public_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "apt_output", lambda *_: "")
    monkeypatch.delenv("TCPLAB_MIRROR", raising=False)
    monkeypatch.delenv("TCPLAB_SNAPSHOT", raising=False)
    day = "20260131T235959Z"
    assert debian.archives("bookworm", "2026-01-31") == [debian.PUBLIC, f"{debian.SNAPSHOT}/{day}"]
    security = [f"{debian.PUBLIC}-security", f"{debian.SNAPSHOT}-security/{day}"]
    assert debian.archives("a-security", "2026-01-31") == security


LOCKS = [*RECIPES.rglob("packages.lock"), *RECIPES.rglob("source.lock")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda file: file.parent.name)
@pytest.mark.parametrize("place", [0, 1], ids=["mirror", "archive"])
def test_every_source_has_what_a_lock_names(lock: Path, place: int) -> None:
    """One package of each; of a source that this machine does not reach nothing is known."""
    stated = read_lock(lock)
    archive = debian.archives("bookworm", stated.day)[place]
    address = f"{archive.rstrip('/')}/{max(stated.packages).place}"
    request = urllib.request.Request(address, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert int(reply.headers["Content-Length"]) > 0
    except urllib.error.HTTPError as error:
        if place == 0 and error.code == 404:
            pytest.skip("the mirror has a newer version; the archive keeps this one")
        raise
    except OSError as error:
        pytest.skip(f"{archive} is not reached from here: {error}")
