"""Captures of very many connections: pages show some, tables have all, memory is bounded."""

from __future__ import annotations

import csv
import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import flows, graphs
from analysis.analyze.files import json_pieces
from analysis.graphs import webpage
from tests.analysis.captures import START, MadeCapture
from tests.analysis.frames import ACK, RST
from tests.analysis.looking import analyze

MANY = 20_000
SHOWN = webpage.MOST_CONNECTIONS
_SYN = struct.Struct(">BBHHHBBHIIHHIIHHHH")


def scan(path: Path, connections: int) -> Path:
    """Write a capture of SYNs that nobody answers, each of a port and address of its own."""
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    with path.open("wb") as file:
        file.write(head)
        for number in range(connections):
            host, port = divmod(number, 50_000)
            packet = _SYN.pack(
                *(0x45, 0, 40, 0, 0, 64, 6, 0, 0x0A000001 + host, 0x0B000001),
                *(10_000 + port, 80, number * 7919, 0, 0x5002, 4096, 0, 0),
            )
            seconds, rest = divmod(START + number * 12_000, 10**9)
            file.write(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
    return path


def most_memory(*words: object) -> int:
    """The most bytes that `analyze` of these words had in memory."""
    program = (
        "import sys; from pathlib import Path\n"
        "from analysis.analyze.command import analyze\n"
        "try: analyze(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(status.split('VmHWM:')[1].split()[0], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(flows.__file__).parents[2])},
    )
    return int(done.stderr.split()[-1]) * 1024


@pytest.mark.parametrize(
    "words", [["--out", "--write", "html,csv"], ["--json"], ["--out", "--write", "json"], []]
)
def test_a_connection_more_takes_little_memory(tmp_path: Path, words: list[str]) -> None:
    """A row as a dictionary alone takes 10 kB; a connection of one packet needs about one."""
    few, many = (scan(tmp_path / f"{count}.pcap", count) for count in (200, MANY))
    given = [word if word != "--out" else f"--out={tmp_path / 'out'}" for word in words]
    assert most_memory(many, *given) - most_memory(few, *given) < 2000 * MANY


def test_the_page_shows_some_and_says_so_and_the_table_has_all(tmp_path: Path) -> None:
    capture = scan(tmp_path / "scan.pcap", MANY)
    result = analyze(capture, "--out", tmp_path / "out")
    rule = "those with most payload, and those with most retransmissions, resets and zero windows"
    page = (tmp_path / "out" / "graphs.html").read_text()
    assert f"Showing {SHOWN} of {MANY:,} connections of scan: {rule}" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["views"]) == SHOWN
    assert f"The page shows {SHOWN} of {MANY:,} connections: {rule}" in " ".join(
        result.output.split()
    )
    rows = list(csv.reader(io.StringIO((tmp_path / "out" / "connections.csv").read_text())))
    assert [row[0] for row in rows] == ["connection", *map(str, range(1, MANY + 1))]


def test_half_of_the_places_are_for_connections_in_trouble(tmp_path: Path) -> None:
    """Of 200 connections the last 100 carry most; 40 small ones have each a sign of trouble."""
    made, troubled = MadeCapture(), range(3, 80, 2)
    for number in range(200):
        flow = made.flow(ports=(10_000 + number, 80)).open(at=number)
        flow.a.send(number + 0.5, size=1000 if number >= 100 else 10)
        if number in troubled:
            flow.a.send(number + 0.9, size=10, seq=1)
        if number == 8:
            flow.b.segment(number + 0.95, 1, 0, RST | ACK)
        if number == 10:
            flow.b.ack(number + 0.95, window=0)
    read = flows.read(made.write(tmp_path), packets=True)
    assert read.packet_table is not None
    capture = graphs.Capture.of("made", read)
    views = webpage.document([capture])["views"]
    numbers = {int(view["connection"].split(":")[0]) - 1 for view in views}
    assert len(numbers) == SHOWN
    assert len([number for number in numbers if number >= 100]) == SHOWN // 2
    assert numbers - set(range(100, 200)) <= {*troubled, 8, 10}


@pytest.mark.parametrize("indent", [None, 1, 3])
@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": []},
        {"a": [1, {"b": [{"c": None}, {}]}], "d": 'x\ny\u2028"'},
        [[[]], 0.5, True],
    ],
)
def test_json_in_pieces_is_json(value: object, indent: int | None) -> None:
    assert "".join(json_pieces(value, indent)) == json.dumps(value, indent=indent)
    rows = [{"n": 1, "list": [1, 2]}, value]
    pieces = json_pieces({"file": value, "rows": iter(rows), "none": iter([])}, indent)
    whole = json.dumps({"file": value, "rows": rows, "none": []}, indent=indent)
    assert "".join(pieces) == whole
