"""What processes take, as the kernel tells it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.host.processes import command_line, taken_by, with_descendants

CHILDREN = 900  # so many that the kernel tells their numbers in more than one piece
PARENT = f"""
import os, signal
held = bytearray(50 << 20)
for _ in range({CHILDREN}):
    if not os.fork():
        signal.pause()
print(flush=True)
signal.pause()
"""


@pytest.fixture(scope="module")
def parent() -> Iterator[int]:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def test_all_descendants_are_found(parent: int) -> None:
    told = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    assert sorted(with_descendants(parent)) == sorted([parent, *map(int, told)])
    assert len(told) == CHILDREN


def test_what_they_have_taken_is_added_up(parent: int) -> None:
    usage = taken_by(parent)
    assert 50 << 20 < usage.peak < 200 << 20
    assert usage.private > CHILDREN * usage.peak // 2
    assert usage.cpu > 0


def test_one_that_has_ended_takes_nothing() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert list(with_descendants(process.pid)) == []
    assert taken_by(process.pid).peak == 0
    assert command_line(process.pid) == []


def test_the_words_of_a_command(parent: int) -> None:
    assert command_line(parent)[:2] == [sys.executable, "-c"]
