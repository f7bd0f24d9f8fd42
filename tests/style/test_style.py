"""The checkers have nothing to say; nothing in the repository names one person's machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_CLIPPY = ["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"]
HOME_OF_SOMEBODY = re.compile(r"(?<![\w.$}])/(?:home|Users)/(?!new\b|ann\b)\w+/")
WIDTH = 100
WIDE = {
    "*.csv": "a row is a line",
    "docs/gallery/pictures.toml": "a command is one line",
    "findings/*.sh": "a command is one line",
    "docs/*.svg": "drawn by tcplab docs",
    "*.lock": "written by cargo, uv and tcplab lock",
    "*/templates/*": "white space of a template is white space of a page",
    "*.j2": "white space of a template is white space of a handout",
    "labs/*/lab.toml": "a range of a lab is one line",
    "labs/*/text/*": "a text of a lab is one line",
    "labs/templates/*/words.toml": "the same",
    "labs/grading/moodle_headings.toml": "a language is a line",
    "testbed/lab/*": "a recipe's text is in the name of what it makes: all would be built anew",
    "experiments/custom_cc/exp.c": "its text is in the name of the module that it makes",
    "tests/virtual/generated_attacks.txt": "a system call is a line",
    "tests/commands/bad_inputs.txt": "an input is a line",
    "tests/virtual/hostile_modules.toml": "an attack is a line",
    "LICENSE": "as it is published",
    "tests/analysis/data/*": "recorded",
    "tests/unit/packetdrill_output/*": "recorded",
    "tests/labs/worksheets/*": "as Moodle writes them",
    "tests/native/*.sh": "commands of one line",
    "testbed/doctor/findings.toml": "a sentence is one line",
    "experiments/surprises/table.toml": "a sentence is one line",
}
"""Files that may have longer lines, and why."""


def tracked() -> Iterator[str]:
    """The names of the repository's files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout that this user may read")
    yield from (name for name in listed.stdout.split("\0") if (ROOT / name).is_file())


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--no-cache"],
        ["ruff", "format", "--check"],
        ["mypy", "--no-error-summary"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_checker_is_content(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo here")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["fmt", "--check"], id="fmt"),
        pytest.param(_CLIPPY, id="clippy", marks=pytest.mark.long),  # it compiles the engine
    ],
)
def test_the_compiled_engine_is_in_order(command: list[str]) -> None:
    done = subprocess.run(
        ["cargo", *command],
        cwd=ROOT / "analysis/flows/core",
        capture_output=True,
        text=True,
        check=False,
    )
    missing = ("no such command", "not installed", "Could not resolve host", "download of config")
    if any(words in done.stderr for words in missing):
        pytest.skip(f"this cargo has no {command[0]}, or no network for the crates")
    assert done.returncode == 0, done.stdout + done.stderr


def wide_lines(name: str) -> Iterator[int]:
    """The numbers of the lines beyond the width, but for tables, code and links of Markdown.

    Python's are ruff's to judge.
    """
    try:
        text = (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        apart = fenced or line.startswith(("|", "    ", "![")) or " " not in line
        if len(line) > WIDTH and not (name.endswith(".md") and apart):
            yield number


def test_lines_fit_beside_each_other() -> None:
    names = [name for name in tracked() if not any(fnmatch(name, wide) for wide in ("*.py", *WIDE))]
    wide = {name: lines for name in names if (lines := list(wide_lines(name)))}
    assert wide == {}


def test_no_file_names_a_folder_of_somebodys_home() -> None:
    for name in tracked():
        found = HOME_OF_SOMEBODY.search((ROOT / name).read_text(errors="ignore"))
        assert found is None, f"{name}: {found}"
