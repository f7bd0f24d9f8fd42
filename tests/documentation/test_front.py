"""README's pictures are those of this version."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from experiments.cli import main
from experiments.documentation import front
from experiments.documentation.front import RUN, SWEEP, drawn

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-P", "-m", main.__name__]


def test_readme_shows_the_pictures_of_commands_that_it_types() -> None:
    text = (ROOT / "README.md").read_text()
    shown = re.findall(r"!\[[^]]+\]\(docs/([^)]+)\)", text)
    assert shown == ["stage.svg", "report.svg", "sweep.svg"]
    assert f"./tcplab {RUN}\n" in text and f"./tcplab {SWEEP}\n" in text
    for name in shown:
        ElementTree.parse(ROOT / "docs" / name)


@pytest.mark.virtual
@pytest.mark.long
def test_the_pictures_are_those_that_the_documentations_build_draws() -> None:
    for name, text in drawn(PROGRAM).items():
        assert (ROOT / "docs" / name).read_text() == text, f"./tcplab docs draws docs/{name} again"


def test_only_pictures_that_changed_are_written(tmp_path, monkeypatch) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(front, "CODE", tmp_path)
    monkeypatch.setattr(front, "drawn", lambda _: {"a.svg": "<svg/>"})
    said: list[str] = []
    front.write(PROGRAM, said.append)
    front.write(PROGRAM, said.append)
    assert said == ["README's picture changed: docs/a.svg"]
