"""The site is built whole, without dead links, fetches nothing, and works when opened as files."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest

import tcplab
from experiments.cli.commands import LINES
from experiments.documentation.pictures import pictures
from experiments.documentation.site import navigation
from experiments.study.catalogue import catalogue
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.documentation.dead_links import dead_links
from tests.documentation.typed_commands import ROOT, pages
from topologies.errors import TcplabError

MOST_WORDS = 1600  # about what a person reads at once: six minutes
LOOKED_UP = {"CHANGELOG.md"}  # pages in which entries are looked up
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


DOCS = (sys.executable, "-P", "-m", "experiments.cli.main", "docs", "--quick", "--serve")
HANGING = 60  # seconds after which something is taken to never come


class ServedSite(NamedTuple):
    folder: Path
    port: int
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def served_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    folder = tmp_path_factory.mktemp("built") / "site"
    with subprocess.Popen(
        [*DOCS, "--port", "0", "--out", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # nohup's children ignore it
    ) as process:
        said = []
        for line in process.stdout or ():
            said.append(line)
            if port := re.match(r"The site is http://127\.0\.0\.1:(\d+)/", line):
                yield ServedSite(folder, int(port[1]), process)
                break
        else:
            raise AssertionError("".join(said))
        process.kill()


@pytest.fixture(scope="module")
def site(served_site: ServedSite) -> Path:
    return served_site.folder


def test_every_command_study_and_page_is_there(site: Path) -> None:
    assert all(
        (site / f"reference/commands/{name}").with_suffix(".html").exists()
        or (site / f"reference/commands/{name}/index.html").exists()
        for name in LINES
    )
    for named in catalogue():
        text = (site / f"reference/parameters/{named.name}.html").read_text()
        assert "--" in text and (site / f"studies/{named.name}.html").exists()
    names = {page.name for page in (ROOT / "docs").rglob("*.md")}
    assert names <= {f"{page.stem}.md" for page in site.rglob("*.html")}


def test_pages_of_python_have_every_name() -> None:
    texts = [page.read_text() for page in sorted(ROOT.glob("docs/reference/python/*.md"))]
    found = re.findall(r"^## tcplab\.(\w+)\n\n::: (\S+)$", "\n".join(texts), re.MULTILINE)
    wanted = {name: ".".join(place) for name, place in tcplab.places().items()}
    assert dict(found) == wanted and len(found) == len(wanted)


def test_bounds_units_and_signatures_are_the_codes(site: Path) -> None:
    channel = (site / "reference/topology-spec.html").read_text()
    assert "Choose one from 1kbit to 100gbit." in channel
    assert "1kbit" in channel and "--bw" in (site / "reference/parameters/sack.html").read_text()
    assert "kbit/s" in (site / "reference/columns/sweep.html").read_text()
    assert "tcplab is right: " in (site / "reference/columns/tcptrace.html").read_text()
    assert "seeds" in (site / "reference/python/running.html").read_text()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert dead_links(site) == []
    for page in site.rglob("*.html"):
        assert "unpkg.com" not in page.read_text(), page
        assert "fonts.g" not in page.read_text(), page


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html">1</a><a href="c.html">2</a><a href="b.html#x">3</a>'
        '<a href="#top">4</a><img src="https://example.org/p.png"><a href="https://example.org">5</a>'
        '<script src="../outside.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="y"></p>')
    assert dead_links(tmp_path) == [
        "a.html leads to c.html, which is not there",
        "a.html leads to b.html#x, a place that the page does not have",
        "a.html fetches https://example.org/p.png",
        "a.html leads to ../outside.js, which is not there",
    ]


def test_a_page_in_no_part_and_a_part_without_a_page_are_errors() -> None:
    parts = [{"title": "All", "pages": ["a.md", {"Below": ["b/*"]}]}]
    assert navigation(parts, ["b/1.md", "a.md"]) == [{"All": ["a.md", {"Below": ["b/1.md"]}]}]
    with pytest.raises(TcplabError, match=r"No part .* c\.md"):
        navigation(parts, ["a.md", "b/1.md", "c.md"])
    with pytest.raises(TcplabError, match=r"names a\.md, and there is no such page"):
        navigation(parts, ["b/1.md"])


def words(page: Path) -> int:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


def test_no_page_is_longer_than_a_person_reads_at_once() -> None:
    long = {page.relative_to(ROOT).as_posix(): words(page) for page in pages()}
    assert {
        name: count for name, count in long.items() if count > MOST_WORDS and name not in LOOKED_UP
    } == {}


def test_the_gallery_has_twenty_pictures_with_a_seed_each() -> None:
    shown = pictures()
    assert len(shown) == len({picture.name for picture in shown}) == 20
    for picture in shown:
        assert any(word in " ".join(picture.commands) for word in ("--seed ", "--seeds "))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    if not CHROMIUM:
        pytest.skip(NO_CHROMIUM)
    with browser(tmp_path) as opened:
        yield opened


def show(page: Page, file: Path, width: int, dark: bool) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.call("Emulation.setEmulatedMedia", features=[scheme])
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    page.call("Page.navigate", url=file.as_uri())
    page.run(
        "new Promise(done => document.readyState === 'complete' ? done() :"
        " addEventListener('load', done))"
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_and_complain_about_nothing(site, page, width, dark) -> None:
    for name in (
        "index.html",
        "start/student.html",
        "reference/commands/run/sack.html",
        "reference/columns/connections.html",
        "gallery/index.html",
    ):
        show(page, site / name, width, dark)
        assert page.run("document.documentElement.scrollWidth") <= width, name
        light = page.run("getComputedStyle(document.body).backgroundColor")
        assert (light == "rgb(255, 255, 255)") is not dark, (name, light)
    assert [each for each in page.complaints if '"url": "blob:' not in each] == []


@pytest.mark.browser
def test_search_works_in_pages_that_are_files(site: Path, page: Page) -> None:
    show(page, site / "index.html", 1400, False)
    page.run("document.querySelector('.md-search__button').click()")
    for letter in "bufferbloat":
        page.key(letter)
    found = page.run(
        "new Promise(done => { const look = () => {"
        " const shadows = [...document.querySelectorAll('*')].map(each => each.shadowRoot);"
        " const links = shadows.filter(Boolean).flatMap(each => [...each.querySelectorAll('a')]);"
        " links.length ? done(links.map(each => each.href).join(' ')) : setTimeout(look, 100); };"
        " look(); })"
    )
    assert "gallery/index.html" in found and "start/student.html" in found
    assert [each for each in page.complaints if '"url": "blob:' not in each] == []


def test_a_port_that_is_taken_is_known_before_anything_is_built(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        command = [*DOCS, "--port", str(taken), "--out", str(tmp_path / "site")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not (tmp_path / "site").exists()
    assert f"Cannot listen on port {taken}" in done.stderr and "--port" in done.stderr


def test_the_site_is_served_until_ctrl_c_and_its_port_is_free_again(served_site) -> None:
    address = f"http://127.0.0.1:{served_site.port}/"
    with urlopen(address, timeout=HANGING) as answer:
        first = answer.read().decode()
    link = next(found for found in re.findall(r'href="([^"#:]+\.html)"', first))
    with urlopen(address + link, timeout=HANGING) as answer:
        assert answer.status == 200 and b"<h1" in answer.read()
    served_site.process.send_signal(signal.SIGINT)
    assert served_site.process.wait(HANGING) == 0
    socket.create_server(("127.0.0.1", served_site.port)).close()
