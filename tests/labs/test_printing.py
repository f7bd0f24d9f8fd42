"""A handout on paper: whole sheets of A4 from the page, and what to install if that cannot be."""

import re
import sys
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from labs.commands import lab as lab_commands
from labs.definition.assignment import Assignment
from labs.student.handout import pdf, print_handout

A4 = (595, 842)
"""Points, width and height."""


def sheets(content: bytes) -> list[tuple[int, int]]:
    """The size in points of each sheet of a PDF, whose objects are packed in streams."""
    streams = re.findall(rb"stream\n(.*?)\nendstream", content, re.DOTALL)
    objects = b"".join(zlib.decompress(each) for each in streams if each.startswith(b"x"))
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", objects)
    return [(round(float(width)), round(float(height))) for width, height in boxes]


def test_a_handout_is_printed_on_sheets_of_a4(assignment: Assignment, tmp_path: Path) -> None:
    pytest.importorskip("weasyprint", exc_type=OSError)
    file = print_handout(assignment, tmp_path / "sack.pdf")
    content = file.read_bytes()
    assert content.startswith(b"%PDF") and set(sheets(content)) == {A4}
    assert 4 <= len(sheets(content)) <= 15
    assert len(sheets(pdf("<p>short</p>"))) == 1


def test_what_printing_needs_is_said(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    result = CliRunner().invoke(lab_commands, ["print", str(assignment.folder)])
    assert result.exit_code == 1 and "pip install 'tcplab[handouts]'" in result.output
    assert not (assignment.folder / "handout.pdf").exists()
