"""A process with more than 1,024 open descriptors, which select(2) cannot watch."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.lab.ready import Lab

ROOT = Path(__file__).resolve().parents[2]
IN_GUESTS = ("testbed/guest", "testbed/guest/packetdrill.py")
"""Guests have few descriptors, and what they import is part of their packets."""
BEGINNING = """
import os, resource, sys
from pathlib import Path

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
held = [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) for _ in range(1100)]
assert held[-1] > 1024
"""
PIPE = """
from analysis.analyze.live import GrowingPipe
read, write = os.pipe()
source = GrowingPipe(read)
assert source.read(0) == b""
os.write(write, b"octets")
assert source.read(60) == b"octets"
os.close(write)
assert source.read(60) is None
"""
JOB = """
from testbed.host.supervise import started
with open(sys.argv[1] + "/console", "wb") as console:
    with started(["sleep", "1000"], console, []) as process:
        pass
assert process.poll() is not None
"""
RUN = """
from experiments.run.session import run_from_python as run
folder = run("sack", {"duration": "1s"}, seeds=[1], out=Path(sys.argv[1]), testbed="virtual")
assert list(Path(folder).rglob("*.pcap*"))
"""
PLAY = """
import threading
from experiments.play.player import Player
from experiments.play.settings import PlaySettings
with Player(waiting=1) as player:
    settings = PlaySettings.from_data({"duration": "1s"})
    assert player.play(settings, lambda _: None, threading.Event()).verdict == "good"
"""


def carry_out(script: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + script, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", [PIPE, JOB], ids=["pipe", "job"])
def test_what_waits_for_a_descriptor_takes_any(script: str, tmp_path: Path) -> None:
    carry_out(script, tmp_path)


@pytest.mark.virtual
@pytest.mark.parametrize("script", [RUN, PLAY], ids=["run", "play"])
def test_a_guest_is_started_and_ended(script: str, tmp_path: Path, ready_lab: Lab) -> None:
    carry_out(script, tmp_path)


def test_only_guests_use_select() -> None:
    files = {
        str(path.relative_to(ROOT))
        for package in ("topologies", "testbed", "experiments", "analysis", "labs", "tests")
        for path in (ROOT / package).rglob("*.py")
        if "select(" in (text := path.read_text(encoding="utf-8")) and calls_select(text)
    }
    assert {name for name in files if not name.startswith(IN_GUESTS)} == set()


def calls_select(text: str) -> bool:
    """Whether the module has select.select, or imports that name."""
    nodes = list(ast.walk(ast.parse(text)))
    return any(
        (isinstance(node, ast.Attribute) and ast.unparse(node) == "select.select")
        or (isinstance(node, ast.ImportFrom) and node.module == "select")
        for node in nodes
    )
