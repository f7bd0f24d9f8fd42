"""JSON and TOML that a parser chokes on is an error in one sentence, wherever it is read."""

import os
import re
from pathlib import Path

import pytest

from experiments.study.published import law_file
from experiments.sweep.definition import typed_definition
from labs.definition.assignment import read_course
from labs.definition.catalogue import find
from labs.grading.decisions import read_decisions
from labs.templates.rendering import read_drawings
from topologies.errors import UsageError
from topologies.notation import json_value, toml_table

ROOT = Path(__file__).resolve().parents[2]
DIGITS, DEEP = "9" * 5000, "[" * 20_000
PARSERS = re.compile(r"tomllib|\bjson\.loads?\b|json\.decode")


def test_json_and_toml_are_parsed_in_one_module() -> None:
    files = [
        file
        for package in ("analysis", "experiments", "labs", "testbed", "topologies")
        for file in (ROOT / package).rglob("*.py")
        if any(PARSERS.search(line) for line in file.read_text().splitlines())
    ]
    assert [file.relative_to(ROOT).as_posix() for file in files] == ["topologies/notation.py"]


@pytest.mark.parametrize(
    "text", [f"a = {DIGITS}", f"a = {DEEP}", "a =", f"a = 0x{'f' * 5000}\nb ="]
)
def test_toml_raises_value_errors_only(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|deeply|Invalid"):
        toml_table(text)


def test_json_raises_value_errors_only() -> None:
    assert json_value(f'{{"a": {DIGITS}}}') == {"a": float("inf")}
    for text in (DEEP, "{", b"\xff\xfe\xff"):
        with pytest.raises(ValueError, match=r"deeply|Expecting|codec"):
            json_value(text)


@pytest.mark.parametrize("text", [DIGITS, DEEP])
def test_files_of_users_are_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text(f"seeds = {text}\n")
    readers = (
        lambda: typed_definition(str(file)),
        lambda: read_course(file),
        lambda: read_decisions(tmp_path, find("sack")),
        lambda: read_drawings(file),
        lambda: law_file(file),
    )
    for read in readers:
        with pytest.raises(UsageError, match=r"cannot be read.*(digits|deeply)"):
            read()


def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "accepted.toml")
    for read in (typed_definition, lambda file: read_decisions(Path(file).parent, find("sack"))):
        with pytest.raises(UsageError, match=r"cannot be read.*no regular file"):
            read(str(tmp_path / "accepted.toml"))
