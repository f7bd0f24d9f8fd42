"""ruff and mypy have nothing to say; nothing in the repository names one person's machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME_OF_SOMEBODY = re.compile(r"(?<![\w.$}])/(?:home|Users)/(?!new\b|ann\b)\w+/")


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "--no-cache"], ["mypy", "--no-error-summary"]],
    ids=lambda words: words[0],
)
def test_the_checker_is_content(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo here")
def test_the_compiled_engine_is_formatted() -> None:
    done = subprocess.run(
        ["cargo", "fmt", "--check"],
        cwd=ROOT / "analysis/flows/core",
        capture_output=True,
        text=True,
        check=False,
    )
    if "no such command" in done.stderr or "not installed" in done.stderr:
        pytest.skip("this cargo has no rustfmt")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_names_a_folder_of_somebodys_home() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout that this user may read")
    for name in filter(None, listed.stdout.split("\0")):
        found = HOME_OF_SOMEBODY.search((ROOT / name).read_text(errors="ignore"))
        assert found is None, f"{name}: {found}"
