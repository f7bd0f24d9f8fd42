"""`analyze --live` on captures that grow, of known truth."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analysis import flows
from analysis.analyze.listed import of_engine
from analysis.analyze.live import GrowingFile
from analysis.flows.reader import FollowedCapture
from tests.analysis.captures import opened
from tests.analysis.conftest import SAMPLE
from tests.analysis.mutations import file_by_chance
from tests.tools import made_captures
from topologies.errors import TcplabError

CAPTURE = SAMPLE / "raw" / "seed-5" / "sack_on" / "h1-eth0.pcap"
LIMIT = 300
"""Seconds after which what is waited for is taken to never come."""
Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Started]:
    """Starts `analyze --live` with these words; what still runs is ended."""
    processes: list[subprocess.Popen[str]] = []

    def started(*words: object, **settings: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "analysis", "analyze", "--live", "--interval", "0.1"]
        process = subprocess.Popen(
            [*command, *map(str, words)],
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | settings,
        )
        processes.append(process)
        return process

    yield started
    for process in processes:
        process.kill()
        process.communicate()


def _line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line that has these words; its lack ends the test, and so does the process's end."""
    assert process.stdout
    timer = threading.Timer(LIMIT, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            if words in line:
                return line
    finally:
        timer.cancel()
    raise AssertionError(f"no line says {words!r}: {process.communicate()}")


def _tables(*words: object) -> str:
    """What `analyze` prints of a whole file, without the name."""
    command = [sys.executable, "-P", "-m", "analysis", "analyze", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[2]


def test_fed_octet_by_octet_it_counts_as_the_whole_file() -> None:
    octets = CAPTURE.read_bytes()
    capture = FollowedCapture("made")
    for at in range(len(octets)):
        capture.feed(octets[at : at + 1])
        if at % 3000 == 0:
            capture.columns()  # a look changes nothing
    capture.end()
    results, file, in_all = capture.columns()
    whole, facts = flows.reader.columns(CAPTURE)
    assert results["connections"] == whole["connections"]
    assert (file.packets, file.tcp_segments, file.bytes) == (
        facts.packets,
        facts.tcp_segments,
        facts.bytes,
    )
    assert (file.fault, in_all) == (None, 1)


@pytest.mark.parametrize("number", range(40))
def test_files_by_chance_are_followed_as_they_are_read(number: int, tmp_path: Path) -> None:
    octets = file_by_chance(number)
    path = tmp_path / "chance.pcap"
    path.write_bytes(octets)
    try:
        whole, facts = flows.reader.columns(path)
    except TcplabError:
        with pytest.raises(TcplabError, match="no capture"):
            _fed(octets)
        return
    if facts.compression:
        with pytest.raises(TcplabError, match="not compressed"):
            _fed(octets)
        return
    results, file, _ = _fed(octets)
    if not facts.backwards:  # what grows cannot be sorted
        assert results["connections"] == whole["connections"]
    assert (file.fault, file.fault_offset) == (facts.fault, facts.fault_offset)
    assert (file.packets, file.ignored) == (facts.packets, facts.ignored)


def _fed(octets: bytes) -> tuple[dict[str, object], flows.FileFacts, int]:
    capture = FollowedCapture("made")
    for at in range(0, len(octets), 777):
        capture.feed(octets[at : at + 777])
    capture.end()
    columns = capture.columns()
    if not columns[1].format:
        raise TcplabError("no capture", "")
    return columns


def test_of_too_many_connections_the_latest_are_kept(tmp_path: Path) -> None:
    most = 60
    path = tmp_path / "handshakes.pcap"
    made_captures.idle(path, most + 1)
    octets, more = path.read_bytes(), opened(ports=(9, 9)).capture.pcap()[24:]
    capture = FollowedCapture("made", most)
    capture.feed(octets)
    capture.feed(more)
    listed, file, in_all = _rows(capture)
    assert (file.packets, in_all) == (3 * (most + 1) + 3, most + 2)
    numbers = [row["connection"] for row in listed]
    assert numbers == [*range(most // 2 + 2, most + 3)]
    assert {row["connect_time"] is None for row in listed} == {False}


def _rows(capture: FollowedCapture) -> tuple[list[dict[str, object]], flows.FileFacts, int]:
    results, file, in_all = capture.columns()
    return list(of_engine(results, file).rows()), file, in_all


def test_a_growing_file_is_followed_until_ctrl_c(tmp_path: Path, start: Started) -> None:
    path, octets = tmp_path / "grows.pcap", CAPTURE.read_bytes()
    path.write_bytes(b"")
    process = start(path)
    assert "no packets yet" in _line_with(process, "yet")
    with path.open("ab", buffering=0) as file:
        file.write(octets[:6000])
        first = flows.read(_cut(tmp_path, octets[:6000]))
        assert f" {first.file.packets} packets, 1 connection" in _line_with(process, " 1 conn")
        file.write(octets[6000:])
        whole = flows.read(CAPTURE)
        again = whole.connections["retransmissions_a2b"][0]
        line = _line_with(process, f" {whole.file.packets} packets")
        assert f"{again} retransmission" in line
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (0, "")
    assert output.endswith(_tables(CAPTURE))


def _cut(folder: Path, octets: bytes) -> Path:
    path = folder / "cut.pcap"
    path.write_bytes(octets)
    return path


def test_a_pipe_is_followed_to_its_end(start: Started) -> None:
    process = start("-", stdin=subprocess.PIPE, text=False)
    output, errors = process.communicate(CAPTURE.read_bytes(), timeout=LIMIT)
    assert (process.returncode, errors) == (0, b"")
    assert output.decode().endswith(_tables(CAPTURE))


def test_a_pipe_that_is_cut_ends_with_what_came_and_the_damage(start: Started) -> None:
    process = start("-", "--json", stdin=subprocess.PIPE, text=False)
    output, errors = process.communicate(CAPTURE.read_bytes()[:5000], timeout=LIMIT)
    assert process.returncode == 1
    assert b"standard input is damaged: it is cut short" in errors
    (capture,) = json.loads(output)["captures"]
    assert capture["connections"][0]["unique_bytes_sent_a2b"] > 0


@pytest.mark.parametrize("octets", [b"hello, world", b"\x1f\x8b\x08\0", b""])
def test_what_cannot_be_followed_is_one_sentence(octets: bytes, start: Started) -> None:
    process = start("-", stdin=subprocess.PIPE, text=False)
    output, errors = process.communicate(octets, timeout=LIMIT)
    assert (process.returncode, output) == (1, b"")
    wanted = b"is no capture that can be followed" if octets else b"No packets came from standard"
    assert errors.count(b"\n") == 1
    assert wanted in errors


def _truncate(path: Path) -> None:
    os.truncate(path, 100)


def _replace(path: Path) -> None:
    other = path.with_name("other.pcap")
    other.write_bytes(path.read_bytes() * 2)
    other.replace(path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [(_truncate, "was truncated"), (_replace, "was replaced"), (Path.unlink, "was removed")],
)
def test_a_file_that_is_no_more_what_it_was_is_told_after_the_tables(
    spoil: Callable[[Path], None], words: str, tmp_path: Path, start: Started
) -> None:
    path = tmp_path / "grows.pcap"
    path.write_bytes(CAPTURE.read_bytes())
    process = start(path)
    _line_with(process, " 1 connection")
    spoil(path)
    output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert output.endswith(_tables(CAPTURE))
    assert f"{path} {words}" in errors
    assert "Traceback" not in errors


def test_what_is_there_when_it_is_stopped_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "grows.pcap"
    path.write_bytes(b"abc")
    with path.open("rb", buffering=0) as file:
        source = GrowingFile(path, file)
        assert source.read(0) == b"abc"
        assert source.read(0) == b""
        path.write_bytes(b"abcdef")
        source.stop()
        assert source.read(0) == b"def"
        assert source.read(0) is None


def test_on_a_terminal_the_tables_are_drawn_again_and_vanish(start: Started) -> None:
    """On the other screen (DECSET 1049); the last tables stand on the usual one."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
    process = start(
        "-", stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, text=False, env=environment
    )
    os.close(theirs)
    assert process.stdin
    octets, seen = CAPTURE.read_bytes(), b""
    process.stdin.write(octets[:6000])
    process.stdin.flush()
    while b"Limited by" not in seen:
        seen += os.read(ours, 4096)
    assert b"\x1b[?1049h" in seen
    process.stdin.write(octets[6000:])
    process.stdin.close()
    after = _rest(ours).partition(b"\x1b[?1049l")[2].decode()
    assert process.wait(LIMIT) == 0
    again = flows.read(CAPTURE).connections["retransmissions_a2b"][0]
    assert f"Retransmissions      {again}" in after
    assert after.count("Connection 1") == 1
    os.close(ours)
    process.stdin = None


def _rest(terminal: int) -> bytes:
    """All that is written to a terminal until nobody has it open."""
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 4096))
        except OSError:
            return b"".join(parts)


TCPDUMP = """#!/bin/sh
[ "$2" = lo ] || { echo "tcpdump: $2: You don't have permission to capture" >&2; exit 1; }
trap 'echo "3 packets dropped by kernel" >&2; exit 0' INT
cat "$CAPTURE"
while :; do sleep 0.05; done
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """An environment whose tcpdump gives a capture, and goes on until SIGINT."""
    program = tmp_path / "tcpdump"
    program.write_text(TCPDUMP)
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "CAPTURE": str(CAPTURE)}


def test_an_interface_is_followed_by_a_tcpdump_that_ends_with_us(
    stand_in: dict[str, str], start: Started
) -> None:
    process = start("lo", env=stand_in)
    _line_with(process, " 1 connection")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (0, "tcpdump: 3 packets dropped by kernel\n")
    assert output.endswith(_tables(CAPTURE))


def test_without_the_right_to_capture_the_remedy_is_told(
    stand_in: dict[str, str], start: Started
) -> None:
    process = start("any", env=stand_in)
    output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, output) == (1, "")
    assert "tcpdump cannot capture on any: tcpdump: any: You don't have permission" in errors
    assert "sudo tcpdump -i any -U -w - | ./tcplab analyze --live -" in errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing.pcap"], "There is no file and no network interface nothing.pcap."),
        ([], "--live follows one capture."),
        ([CAPTURE, CAPTURE], "--live follows one capture."),
        ([CAPTURE, "--port", "80"], "--live prints the tables of all connections"),
        (["."], ". is a folder."),
    ],
)
def test_wrong_calls_are_one_sentence(words: list[object], sentence: str, start: Started) -> None:
    process = start(*words)
    output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, output) == (2, "")
    assert sentence in errors


def test_ends_that_nobody_closes_do_not_keep_it(start: Started) -> None:
    """Ctrl-C ends it though the pipe's writer goes on."""
    process = start("-", stdin=subprocess.PIPE, text=False)
    assert process.stdin
    process.stdin.write(opened().capture.pcap())
    process.stdin.flush()
    assert process.stdout
    assert b"1 connection" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.wait(LIMIT) == 0
    assert time.monotonic() - begin < LIMIT
