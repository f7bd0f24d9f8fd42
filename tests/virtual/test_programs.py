"""Programs in a network in virtual time: the same packets whatever happens outside."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.program import ProgramFailed
from experiments.programs.start import NetworkOptions, started
from testbed.virtual.sandbox import Bubblewrap, Sandbox, Supervised
from tests.virtual.conftest import ROOT
from topologies.errors import TcplabError
from topologies.shapes import two_hosts
from topologies.untrusted import digest_of

pytestmark = pytest.mark.virtual
SERVER = """
import asyncio
async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
async def main():
    async with await asyncio.start_server(handle, "0.0.0.0", 7000) as server:
        await server.serve_forever()
asyncio.run(main())
"""
CLIENT = """
import socket, sys, time
begun = time.monotonic()
stream = socket.create_connection(("h2", 7000))
lines = stream.makefile("rw")
for number in range(20):
    print(f"hello {number}", file=lines, flush=True)
    assert lines.readline() == f"HELLO {number}\\n"
    time.sleep(0.2)
print(f"20 answers in {time.monotonic() - begun:.6f} s")
"""
SPINNER = """
import os, sys, threading, time
flag = []
threading.Timer(0.5, lambda: flag.append(1)).start()
while not flag:
    {ask}
print(time.monotonic())
"""


def double(number: int) -> tuple[int, list[int]]:
    return number * 2, [number]


def computed() -> float:
    begun = time.monotonic()
    sum(range(10**7))
    return time.monotonic() - begun


def connect(host: str) -> None:
    import socket

    socket.create_connection((host, 7000), timeout=3).close()


def names(loopback: str) -> dict[str, object]:
    import os
    import socket

    listening = socket.create_server((loopback, 0), family=socket.AF_INET6)
    socket.create_connection(listening.getsockname()[:2]).close()
    other = socket.gethostbyname("h2")
    return {"host": socket.gethostname(), "other": other, "variables": sorted(os.environ)}


def write(place: str) -> str:
    Path(place).write_text("of the guest")
    return Path(place).read_text()


@contextmanager
def two(
    project: Path,
    seed: int = 1,
    sandbox: type[Sandbox] | None = None,
    out: Path | None = None,
    clock: str = "2026-12-01",
    patience: float = 120.0,
    **link: str,
) -> Iterator[Network]:
    options = NetworkOptions(project=project, sandbox=sandbox, clock=clock, patience=patience)
    with started(two_hosts(channel(**link)), seed, out, options) as network:
        yield network


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of programs."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "server.py").write_text(SERVER)
    (place / "client.py").write_text(CLIENT)
    return place


def conversation(
    project: Path, out: Path, pause: float = 0.0, **options: object
) -> tuple[dict[str, str], str]:
    """The digests of the captures, and what the client printed."""
    with two(project, out=out, delay="150ms", loss="5%", **options) as network:  # type: ignore[arg-type]
        network.h2.start([sys.executable, "server.py"], port=7000)
        time.sleep(pause)
        client = network.h1.start([sys.executable, "client.py"])
        network.sleep("1s")
        time.sleep(pause)
        client.wait("2min").check()
    return {file.name: digest_of(file) for file in out.glob("*.pcap")}, client.stdout


def test_the_packets_are_the_same_with_pauses_and_in_the_other_sandbox(
    ready_lab, project: Path, tmp_path: Path
) -> None:
    once = conversation(project, tmp_path / "once", sandbox=Bubblewrap)
    assert conversation(project, tmp_path / "paused", 0.7, sandbox=Bubblewrap) == once
    assert conversation(project, tmp_path / "supervised", sandbox=Supervised) == once
    assert conversation(project, tmp_path / "seed", seed=2) != once
    assert len(once[0]) == 2 and "20 answers" in once[1]


WRITABLE = "__import__('select').select([], [sys.stderr], [])"
SPINS = ["os.sched_yield()", "time.monotonic()", WRITABLE, "os.getpid()"]


@pytest.mark.parametrize("ask", SPINS)
def test_a_program_that_asks_again_and_again_moves_time_alike(ready_lab, project, ask) -> None:
    (project / "spin.py").write_text(SPINNER.format(ask=ask))
    ends = []
    for _ in range(2):
        with two(project) as network:
            program = network.h1.run([sys.executable, "spin.py"])
            ends.append((program.stdout, network.now_ns, network.unrepeatable))
    assert ends[0] == ends[1] and ends[0][2] == ""


def test_a_program_that_computes_instead_of_waiting_is_named(ready_lab, project: Path) -> None:
    (project / "spin.py").write_text(SPINNER.format(ask="pass"))
    with two(project) as network:
        network.h1.run([sys.executable, "spin.py"])
        assert "python" in network.unrepeatable and "spins" in network.unrepeatable


@pytest.mark.long
def test_a_program_that_calculates_between_calls_gets_time_and_is_named(ready_lab, project) -> None:
    """Each stretch without a call is short, and the calls are too few to be counted on."""
    work = "[sum(range(100_000)) for _ in range(10)], __import__('os').stat('.')"
    (project / "spin.py").write_text(SPINNER.format(ask=work))
    with two(project) as network:
        network.h1.run([sys.executable, "spin.py"])
        assert "spins" in network.unrepeatable


def test_computing_takes_time_of_this_computer_if_that_is_wanted(ready_lab, project: Path) -> None:
    options = NetworkOptions(project=project, cpu="host")
    with started(two_hosts(channel()), 1, None, options) as network:
        assert network.h1.call(computed) > 0
        assert 'cpu="host"' in network.unrepeatable


def test_an_outage_silences_a_connection_and_ends(ready_lab, project: Path) -> None:
    with two(project, delay="20ms") as network:
        network.h2.start([sys.executable, "server.py"], port=7000)
        client = network.h1.start([sys.executable, "client.py"])
        network.link.down(at="1s", for_="4s")
        client.wait("1min").check()
        (connection,) = network.capture("h1").connections
        assert connection.retransmissions > 0 and connection.duration > 5.0
    assert client.ended - 1.0 > 5.0


def test_programs_see_the_clock_that_was_named(ready_lab, project: Path) -> None:
    with two(project, clock="2031-02-03T04:05") as network:
        program = network.h1.run(["date", "+%Y-%m-%d %H:%M"])
    assert program.stdout == "2031-02-03 04:05\n"


def test_a_function_runs_in_a_host_and_returns_data(ready_lab, project: Path) -> None:
    with two(ROOT) as network:
        assert network.h1.call(double, 4) == (8, [4])
        with pytest.raises(ConnectionRefusedError):
            network.h1.call(connect, "h2")
        network.link.down()
        with pytest.raises(TimeoutError):
            network.h1.call(connect, "h2")
        found = network.h1.call(names, "::1")
    assert (found["host"], found["other"]) == ("h1", "10.0.0.2")
    assert "PATH" in found["variables"] and len(found["variables"]) < 16


def test_what_programs_write_stays_in_the_guest(ready_lab, project: Path) -> None:
    with two(ROOT) as network:
        assert network.h1.call(write, str(ROOT / "README.md")) == "of the guest"
        with pytest.raises(OSError, match="Read-only"):
            network.h1.call(write, "/usr/bin/true")
    assert (ROOT / "README.md").read_text().startswith("# tcplab")


def test_a_program_that_fails_says_so(ready_lab, project: Path) -> None:
    with two(project) as network:
        with pytest.raises(ProgramFailed, match=r"(?s)status 127.*no-such-program"):
            network.h1.run(["no-such-program"])
        with pytest.raises(ProgramFailed, match="still runs after 1s of virtual time"):
            network.h1.run(["sleep", "10"], timeout="1s")
        with pytest.raises(ProgramFailed, match="does not listen on port 7000"):
            network.h2.start(["true"], port=7000)
        with pytest.raises(TcplabError, match="signal: 'SIGNONE'"):
            network.programs[1].signal("SIGNONE")


def execute(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "experiments.cli.main", "exec", *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


@pytest.mark.needs("curl")
def test_exec_ends_with_the_status_of_the_command(ready_lab, project: Path) -> None:
    (project / "page").write_text("hello\n")
    serve = f"{sys.executable} -m http.server 80"
    link = ["--delay", "150ms", "--loss", "5%", "--down", "100ms,2s"]
    good = execute(project, *link, "--server", serve, "--", "curl", "-sS", "http://h2/page")
    assert (good.returncode, good.stdout) == (0, "hello\n"), good.stderr
    assert "seed 1, captures in .tcplab/exec" in good.stderr
    assert (project / ".tcplab/exec/h1-eth0.pcap").stat().st_size > 500
    failed = execute(project, "--", "curl", "-sS", "http://h2/page")
    assert failed.returncode == 7, failed.stderr


TESTS = """
import sys
import pytest

