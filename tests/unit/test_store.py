"""Run directories: in place in one step, never overwritten, orphans kept."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path

import pytest

from experiments.run.store import keep_orphans, new_run, point_latest
from topologies.errors import TcplabError


def manifest(run: Path) -> dict:
    return json.loads((run / "manifest.json").read_text())


def test_a_finished_run_is_in_its_place_with_the_digests_of_its_files(tmp_path: Path) -> None:
    with new_run(tmp_path / "sack", "seed7") as run:
        assert run.folder.name.endswith(".in-progress")
        (run.folder / "raw.txt").write_text("abc")
        final = run.finish({"status": "complete"})
    assert final.name == manifest(final)["id"] == run.identifier
    assert manifest(final)["files"] == {
        "raw.txt": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    }
    assert not run.folder.exists() and not (final / "lock").exists()


def test_only_its_owner_enters_a_run_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "sack").mkdir(mode=0o755)
    with new_run(tmp_path / "sack", "seed7") as run:
        assert run.folder.stat().st_mode & 0o777 == 0o700
        final = run.finish({"status": "complete"})
    assert final.stat().st_mode & 0o777 == 0o755


def test_two_runs_of_the_same_second_and_seed_get_two_folders(tmp_path: Path) -> None:
    with (
        new_run(tmp_path / "sack", "seed7") as first,
        new_run(tmp_path / "sack", "seed7") as second,
    ):
        assert first.finish({"status": "complete"}) != second.finish({"status": "complete"})


def test_the_run_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    with new_run(tmp_path / "sack", "seed7") as run:
        assert keep_orphans(tmp_path / "sack") == []
        assert run.folder.exists()


def test_the_run_that_is_being_finished_is_left_alone(tmp_path, monkeypatch) -> None:
    adopted: list[Path] = []

    def digest(_folder: Path, _name: str) -> str:
        adopted.extend(keep_orphans(tmp_path / "sack"))
        return ""

    monkeypatch.setattr("topologies.untrusted.digest", digest)
    with new_run(tmp_path / "sack", "seed7") as run:
        (run.folder / "raw.txt").write_text("abc")
        final = run.finish({"status": "complete"})
    assert adopted == [] and manifest(final)["files"] == {"raw.txt": ""}


def _die_while_writing(root: str) -> None:
    with new_run(Path(root) / "sack", "seed7") as run:
        (run.folder / "half").write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_run_of_a_killed_writer_is_kept_as_interrupted(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(
        target=_die_while_writing, args=(str(tmp_path),)
    )
    process.start()
    process.join()
    with new_run(tmp_path / "sack", "seed8") as run:
        run.finish({"status": "complete"})
    statuses = {
        manifest(path)["status"]: path for path in (tmp_path / "sack").iterdir() if path.is_dir()
    }
    assert set(statuses) == {"interrupted", "complete"}
    assert (statuses["interrupted"] / "half").read_text() == "x"


def test_latest_leads_to_the_newest(tmp_path: Path) -> None:
    for seed in (1, 2):
        with new_run(tmp_path / "sack", f"seed{seed}") as run:
            final = run.finish({"status": "complete"})
        point_latest(final)
        assert (tmp_path / "sack" / "latest").resolve() == final


def test_a_place_that_cannot_be_written_is_said_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TcplabError, match="--out"), new_run(tmp_path / "file" / "sack", "seed7"):
        pass


def test_a_full_disk_is_said_before_anything_runs(tmp_path, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 10, 0))
    with pytest.raises(TcplabError, match="MiB are free"), new_run(tmp_path / "sack", "seed7"):
        pass
    assert not list((tmp_path / "sack").glob("*seed*"))


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "Free space"), (errno.EROFS, "not read-only")]
)
def test_a_disk_that_fails_meanwhile_is_said_with_its_remedy(tmp_path, number, remedy) -> None:
    with pytest.raises(TcplabError, match=remedy) as error, new_run(tmp_path / "sack", "seed7"):
        raise OSError(number, os.strerror(number), "/somewhere/raw")
    assert error.value.problem == f"/somewhere/raw cannot be written: {os.strerror(number)}."
    assert "Measured files are kept" in error.value.remedy


def test_other_errors_of_files_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), new_run(tmp_path / "sack", "seed7"):
        raise FileNotFoundError(errno.ENOENT, "absent")
