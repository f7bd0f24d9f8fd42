"""Requests and answers: `analyze --responses` on made captures with known times."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from analysis.flows.columns import EXCHANGES
from analysis.flows.reader import exchanges
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.looking import analyze

TRIP = 0.04
HELLO = bytes.fromhex("160301") + struct.pack(">H", 4 + 2 + 32 + 1 + 4 + 2 + 2 + 15)
HELLO += b"\x01\0\0" + bytes([2 + 32 + 1 + 4 + 2 + 2 + 15]) + b"\x03\x03" + bytes(32) + b"\0"
HELLO += b"\0\x02\x13\x01\x01\0" + struct.pack(">HHHHBH", 15, 0, 11, 9, 0, 6) + b"a.test"


def found(capture: MadeCapture, folder: Path) -> list[dict[str, Any]]:
    return exchanges(capture.write(folder))


def milliseconds(rows: list[dict[str, Any]], name: str) -> list[float | None]:
    return [None if row[name] is None else round(row[name] / 1e6, 3) for row in rows]


def pages(flow: MadeFlow) -> None:
    """Three pages: 100, 200 and 300 ms of thought, then five segments in 8 ms; a second idle."""
    for number in range(3):
        at = 1.0 + 2 * number
        flow.a.say(at, f"GET /{number} HTTP/1.1\r\n\r\n".encode())
        answer = at + TRIP + 0.1 * (number + 1)
        flow.b.say(answer, b"HTTP/1.1 200 OK\r\n\r\n")
        flow.b.burst(answer + 0.004, 5, gap=0.001)
        flow.a.ack(answer + 0.02)


def test_pages_of_http_have_their_times(tmp_path: Path) -> None:
    capture = MadeCapture()
    pages(capture.flow(ports=(40_000, 80)).open(rtt=TRIP))
    rows = found(capture, tmp_path)
    assert set(rows[0]) == {column.name for column in EXCHANGES}
    assert [row["what"] for row in rows] == [f"GET /{number}: 200" for number in range(3)]
    assert {row["protocol"] for row in rows} == {"HTTP"}
    assert milliseconds(rows, "response_time") == [140, 240, 340]
    assert milliseconds(rows, "think_time") == [100, 200, 300]
    assert milliseconds(rows, "transfer_time") == [8, 8, 8]
    assert milliseconds(rows, "idle_time") == [2000 - 148, 2000 - 248, None]
    assert {row["answer_bytes"] for row in rows} == {5000 + 19}


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is missing")
def test_tshark_reads_the_same_times(tmp_path: Path) -> None:
    """Its http.time is from the request to the first packet of the answer's header."""
    capture = MadeCapture()
    flow = capture.flow(ports=(40_000, 80)).open(rtt=TRIP)
    for number in range(3):
        flow.a.say(1.0 + number, b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        flow.b.say(1.1 + 1.1 * number, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    path = capture.write(tmp_path)
    command = ["tshark", "-r", str(path), "-Y", "http.time", "-T", "fields", "-e", "http.time"]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ours = [row["response_time"] / 1e9 for row in exchanges(path)]
    assert ours == pytest.approx([float(time) for time in theirs]) and len(ours) == 3


def test_pipelined_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    capture = MadeCapture()
    flow = capture.flow(ports=(40_000, 80)).open(rtt=TRIP)
    for number in range(3):
        flow.a.say(1 + number / 100, f"GET /{number} HTTP/1.1\r\n\r\n".encode())
    flow.b.say(1.5, b"HTTP/1.1 100 Continue\r\n\r\n")
    for number in range(2):
        flow.b.say(2.0 + number, f"HTTP/1.1 40{number} X\r\n\r\n".encode())
    rows = found(capture, tmp_path)
    assert [row["what"] for row in rows] == ["GET /0: 400", "GET /1: 401", "GET /2"]
    assert milliseconds(rows, "response_time") == [1000, 1990, None]


def test_repeats_change_no_times_and_late_ones_end_the_answer(tmp_path: Path) -> None:
    capture = MadeCapture()
    flow = capture.flow().open(rtt=TRIP)
    flow.a.send(1.0, 100)
    flow.a.send(1.3, 100, seq=1)
    flow.b.send(1.5, 1000)
    lost = flow.b.next
    flow.b.next += 1000
    flow.b.send(1.6, 1000)
    flow.b.send(1.9, 1000, seq=lost)
    flow.a.send(2.0, 100)
    flow.b.send(2.1, 1000, seq=lost)  # is no answer to the second request
    flow.b.send(2.5, 10)
    rows = found(capture, tmp_path)
    assert milliseconds(rows, "response_time") == [500, 500]
    assert milliseconds(rows, "transfer_time") == [400, 0]
    assert {row["protocol"] for row in rows} == {"turns"}


def test_a_greeting_answers_nothing(tmp_path: Path) -> None:
    capture = MadeCapture()
    flow = capture.flow(ports=(40_000, 25)).open(rtt=TRIP)
    flow.b.say(0.5, b"220 hello\r\n")
    flow.a.say(1.0, b"EHLO x\r\n")
    flow.b.say(1.2, b"250 x\r\n")
    (row,) = found(capture, tmp_path)
    assert (row["client_port"], row["server_port"]) == (40_000, 25)
    assert milliseconds([row], "response_time") == [200]


def record(kind: int, size: int) -> bytes:
    return struct.pack(">BHH", kind, 0x303, size) + bytes(size)


def test_handshakes_of_tls_are_no_requests(tmp_path: Path) -> None:
    """In TLS 1.3 the Finished and the tickets look like data, and an alert like a turn."""
    capture = MadeCapture()
    flow = capture.flow(ports=(40_000, 443)).open(rtt=TRIP)
    flow.a.say(1.0, HELLO)
    flow.b.say(1.05, record(22, 90) + record(20, 1) + record(23, 900))
    flow.a.say(1.06, record(20, 1) + record(23, 53))
    flow.b.say(1.11, record(23, 250))
    flow.a.say(2.0, record(23, 300)[:200])
    flow.a.say(2.01, record(23, 300)[200:] + record(23, 40))
    flow.b.say(2.51, record(23, 1000))
    flow.a.say(3.0, record(21, 2))
    rows = found(capture, tmp_path)
    protocols = [row["protocol"] for row in rows]
    assert protocols == ["TLS handshake", "TLS handshake", "TLS"]
    assert rows[0]["what"] == "a.test"
    assert milliseconds(rows[2:], "response_time") == [500]
    assert milliseconds(rows[2:], "request_duration") == [10]


def dns(number: int, answers: bool) -> bytes:
    head = struct.pack(">HHHHHH", number, 0x8180 if answers else 0x100, 1, 0, 0, 0)
    return head + b"\x03www\x04test\0\0\x01\0\x01"


def test_dns_by_udp_and_tcp(tmp_path: Path) -> None:
    """Two questions at once are answered in the other order, the third never."""
    capture = MadeCapture()
    client, server = "10.0.0.1", "10.0.0.53"
    for at, number, answers in ((1, 7, 0), (1.1, 8, 0), (1.2, 8, 1), (1.5, 7, 1), (2, 9, 0)):
        ports = (53, 5000) if answers else (5000, 53)
        datagram = struct.pack(">HHHH", *ports, 8 + 26, 0) + dns(number, bool(answers))
        hosts = (server, client) if answers else (client, server)
        capture.add(at, frames.ipv4(hosts, datagram, len(datagram), protocol=17))
    flow = capture.flow(ports=(40_000, 53)).open(3, rtt=TRIP)
    for at, number in ((3.1, 1), (3.2, 2)):
        flow.a.say(at, struct.pack(">H", len(dns(1, False))) + dns(number, False))
    for at, number in ((3.4, 2), (3.5, 1)):
        flow.b.say(at, struct.pack(">H", len(dns(1, True))) + dns(number, True))
    rows = found(capture, tmp_path)
    assert {(row["protocol"], row["what"]) for row in rows} == {("DNS", "www.test")}
    assert milliseconds(rows, "response_time") == [500, 100, None, 400, 200]
    assert [row["connection"] for row in rows] == [0, 0, 0, 1, 1]


def test_the_terminal_has_percentiles_and_the_slowest(tmp_path: Path) -> None:
    capture = MadeCapture()
    pages(capture.flow(ports=(40_000, 80)).open(rtt=TRIP))
    flow = capture.flow(ports=(40_001, 80)).open(20, rtt=TRIP)
    flow.a.say(21, b"GET /lost HTTP/1.1\r\n\r\n")
    path = capture.write(tmp_path)
    lines = analyze(path, "--responses").output.splitlines()
    assert lines[3].split("  ") != [] and "240 / 340 / 340" in lines[3]
    assert "200 / 300" in lines[3] and "8 / 8" in lines[3] and "3.6 s" in lines[3]
    assert "10.0.0.2:80, 1 without an answer, slowest: packet" in lines[4]
    assert "(GET /2: 200)" in lines[4]
    assert all(len(line) <= 80 for line in lines[1:])
    chosen = json.loads(analyze(path, "--responses", "--json", "--connection", 2).stdout)
    (row,) = chosen["captures"][0]["responses"]
    assert row["what"] == "GET /lost" and row["response_time"] is None


def test_snapped_payload_keeps_the_times_of_turns(tmp_path: Path) -> None:
    capture = MadeCapture(snaplen=66)
    pages(capture.flow(ports=(40_000, 80)).open(rtt=TRIP))
    assert milliseconds(found(capture, tmp_path), "response_time") == [140, 240, 340]
