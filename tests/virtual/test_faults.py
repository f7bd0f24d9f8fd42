"""What goes wrong is contained, said in one message, and leaves nothing behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.host.supervise import Limits
from tests.virtual.conftest import read
from topologies.errors import TcplabError

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
JOBS = "tests.virtual.jobs"


def test_a_spinning_program_is_stopped_from_outside(in_guest, tmp_path: Path) -> None:
    with pytest.raises(TcplabError, match="limit of 3 s"):
        in_guest({"job": "spin"}, module=JOBS, limits=Limits(wall_seconds=3))
    assert not _ours_running(tmp_path)


def test_a_failing_job_says_why(in_guest) -> None:
    with pytest.raises(TcplabError, match="ValueError: this job fails on purpose"):
        in_guest({"job": "fail"}, module=JOBS)


def test_a_guest_that_dies_shows_its_last_words(in_guest) -> None:
    with pytest.raises(TcplabError, match=r"ended without a result(.|\n)*somebody pulled the plug"):
        in_guest({"job": "switch_off"}, module=JOBS)


def test_a_guest_sees_nothing_of_the_host(in_guest) -> None:
    folder, _ = in_guest({"job": "look_around"}, module=JOBS)
    seen = read(folder / "seen.json")
    assert set(seen["delivery"]) == {
        "dev",
        "image.squashfs",
        "init",
        "code.pyc",
        "job.pyz",
        "linux",
        "out",
        "image",
    }
    assert set(seen["host_root"]) == {"confine", "dev", "lab", "proc", "tmp"}, (
        "the sandbox holds more than the lab"
    )
    assert not seen["root_is_writable"]
    assert not {
        name for name in seen["links"] if not name.startswith(("lo", "dummy", "ifb", "ovs-system"))
    }
    assert "USER" not in seen["environment"]


def _start(store: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "experiments.sack",
        "--testbed",
        "virtual",
        "--duration",
        "4s",
        "--repeat",
        "1",
        "--out",
        str(store),
    ]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def test_killed_at_any_moment_nothing_stays_and_the_store_opens(ready_lab, tmp_path: Path) -> None:
    store, moments = tmp_path / "runs", random.Random(5)
    # The user's own folder of scratch folders stays; another test may make it meanwhile.
    before = {*os.listdir("/dev/shm"), f"tcplab-{os.geteuid()}"}
    for _ in range(6):
        process = _start(store)
        time.sleep(moments.uniform(0.2, 2.5))
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 10
        while _ours_running(store) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _ours_running(store)
    assert set(os.listdir("/dev/shm")) <= before
    process = _start(store)
    _, printed = process.communicate()
    where, *others = printed.splitlines()
    assert where.startswith(b"Lab kernel ") and process.returncode == 0
    assert all(line.startswith(b"sack: ") for line in others)  # progress, on a slow machine
    runs = [run for run in (store / "sack").iterdir() if run.is_dir() and not run.is_symlink()]
    assert not [run for run in runs if run.name.endswith(".in-progress")]
    statuses = [read(run / "manifest.json")["status"] for run in runs]
    assert statuses.count("complete") >= 1 and set(statuses) <= {"complete", "interrupted"}
    assert read(store / "sack" / "latest" / "manifest.json")["status"] == "complete"


def _ours_running(store: Path) -> list[str]:
    mark = str(store).encode()
    processes = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int(entry.name) != os.getpid()
                and mark in (entry / "cmdline").read_bytes()
            ):
                processes.append(entry.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return processes


@pytest.mark.skipif(os.geteuid() != 0, reason="about what root starts")
def test_what_root_starts_does_not_run_as_root(ready_lab, tmp_path: Path) -> None:
    process = _start(tmp_path)
    owners: set[str] = set()
    while process.poll() is None:
        owners |= {
            _user(entry)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _is_kernel(entry)
        }
        time.sleep(0.05)
    process.communicate()
    assert owners == {"65534"}


def _is_kernel(entry: Path) -> bool:
    try:
        return (entry / "cmdline").read_bytes().startswith(b"/lab/linux")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _user(entry: Path) -> str:
    try:
        return (entry / "status").read_text().split("Uid:")[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "65534"


def test_interrupted_by_hand_it_says_so_and_keeps_what_there_is(ready_lab, tmp_path: Path) -> None:
    store = tmp_path / "runs"
    process = _start(store)
    deadline = time.monotonic() + 30
    while (
        not list(store.glob("sack/*/raw/seed-1/sack_off/evidence.json"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    errors = process.communicate()[1].decode()
    assert process.returncode == 130 and "Stopped." in errors and "Traceback" not in errors
    (run,) = [run for run in (store / "sack").iterdir() if run.is_dir() and not run.is_symlink()]
    assert read(run / "manifest.json")["status"] == "interrupted"
    assert (run / "raw" / "seed-1" / "sack_off" / "h2-eth0.pcap").exists()
    assert not _ours_running(store)
