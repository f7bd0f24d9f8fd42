"""Processors and memory for guests, and folders that nobody keeps."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.host import processes, scratch
from testbed.host.processes import claimed_processor, guests_at_once
from topologies.errors import UsageError


def test_guests_get_processors_of_their_own_while_there_are_any(monkeypatch) -> None:
    monkeypatch.setattr(processes, "_least_busy_first", lambda: [9002, 9001])
    with claimed_processor() as first, claimed_processor() as second, claimed_processor() as beyond:
        assert (first, second, beyond) == (9002, 9001, 9002)
    with claimed_processor() as again:
        assert again == 9002


def test_a_claim_is_a_file_that_no_other_user_can_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Abstract sockets, which every user can make, would not keep names."""
    monkeypatch.setattr(processes, "_least_busy_first", lambda: [9003])
    bound = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()]
    with claimed_processor():
        claims = [file for base in scratch._bases() for file in base.glob("processor-9003")]
        (claim,) = (file for file in claims if scratch.is_held(file))
        assert claim.parent.stat().st_mode & 0o777 == 0o700
        after = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()]
        assert not [name for name in {*after} - {*bound} if name.startswith("@tcplab")]
    assert not scratch.is_held(claim)


def test_a_claimed_processor_is_an_allowed_one() -> None:
    with claimed_processor() as number:
        assert number in os.sched_getaffinity(0)


def test_guests_are_as_many_as_processors_and_memory_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "available_mib", lambda: 1000)
    monkeypatch.setattr(processes, "allowed_processors", lambda: 8)
    assert guests_at_once(100) == 8
    assert guests_at_once(300) == 3
    assert guests_at_once(300, 2) == 2
    with pytest.raises(
        UsageError, match=r"4 guests would take about 1200 MiB of memory, and 1000 MiB are free"
    ):
        guests_at_once(300, 4)
    with pytest.raises(UsageError, match="A guest would take about 1001 MiB"):
        guests_at_once(1001)


def test_available_memory_is_that_of_the_control_group_if_it_is_less(monkeypatch) -> None:
    free = processes.available_mib()
    assert free > 0
    monkeypatch.setattr(processes, "_left_in_control_group", lambda: 17)
    assert processes.available_mib() == 17


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path


def leftovers(temporary: Path) -> list[Path]:
    return [place for place in temporary.glob("tcplab-*/*") if place.is_dir()]


def test_scratch_is_empty_and_gone_afterwards(temporary: Path) -> None:
    with scratch.scratch() as first, scratch.scratch() as second:
        (first / "file").write_text("x")
        assert list(second.iterdir()) == []
        assert len(leftovers(temporary)) == 2
    assert leftovers(temporary) == []


def dies(temporary: Path) -> None:
    with scratch.scratch() as folder:
        (folder / "file").write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_left_goes_with_the_next(temporary: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=dies, args=(temporary,))
    process.start()
    process.join()
    assert len(leftovers(temporary)) == 1
    with scratch.scratch():
        assert len(leftovers(temporary)) == 1
    assert leftovers(temporary) == []


@pytest.fixture(params=["link", "file", "open", "another user"])
def taken(temporary: Path, request: pytest.FixtureRequest) -> Path:
    """The usual folder's name, taken by another user first."""
    usual = temporary / f"tcplab-{os.geteuid()}"
    if request.param == "link":
        (temporary / "elsewhere").mkdir()
        usual.symlink_to(temporary / "elsewhere")
    elif request.param == "file":
        usual.touch()
    elif request.param == "open":
        usual.mkdir()
        usual.chmod(0o777)
    else:
        if os.geteuid():
            pytest.skip("only root makes a folder of another user")
        usual.mkdir(mode=0o700)
        os.chown(usual, 65534, 65534)
    return usual


def test_a_folder_that_another_user_made_first_blocks_nobody(taken: Path, temporary: Path) -> None:
    with scratch.scratch() as first, scratch.scratch() as second:
        (base,) = {first.parents[1], second.parents[1]}
        assert base != taken and base.name.startswith(f"{taken.name}-")
        assert base.stat().st_mode & 0o777 == 0o700 and base.stat().st_uid == os.geteuid()
    assert not taken.is_dir() or not list(taken.iterdir())


def test_what_a_killed_process_left_in_such_a_folder_goes_too(taken: Path, temporary: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=dies, args=(temporary,))
    process.start()
    process.join()
    assert len(scratch.orphans()) == len(leftovers(temporary)) == 1
    assert len(scratch.remove_orphans()) == 1 and not leftovers(temporary)
