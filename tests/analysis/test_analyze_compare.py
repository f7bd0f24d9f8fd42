"""`analyze --compare`, `--sort`, and the summary of connections that never opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.captures import MadeCapture
from tests.analysis.frames import ACK, RST
from tests.analysis.looking import analyze

FULL = 1448


def download(
    capture: MadeCapture,
    trip: float,
    window: int,
    scales: tuple[int | None, int | None] = (7, 7),
    ports: tuple[int, int] = (40_000, 443),
    rounds: int = 60,
) -> None:
    """b sends `window` bytes in each round trip; captured at b."""
    flow = capture.flow(scales=scales, ports=ports).open(rtt=trip, seen_at_b=True)
    segments = window // FULL
    for number in range(rounds):
        at = 0.5 + number * trip
        flow.b.burst(at, segments, gap=1e-5, size=FULL)
        for place in range(segments):
            left = (segments - 1 - place) * FULL
            at_b = at + trip - 1e-3 + place * 1e-5
            flow.a.ack(at_b, to=flow.b.next - left, window=window >> (scales[0] or 0))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A download without and with window scaling, over 20 ms and 80 ms."""
    good, bad = MadeCapture(), MadeCapture()
    download(good, 0.02, 60 * FULL)
    good.flow(ports=(1, 80)).open().a.send(1, 10)
    download(bad, 0.08, 20 * FULL, scales=(None, None))
    return good.write(tmp_path, name="good.pcap"), bad.write(tmp_path, name="bad.pcap")


def test_the_first_line_says_how_much_slower_and_why(pair: tuple[Path, Path]) -> None:
    result = analyze("--compare", *pair)
    output = result.output
    head = " ".join(output.split())
    assert head.startswith("bad is 12")  # a third of the window in four times the round trip
    assert (
        "times slower than good (2.9 Mbit/s against 34.8 Mbit/s)" in head
        and "window without scale, not receive window" in head
    )
    assert "window scaling no against yes" in head
    row = next(line for line in output.splitlines() if "Shortest round trip" in line)
    assert "19 ms" in row and "79 ms" in row and row.endswith("differs ")
    text = " ".join(output.split())
    assert "connection 1 of 2 with 1 of 1, the largest two of the same both ends" not in text
    assert "Compared: connection 1 of 2 with 1 of 1, by both ends" in text
    assert all(len(line) <= 80 for line in output.splitlines())


def test_equal_captures_differ_in_nothing(pair: tuple[Path, Path], tmp_path: Path) -> None:
    again = tmp_path / "again.pcap"
    again.write_bytes(pair[0].read_bytes())
    result = analyze("--compare", pair[0], again, "--json")
    compared = json.loads(result.stdout)["captures"][2]["compared"]
    assert compared["sentence"] == "again is as fast as good: in both, receive window."
    assert not any(row["differs"] for row in compared["rows"])


def test_connections_are_matched_by_the_server_s_port(tmp_path: Path) -> None:
    """The larger connection of the first capture is to another port."""
    good, bad = MadeCapture(), MadeCapture()
    download(good, 0.02, 60 * FULL, ports=(50_000, 8080))
    download(good, 0.02, 40 * FULL, ports=(50_001, 443))
    download(bad, 0.02, 10 * FULL, ports=(50_002, 443))
    result = analyze(
        "--compare", good.write(tmp_path, name="a.pcap"), bad.write(tmp_path, name="b.pcap")
    )
    text = " ".join(result.output.split())
    assert "connection 2 of 2 with 1 of 1, by address and port of the server" in text


def test_a_comparison_takes_two_captures_and_writes_no_files(pair: tuple[Path, Path]) -> None:
    refused = analyze("--compare", pair[0], status=2)
    assert "--compare takes two captures, not 1." in refused.output
    analyze("--compare", *pair, "--out", "x", status=2)


def scanned(capture: MadeCapture) -> None:
    """40 ports of one host are tried: every fourth refuses, and port 100 is open."""
    for number in range(40):
        flow = capture.flow(ports=(1000 + number, 80 + number))
        flow.a.syn(number)
        if number % 4 == 0 and number != 20:
            flow.b.segment(number + 0.1, 0, 0, RST | ACK)
        if number == 20:
            flow.b.syn(number + 0.1)
            flow.a.segment(number + 0.2, 1, 0, RST)


def test_attempts_are_one_line_and_not_rows(tmp_path: Path) -> None:
    capture = MadeCapture()
    scanned(capture)
    for number in range(3):
        unanswered = capture.flow(hosts=(f"10.0.1.{number}", "10.0.0.9"), ports=(5, 25))
        unanswered.a.syn(number)
    flow = capture.flow(ports=(9, 443)).open(100)
    flow.a.send(100.1)
    flow.b.ack(100.2)
    text = " ".join(analyze(capture.write(tmp_path)).output.split())
    assert "Refused: 9 connections, from 10.0.0.1 to 9 ports (10.0.0.2:80," in text
    assert "Never answered: 33 connections, from 4 addresses to 31 ports (10.0.0.9:25," in text
    assert "Answered and left half open: 1 connection, from 10.0.0.1 to 10.0.0.2:100." in text
    places = [text.index(kind) for kind in ("Never answered", "Refused", "Answered and left")]
    assert places == sorted(places)
    assert text.count("\N{RIGHTWARDS ARROW}") == 2  # the block of the one that opened
    assert "Connection 44: 10.0.0.1:9" in text


@pytest.mark.parametrize(
    ("sort", "first"), [("bytes", "2"), ("duration", "3"), ("trouble", "4"), ("usual", "2")]
)
def test_many_connections_are_sorted(tmp_path: Path, sort: str, first: str) -> None:
    """Of five connections the second carries most, the third lasts longest, the fourth repeats."""
    capture = MadeCapture()
    for number in range(1, 6):
        flow = capture.flow(ports=(1000 + number, 443)).open(number)
        flow.a.burst(number + 0.1, 40 if number == 2 else 10)
        flow.b.ack(number + 0.2)
        if number == 3:
            flow.b.ack(number + 50)
        if number == 4:
            flow.a.send(number + 0.5, seq=1)
    words = () if sort == "usual" else ("--sort", sort)
    lines = analyze(capture.write(tmp_path), *words).output.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("No."))
    assert lines[head + 1].split()[0] == first
    assert all(len(line) <= 80 for line in lines[1:])


def test_long_addresses_keep_the_figures_in_their_columns(tmp_path: Path) -> None:
    capture = MadeCapture()
    ends = ("2001:db8:1111:2222:3333:4444:5555:6666", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff")
    for number in range(5):
        flow = capture.flow(hosts=ends, ports=(50_000 + number, 443)).open(number)
        flow.a.burst(number + 0.1, 20)
        flow.b.ack(number + 0.2)
    lines = analyze(capture.write(tmp_path)).output.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("No."))
    assert lines[head].index("Slow because") == lines[head + 1].index("cannot tell")
    assert all(len(line) <= 80 for line in lines[1:])
