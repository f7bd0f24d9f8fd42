"""Locks end with the process that holds them; what it left is adopted by one other."""

import signal
import subprocess
import sys
from pathlib import Path

from testbed.host import scratch

HOLDER = """
import sys, time
from pathlib import Path
from testbed.host import scratch
path = Path(sys.argv[1])
with scratch.gate(path / "gate"):
    file = scratch.held(path)
print("held", flush=True)
time.sleep(60)
"""


def test_a_file_is_adopted_once_and_only_from_the_dead(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        assert scratch.is_held(path)
        assert scratch.adopted(path) is None
        holder.send_signal(signal.SIGKILL)
    assert not scratch.is_held(path)
    file = scratch.adopted(path)
    assert file
    with file:
        assert scratch.adopted(path, "a") is None
        assert scratch.is_held(path)
    assert not scratch.is_held(path)


def test_what_has_gone_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing/lock", tmp_path / "file/lock", tmp_path / "lock"):
        assert scratch.adopted(path) is None
        assert scratch.is_held(path)


def test_a_gate_is_a_file_or_a_folder_and_lets_one_through(tmp_path: Path) -> None:
    for place in (tmp_path / "gate", tmp_path):
        with scratch.gate(place):
            assert place is tmp_path or scratch.is_held(place)
            through = subprocess.run(
                ["flock", "--nonblock", str(place), "true"], check=False, capture_output=True
            )
            assert through.returncode == 1
        assert (
            subprocess.run(["flock", "--nonblock", str(place), "true"], check=False).returncode == 0
        )
