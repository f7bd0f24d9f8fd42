"""The journal of shared changes: what it holds if its run dies, and what undoing leaves alone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.native import changes
from testbed.native.changes import (
    Change,
    KernelNeeds,
    changed,
    new_journal,
    stale,
    taken_over,
    undo_stale,
)
from topologies.errors import CommandError, TcplabError

EXP, BBR = Change("module", "exp", 5), Change("algorithm", "bbr")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(changes, "FOLDER", tmp_path / "run" / "tcplab")
    monkeypatch.setattr(changes, "_BOOT", tmp_path / "boot")
    (tmp_path / "boot").write_text("first\n")
    (tmp_path / "run").mkdir()
    return tmp_path / "run" / "tcplab"


class FakeKernel:
    """What the changes are made to: loaded modules, and congestion controls."""

    def __init__(self, sysfs: Path) -> None:
        self.sysfs, self.free, self.stubborn = sysfs, ["reno", "cubic"], False

    def insert(self, name: str, file: Path) -> None:
        assert file.read_bytes() == b"code"
        (self.sysfs / name).mkdir()

    def remove(self, name: str, patience: float) -> None:
        if self.stubborn:
            raise CommandError("rmmod", 1, "in use")
        (self.sysfs / name).rmdir()

    def allow_algorithms(self, words: Iterator[str]) -> None:
        self.free = list(words)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    fake = FakeKernel(tmp_path)
    monkeypatch.setattr(changes, "_LOADED", tmp_path)
    for name in ("insert", "remove", "allow_algorithms"):
        monkeypatch.setattr(changes, name, getattr(fake, name))
    monkeypatch.setattr(changes, "allowed_algorithms", lambda: list(fake.free))
    known = {"available_algorithms": ["reno", "cubic", "bbr"], "default_algorithm": "cubic"}
    for name, answer in known.items():
        monkeypatch.setattr(changes, name, lambda answer=answer: answer)
    return fake


def died(*noted: Change) -> None:
    """A run that noted this and was killed: its file closed, nothing undone."""
    with new_journal() as living:
        for change in noted:
            living.note(change)


def test_a_living_journal_is_not_stale_and_an_empty_one_leaves_nothing(folder: Path) -> None:
    with new_journal() as living:
        living.note(EXP)
        assert stale() == []
        with taken_over() as journals:
            assert journals == []
        living.note(EXP, "undone")
    assert not folder.exists()


def test_what_a_killed_run_noted_is_taken_over_without_what_it_undid() -> None:
    died(Change("module", "exp"), BBR, EXP)
    assert len(stale()) == 1
    with taken_over() as (left,):
        assert left.changes == [BBR, EXP]
        left.note(BBR, "undone")
    with taken_over() as (left,):
        assert left.changes == [EXP]


@pytest.mark.parametrize("kept", range(1, 12))
def test_a_last_line_that_is_not_whole_was_not_acted_on(kept: int) -> None:
    died(BBR, EXP)
    (path,) = stale()
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:kept])
    with taken_over() as (left,):
        assert left.changes == [BBR]


def test_a_journal_from_before_the_machine_was_started_is_only_removed(tmp_path, kernel) -> None:
    died(BBR)
    (tmp_path / "boot").write_text("second\n")
    kernel.free.append("bbr")
    assert undo_stale() == []
    assert kernel.free == ["reno", "cubic", "bbr"] and stale() == []


def test_changes_are_there_meanwhile_and_gone_afterwards(kernel, tmp_path, folder) -> None:
    with changed(KernelNeeds({"exp": b"code"}, ("bbr", "cubic"))):
        assert (tmp_path / "exp").exists() and kernel.free == ["reno", "cubic", "bbr"]
    assert not (tmp_path / "exp").exists() and kernel.free == ["reno", "cubic"]
    assert not folder.exists()


def test_a_failure_undoes_and_what_cannot_be_undone_is_said_and_stays_noted(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    with (
        pytest.raises(TcplabError, match="no congestion control 'none'"),
        changed(KernelNeeds({"exp": b"code"}, ("none",))),
    ):
        pytest.fail("it began")
    assert not (tmp_path / "exp").exists()
    kernel.stubborn = True
    with (
        pytest.raises(TcplabError, match="in use"),
        changed(KernelNeeds({"exp": b"code"}, ("bbr",))),
    ):
        pass
    assert kernel.free == ["reno", "cubic"], "the other change was undone all the same"
    with taken_over() as (left,):
        assert [change.name for change in left.changes] == ["exp"]


def test_the_next_run_undoes_what_it_can_and_waits_only_for_what_it_needs(kernel, tmp_path) -> None:
    (tmp_path / "exp").mkdir()
    died(Change("module", "exp", (tmp_path / "exp").stat().st_ino))
    kernel.stubborn = True
    with changed(KernelNeeds(algorithms=("bbr",))):
        assert len(stale()) == 1
    with pytest.raises(TcplabError, match="in use"), changed(KernelNeeds({"exp": b"code"})):
        pytest.fail("it began")
    kernel.stubborn = False
    with changed(KernelNeeds({"exp": b"code"})):
        assert stale() == []


def test_a_later_module_of_the_same_name_and_an_earlier_permission_are_not_ours(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "exp").mkdir()
    died(Change("module", "exp", -1))
    assert undo_stale() and (tmp_path / "exp").exists()
    kernel.free.append("bbr")
    with changed(KernelNeeds(algorithms=("bbr",))):
        pass
    assert kernel.free == ["reno", "cubic", "bbr"]


def test_two_runs_share_a_congestion_control_until_the_last_has_ended(kernel: FakeKernel) -> None:
    with changed(KernelNeeds(algorithms=("bbr",))):
        with changed(KernelNeeds(algorithms=("bbr",))):
            pass
        assert "bbr" in kernel.free
    assert "bbr" not in kernel.free


def test_a_module_that_is_there_is_somebodys(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "exp").mkdir()
    with (
        pytest.raises(TcplabError, match="loaded by somebody else"),
        changed(KernelNeeds({"exp": b"code"})),
    ):
        pytest.fail("it began")
    assert (tmp_path / "exp").exists()


def test_clean_says_what_it_did(kernel: FakeKernel, monkeypatch, capsys) -> None:
    monkeypatch.setattr(changes.scratch, "remove_orphans", list)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    died(BBR)
    assert changes.main([]) == 0 and "bbr is restricted" in capsys.readouterr().out
    assert changes.main([]) == 0 and "Killed runs left no changes." in capsys.readouterr().out
    died(BBR)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert changes.main([]) == 1 and "sudo ./tcplab clean" in capsys.readouterr().err


def test_the_command_of_the_launcher_starts_without_a_warning() -> None:
    command = [sys.executable, "-W", "error", "-m", changes.__name__, "--help"]
    subprocess.run(command, check=True, capture_output=True)
