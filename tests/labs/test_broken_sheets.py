"""A broken file of answers: what can be read of it counts, and the rest is named."""

from pathlib import Path

import pytest

from labs.definition.answers import misspelt, read_sheet
from labs.definition.spec import LabSpec
from topologies.errors import TcplabError


def sheet(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "answers.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_quotation_marks_of_a_word_processor_lose_no_answer(tmp_path: Path, sack: LabSpec) -> None:
    text = '[answers]\ngoodput_off = \u201c231 kbit/s\u201d\nfactor = "1.9"\n'
    file = sheet(tmp_path, text)
    answers = read_sheet(file, sack)
    assert answers["goodput_off"] == ["231 kbit/s"] and answers["factor"] == ["1.9"]
    assert misspelt(file, sack) == {}


def test_quotation_marks_inside_an_answer_stay(tmp_path: Path, sack: LabSpec) -> None:
    text = '[answers]\nwhy = "It says \u201cI wait for 2\u201d."\nwhere = 3..4\n'
    assert read_sheet(sheet(tmp_path, text), sack)["why"] == ["It says \u201cI wait for 2\u201d."]


def test_a_broken_answer_is_named_and_the_others_count(tmp_path: Path, sack: LabSpec) -> None:
    text = '[answers]\nwhy = """\nIt waits.\nfactor = "1.9"\nblocks = ["a",\n  "b"]\nwhere = 3..4\n'
    file = sheet(tmp_path, text)
    answers = read_sheet(file, sack)
    assert answers["factor"] == ["1.9"] and answers["blocks"] == ["a", "b"]
    found = misspelt(file, sack)
    assert {*found} == {"why", "where"} and "cannot be read" in found["why"]


def test_a_file_without_a_readable_answer_is_refused(tmp_path: Path, sack: LabSpec) -> None:
    with pytest.raises(TcplabError, match=r"answers\.toml cannot be read"):
        read_sheet(sheet(tmp_path, "[answers\nwhy = '"), sack)