@pytest.mark.tcplab(seeds=2)
def test_answers(network):
    h1, h2 = network.two_hosts(delay="20ms", loss="5%")
    h2.start([sys.executable, "server.py"], port=7000)
    assert "20 answers" in h1.run([sys.executable, "client.py"], timeout="2min").stdout

def test_fails(network):
    h1, h2 = network.two_hosts(delay="20ms")
    network.link.down(for_="1500ms")
    print_and_connect = "print('the last words', flush=True); create_connection(('10.0.0.2', 80))"
    h1.run([sys.executable, "-c", f"from socket import create_connection; {print_and_connect}"])
"""


def test_the_plugin_runs_seeds_and_tells_the_story_of_a_failed_test(ready_lab, project) -> None:
    (project / "test_mine.py").write_text(dedent(TESTS))
    (project / "pytest.ini").write_text("[pytest]\n")
    options = ["-p", "no:cacheprovider", "--tcplab-twice"]
    command = [sys.executable, "-m", "pytest", *options, "--junitxml=junit.xml", "-n0"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert "2 passed, 1 failed" in done.stdout or "1 failed, 2 passed" in done.stdout, done.stdout
    assert "the last words" in done.stdout
    assert "lasts=1.5s" in done.stdout
    assert re.search(r" 1\.0\d+  packet \d: SYN, 10\.0\.0\.1:\d+ to 10\.0\.0\.2:80", done.stdout)
    assert "pytest test_mine.py::test_fails --tcplab-seed 1" in done.stdout
    (kept,) = (project / ".tcplab").iterdir()
    assert (kept / "run/h1-eth0.pcap").is_file() and (kept / "seed").read_text() == "1\n"
    assert 'name="virtual_seconds"' in (project / "junit.xml").read_text()
