"""Pictures of the gallery are made by their commands, and kept for the next site."""

import sys
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.documentation.pictures import GalleryPicture, gallery_page, made, pictures
from testbed.builds import cache
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, browser
from topologies.errors import CommandError, TcplabError

pytestmark = pytest.mark.virtual
PROGRAM = [sys.executable, "-P", "-m", main.__name__]
SEEN = """
[...document.querySelectorAll(".graph")].filter(
  (graph) => graph.checkVisibility() && graph.querySelector("canvas").getBoundingClientRect().height
).map((graph) => graph.id)
"""
CHEAP = ("slow-start", "udp-sfq", "ecn", "capture-sequence")


@pytest.fixture(autouse=True)
def pictures_of_this_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab is the usual one; pictures are kept apart, so that all are made."""
    shared = cache.folder()
    monkeypatch.setenv("TCPLAB_CACHE", str(shared))
    monkeypatch.setattr("experiments.documentation.pictures.folder", lambda: tmp_path)


@pytest.mark.parametrize("name", CHEAP)
def test_a_picture_is_made_once(name: str) -> None:
    (picture,) = (each for each in pictures() if each.name == name)
    drawn: list[str] = []
    files = made([picture], PROGRAM, drawn.append)
    assert made([picture], PROGRAM, drawn.append) == files
    assert drawn == [picture.title]
    (file,) = files.values()
    content, page = file.read_bytes(), gallery_page([picture], list(files))
    assert len(content) < 400_000
    if picture.graphs:
        assert f'<iframe src="{name}.html"' in page
        assert b'<section class="graph"' in content
    else:
        assert f"![{picture.title}]({name}.png)" in page and content.startswith(b"\x89PNG")
    assert all(f"$ {command}" in page for command in picture.commands)


def test_a_picture_that_lacks_a_compiler_is_left_out_with_its_packages() -> None:
    command = "echo 'Error: Missing here: gcc. Install it.' >&2; exit 1"
    picture = GalleryPicture("own", "An own control", "", (command,), "own.png")
    said: list[str] = []
    assert made([picture], PROGRAM, said.append) == {}
    assert said == ["An own control", "left out. Missing here: gcc. Install it."]
    assert f"$ {command}" in gallery_page([picture], [])


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_only_the_graphs_of_a_picture_are_seen(tmp_path: Path) -> None:
    """Also those that are folded on the page of the run."""
    (picture,) = (each for each in pictures() if each.name == "ecn")
    (file,) = made([picture], PROGRAM, lambda title: None).values()
    with browser(tmp_path) as page:
        page.open(file)
        assert {graph.partition("_")[0] for graph in page.run(SEEN)} == {
            "throughput",
            "round",
            "windows",
        }
        assert page.run("document.querySelector('details').checkVisibility()") is False


def test_what_draws_nothing_or_fails_is_an_error() -> None:
    nothing = GalleryPicture("none", "None", "", ("./tcplab run --list",), "found/a.png")
    with pytest.raises(TcplabError, match="drew no"):
        made([nothing], PROGRAM, lambda title: None)
    wrong = GalleryPicture("wrong", "Wrong", "", ("./tcplab run nothing",), "found/a.png")
    with pytest.raises(CommandError, match="There is no experiment"):
        made([wrong], PROGRAM, lambda title: None)
