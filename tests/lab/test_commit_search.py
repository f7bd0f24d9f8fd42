"""The search for a commit, in small clones and with a measure that is known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from experiments.harness.kernels.bisect import CommitSearch
from topologies.foundation.errors import CommandError, UsageError


class MadeClone:
    """A clone whose commit number i has the number i in its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@b.example"]
        command = ["git", "-C", str(self.folder), *who, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, number: int) -> str:
        (self.folder / "number").write_text(str(number))
        self.git("add", "number")
        self.git("commit", f"--message=number {number}")
        return self.git("rev-parse", "HEAD")

    def number(self, commit: str) -> int:
        return int(self.git("show", f"{commit}:number"))


@pytest.fixture
def clone(tmp_path: Path) -> MadeClone:
    return MadeClone(tmp_path)


def search(clone: MadeClone, first_bad: int, broken: set[int] = frozenset()) -> CommitSearch:  # type: ignore[assignment]
    """Commits from number `first_bad` on are bad; `broken` ones cannot be built."""

    def measure(commit: str) -> float | None:
        number = clone.number(commit)
        return None if number in broken else 10.0 * number

    return CommitSearch(
        clone.folder, measure, lambda value: value >= 10 * first_bad, lambda _: None
    )


@pytest.mark.parametrize("first_bad", [2, 7, 15, 16])
def test_the_first_bad_commit_is_found_in_few_steps(clone: MadeClone, first_bad: int) -> None:
    commits = [clone.commit(number) for number in range(1, 17)]
    looking = search(clone, first_bad)
    assert looking.first_bad(commits[0], "main") == [commits[first_bad - 1]]
    assert len(looking.trials) <= 2 + 4
    assert clone.git("status", "--porcelain", "--branch") == "## main"


def test_a_commit_that_cannot_be_built_is_left_out(clone: MadeClone) -> None:
    commits = [clone.commit(number) for number in range(1, 10)]
    assert search(clone, 4, {5, 6}).first_bad(commits[0], commits[-1]) == [commits[3]]


def test_what_cannot_be_told_apart_is_named(clone: MadeClone) -> None:
    commits = [clone.commit(number) for number in range(1, 10)]
    suspects = search(clone, 5, {4, 5, 6}).first_bad(commits[0], commits[-1])
    assert set(suspects) == set(commits[3:7])
    assert suspects[-1] == commits[6]


def test_a_change_on_a_side_branch_is_found(clone: MadeClone) -> None:
    first = clone.commit(1)
    clone.git("checkout", "-b", "side")
    guilty = clone.commit(50)
    clone.commit(51)
    clone.git("checkout", "main")
    clone.git("merge", "--no-ff", "--message=merged", "side")
    assert search(clone, 50).first_bad(first, "main") == [guilty]


def test_ends_that_are_not_what_they_are_called_are_refused(clone: MadeClone) -> None:
    commits = [clone.commit(number) for number in range(1, 5)]
    with pytest.raises(UsageError, match="number 1 is not good: 10"):
        search(clone, 1).first_bad(commits[0], commits[-1])
    with pytest.raises(UsageError, match="number 4 is not bad: 40"):
        search(clone, 9).first_bad(commits[0], commits[-1])
    with pytest.raises(UsageError, match="could not be built"):
        search(clone, 3, {1}).first_bad(commits[0], commits[-1])
    with pytest.raises(CommandError):
        search(clone, 3).first_bad("no-such-tag", commits[-1])
