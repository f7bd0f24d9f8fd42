"""Programs that run twice with the same seed: by `tcplab exec`, Python and pytest."""

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from experiments.programs.network import Network
from experiments.programs.start import AGAIN, twice
from tests.tools.made_programs import PRINTS_RANDOM

pytestmark = pytest.mark.virtual
needs_rdrand = pytest.mark.skipif(
    "rdrand" not in Path("/proc/cpuinfo").read_text(), reason="This processor has no rdrand"
)
SERVE = f"{sys.executable} -m http.server 80"
ASK = "__import__('urllib.request').request.urlopen('http://h2/mine?{}').read()"
SEEDED = "print(__import__('os').urandom(8).hex())"
TEST = """
def test_mine(network):
    h1, _ = network.two_hosts()
    h1.run(["./mine"])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir(mode=0o755)
    (place / "mine").write_bytes(PRINTS_RANDOM)
    (place / "mine").chmod(0o755)
    return place


def execute(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "experiments.cli.main", "exec", *words]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, errors="replace", check=False
    )


def test_equal_runs_are_one_sentence_and_the_status_of_the_command(ready_lab, project) -> None:
    words = ["--twice", "--delay", "20ms", "--loss", "5%", "--server", SERVE]
    client = f"{ASK.format('')}; {SEEDED}; raise SystemExit(3)"
    for _ in range(2):  # the second time replaces the folder of the first
        done = execute(project, *words, "--", sys.executable, "-c", client)
        assert done.returncode == 3 and len(done.stdout.split()) == 1, done.stderr
        last = done.stderr.splitlines()[-1]
        assert last == "tcplab: the second run is equal: captures, output and exit status."
    assert (project / ".tcplab/exec" / AGAIN / "h1-eth0.pcap").is_file()


@needs_rdrand
def test_a_program_with_the_processors_random_numbers_differs_and_is_named(
    ready_lab, project: Path
) -> None:
    done = execute(project, "--twice", "--", "./mine")
    assert done.returncode == 1
    assert f"may not repeat: {project}/mine can read the processor's random" in done.stderr
    assert "the second run differs." in done.stderr
    assert "1. h1: ./mine: line 1 of stdout was" in done.stderr


def test_the_first_packet_that_differs_is_named_in_python(ready_lab, project: Path) -> None:
    number = count(1)

    def ask(network: Network) -> None:
        network.h2.start([sys.executable, "-m", "http.server", "80"], port=80)
        network.h1.run([sys.executable, "-c", ASK.format(next(number))])

    capture, *others = twice(ask, project=project, delay="20ms", out=project.parent / "out")
    assert "-eth0.pcap differs from packet " in capture and "payload)" in capture
    assert "line 1 of stderr was" in others[-1]
    assert twice(lambda network: network.h1.run(["uname"]), project=project) == []


@needs_rdrand
def test_the_plugin_fails_a_test_that_differs(ready_lab, project: Path) -> None:
    (project / "test_mine.py").write_text(TEST)
    (project / "pytest.ini").write_text("[pytest]\n")
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tcplab-twice"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert "1 failed" in done.stdout and "The second time differs." in done.stdout
    assert "1. h1: ./mine: line 1 of stdout was" in done.stdout
    assert "May not repeat: " in done.stdout
