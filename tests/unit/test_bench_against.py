"""Two checkouts measured in turns: here each is a folder with a program of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness.bench.against import COMMANDS, compare, comparison_table
from topologies.foundation.errors import CommandError, UsageError


def checkout(folder: Path, body: str) -> Path:
    folder.mkdir()
    start = folder / "tcplab"
    start.write_text(f"#!/bin/sh\n{body}\n")
    start.chmod(0o755)
    return folder


def test_both_are_asked_in_turns_and_leave_nothing(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    old, new = (
        checkout(tmp_path / name, f'echo "{name} $*" >> {asked}; touch left') for name in "ab"
    )
    compared = compare(old, new, 2, lambda _text: None)
    assert [each.command for each in compared] == list(COMMANDS)
    assert all(len(each.before) == len(each.now) == 2 for each in compared)
    assert all(cost.wall > 0 for each in compared for cost in (*each.before, *each.now))
    lines = asked.read_text().splitlines()
    assert [line[0] for line in lines] == ["a", "b"] * 3 * len(COMMANDS)
    assert not (old / "left").exists() and not Path("left").exists()
    assert comparison_table(compared, old).row_count == len(COMMANDS)


def test_a_command_that_fails_is_shown_with_its_output(tmp_path: Path) -> None:
    old = checkout(tmp_path / "old", "echo no such experiment; exit 3")
    with pytest.raises(CommandError, match="no such experiment"):
        compare(old, old, 1, lambda _text: None)


def test_a_folder_without_the_program_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no checkout"):
        compare(tmp_path, tmp_path, 1, lambda _text: None)
