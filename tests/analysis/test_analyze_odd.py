"""Odd captures: each doubt is stated with its remedy, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import flows
from analysis.analyze.listed import of_reading
from analysis.analyze.reported import doubts
from tests.analysis import frames
from tests.analysis.captures import MSS, MadeCapture, MadeFlow
from tests.analysis.conftest import SAMPLE
from tests.analysis.frames import ACK, LINUX_COOKED_2, RST, Record
from tests.analysis.looking import analyze as analyzed
from tests.tools.agreement import compare
from topologies.errors import CommandError, TcplabError

REAL = sorted(SAMPLE.rglob("*.pcap"))
ROOT = Path(__file__).parents[2]


def talk(
    capture: MadeCapture | None = None, count: int = 20, begin: float = 0.0, **settings: object
) -> MadeFlow:
    """A whole connection at its sender: `count` segments, each acknowledged after a round trip."""
    flow = (capture or MadeCapture()).flow(**settings).open(begin)
    for number in range(count):
        flow.a.send(begin + 0.1 + number * 0.05)
        flow.b.ack(begin + 0.14 + number * 0.05)
    flow.a.fin(begin + 2)
    flow.b.fin(begin + 2.04)
    flow.a.ack(begin + 2.041)
    return flow


def analyze(*words: object) -> str:
    return " ".join(analyzed(*words).output.split())


def _kept(chosen: Callable[[Record], bool]) -> bytes:
    return frames.pcap([record for record in talk().capture.sorted() if chosen(record)])


def _from_a(record: Record) -> bool:
    return record.data[26:30] == bytes((10, 0, 0, 1))


def _backwards(places: slice, by: int = 5 * 10**9) -> bytes:
    records = talk().capture.sorted()
    records[places] = [
        Record(record.time - by, record.data, record.wire) for record in records[places]
    ]
    return frames.pcap(records)


def _twice() -> bytes:
    return frames.pcap([copy for record in talk().capture.sorted() for copy in (record, record)])


ODD = {
    "one way": (_kept(_from_a), "Connection 1: only one direction was captured"),
    "the other way": (
        _kept(lambda record: not _from_a(record)),
        "Connection 1: only one direction was captured",
    ),
    "ACKs only": (
        _kept(lambda record: record.wire < MSS),
        "Connection 1: bytes were sent that are not in",
    ),
    "without SYNs": (
        _kept(lambda record: not record.data[47] & 2),
        "Connection 1: without both SYNs",
    ),
    "cut": (talk().capture.pcap(snaplen=54), "Only the first 54 bytes of each packet were kept."),
    "backwards": (
        _backwards(slice(-3, None)),
        "Time goes backwards in this file at 1 packet, by up to 4.09 s",
    ),
    "backwards inside": (
        _backwards(slice(9, 12), 2 * 10**8),
        "Time goes backwards in this file at 1 packet, by",
    ),
    "twice": (_twice(), "Connection 1: many segments are in the capture twice"),
    "of no known link": (
        frames.pcap(talk().capture.sorted(), link=250),
        "Of link type 250 not all is read",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_doubtful_is_said_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, sentence = ODD[name]
    path = tmp_path / "odd.pcap"
    path.write_bytes(content)
    doubts_found = doubts(of_reading(flows.read(path)))
    assert [doubt.startswith(sentence) for doubt in doubts_found] == [True], doubts_found
    assert doubts(of_reading(flows.read(path, packets=True))) == doubts_found
    assert f"Note: {sentence}" in analyze(path)
    (capture,) = json.loads(analyzed("--json", path).stdout)["captures"]
    assert capture["doubts"] == doubts_found


def test_of_captures_as_they_should_be_nothing_is_doubted(tmp_path: Path) -> None:
    odd = MadeCapture()
    odd.flow(ports=(1, 80)).a.syn(0)  # that nobody answers
    hardly = tmp_path / "three"
    hardly.write_bytes(_backwards(slice(10, 11), 40_900_000))  # 0.9 ms before the previous one
    paths = [
        *REAL,
        hardly,
        talk().capture.write(tmp_path, name="one"),
        odd.write(tmp_path, name="two"),
    ]
    assert [
        sentence
        for path in paths
        for sentence in doubts(of_reading(flows.read(path, packets=True)))
    ] == []


def test_a_tunnel_and_fragments_are_named(tmp_path: Path) -> None:
    capture = MadeCapture()
    capture.add(0.1, frames.ipv4(("10.0.0.1", "10.0.0.2"), bytes(40), 40, protocol=47))
    assert "Note: If this is a tunnel, it is none of those" in analyze(capture.write(tmp_path))
    flow = talk()
    flow.capture.add(3, frames.ipv4(("10.0.0.1", "10.0.0.2"), bytes(40), 40, fragment=100))
    assert "Left out: 1 IP fragments of packets that are not whole" in analyze(
        flow.capture.write(tmp_path)
    )


def test_of_several_connections_those_that_are_doubtful_are_named(tmp_path: Path) -> None:
    capture = MadeCapture()
    for number in range(8):
        talk(capture, 3, ports=(1000 + number, 80), begin=number)
    half = [
        record
        for record in capture.sorted()
        if _from_a(record) or record.data[36:38] == (1000).to_bytes(2)
    ]
    path = capture.write(tmp_path, frames.pcap(half))
    assert "Note: Connections 2, 3, 4, 5, 6 and 2 more: only one direction" in analyze(path)
    assert "Note: All 7 connections: " in analyze(
        path, *(f"--connection={number}" for number in range(2, 9))
    )


def test_where_one_direction_is_missing_nothing_is_said_to_limit_the_sender(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(ODD["one way"][0])
    output = analyze(path)
    assert "Limited by" not in output
    assert "The place of the capture is not known (no handshake)." in output


def test_a_closed_window_and_its_probes_are_told(tmp_path: Path) -> None:
    flow = MadeCapture().flow(timestamps=False).open()
    flow.a.burst(0.1, 5)
    flow.b.ack(0.14, window=0)
    for at in (0.5, 1.1):
        flow.a.segment(at, flow.a.next - 1, 0, ACK)
        flow.b.ack(at + 0.04, window=0)
    flow.b.ack(2.14)
    flow.a.segment(50, flow.a.next - 1, 0, ACK)
    output = analyze(flow.capture.write(tmp_path))
    assert "Closed window 2 s, 2 probes of it" in output
    assert "Keep-alives 1" in output


def test_keep_alives_of_a_connection_without_data_are_told(tmp_path: Path) -> None:
    """The first of them can be known for one only by the answer to it."""
    flow = MadeCapture().flow()
    flow.a.next = flow.b.next = 1000
    for minute in range(46):
        flow.a.segment(60 * minute, 999, 0, ACK)
        flow.b.ack(60 * minute + 0.04, to=1000)
    output = analyze(flow.capture.write(tmp_path))
    assert "No data was captured, but 45 keep-alives of 10.0.0.1:40000." in output


def test_how_many_connections_ended_is_told(tmp_path: Path) -> None:
    capture = MadeCapture()
    for number in range(40):
        flow = capture.flow(ports=(1000 + number, 80))
        flow.a.syn(number)
        flow.b.segment(number + 0.01, 0, 0, RST | ACK)
    for port in range(40):
        talk(capture, ports=(port + 1, 80))
    output = " ".join(analyze(capture.write(tmp_path)).split())
    assert "How they ended: opened and closed in the capture: 40." in output
    assert "And 10 more" in output
    assert "--connection N shows one of them alone" in output
    assert "Refused: 40 connections, from 10.0.0.1 to 10.0.0.2:80." in output


def test_a_syn_that_nobody_answers_is_told_from_one_that_is_refused(tmp_path: Path) -> None:
    capture = MadeCapture()
    silent, refused = capture.flow(ports=(1000, 80)), capture.flow(ports=(1001, 80))
    for at in (0.0, 1.0, 3.0):
        silent.a.syn(at)
    refused.a.syn(4)
    refused.b.segment(4.01, 0, 0, RST | ACK)
    output = analyze(capture.write(tmp_path))
    assert "its SYN was sent 3 times and not answered." in output
    assert "refused by a reset, once." in output


def test_one_connection_alone_is_shown_written_and_drawn(tmp_path: Path) -> None:
    capture, out = MadeCapture(), tmp_path / "out"
    for number in range(6):
        talk(capture, 3 + number, ports=(1000 + number, 80), begin=number)
    path = capture.write(tmp_path)
    everything = analyze(path, "--out", out, "--write", "html,png")
    assert "Pictures show 4 of 6 connections: those with most payload" in everything
    assert "--connection N gives others." in everything
    assert "Pictures show 4 of 6 connections" in (out / "graphs.html").read_text()
    assert not list((out / "pictures").glob("made_1_*"))
    output = analyze(path, "--out", out, "--write", "html,png,csv,packets", "--connection", "1")
    assert "Connection 1: 10.0.0.1:1000" in output
    assert "in 6 connections" in output
    assert "10.0.0.1:1005" not in output + (out / "graphs.html").read_text()
    assert list((out / "pictures").glob("made_1_a2b_*"))
    assert len((out / "connections.csv").read_text().splitlines()) == 2


def test_a_connection_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    path = talk().capture.write(tmp_path)
    result = analyzed(path, "--connection", "1", "--connection", "7", status=2)
    assert result.output == f"Error: {path} has no connection 7. It has 1, numbered from 1.\n"


def test_a_pair_of_captures_is_matched_for_one_connection(tmp_path: Path) -> None:
    for place, name in enumerate(("near", "far")):
        capture = MadeCapture()
        for number in (2, 1) if place else (1, 2):  # the far one saw the second one first
            begin = 1.0 if number == 1 and place else 0.0
            flow = capture.flow(ports=(number, 80), timestamps=False).open(
                begin + 0.02 * place, seen_at_b=place == 1
            )
            flow.a.send(3 + 0.02 * place)
        capture.write(tmp_path, name=f"{name}.pcap")
    output = analyze(
        "--match",
        tmp_path / "near.pcap",
        tmp_path / "far.pcap",
        "--connection",
        "2",
        "--out",
        tmp_path,
    )
    assert "Connection 2: both captures together" in output
    assert "Connection 1" not in output
    page = (tmp_path / "graphs.html").read_text()
    assert "10.0.0.1:2" in page
    assert "10.0.0.1:1 " not in page


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_capture_comes_through_a_pipe(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "analysis", "analyze", "--json", name],
        input=REAL[0].read_bytes(),
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
    )
    capture = json.loads(done.stdout)["captures"][0]
    rows = [{**row, "verdict": None} for row in flows.read(REAL[0]).connections.to_dicts()]
    assert [{**row, "verdict": None} for row in capture["connections"]] == rows
    assert all(row["verdict"]["cause"] for row in capture["connections"])


def test_a_fifo_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", 'cat "$0" > "$1"', str(REAL[0]), str(pipe)]) as writer:
        read = flows.read(pipe)
    assert writer.returncode == 0
    assert read.connections.equals(flows.read(REAL[0]).connections)
    assert read.file.path == str(pipe)


def test_what_tcptrace_cannot_read_is_one_clear_error(tmp_path: Path) -> None:
    records = talk().capture.sorted()
    (tmp_path / "new.pcapng").write_bytes(frames.pcapng(records))
    with pytest.raises(
        TcplabError, match=r"is pcapng, which tcptrace cannot read\. .*editcap -F pcap"
    ):
        compare(tmp_path / "new.pcapng")
    with pytest.raises(CommandError, match="tcptrace may not know this kind of capture"):
        compare(talk(MadeCapture(link=LINUX_COOKED_2)).capture.write(tmp_path))
    for missing in (tmp_path / "none.pcap", tmp_path):
        with pytest.raises(TcplabError, match="cannot be read"):
            compare(missing)


def test_a_damaged_capture_is_compared_up_to_the_damage_which_is_told(tmp_path: Path) -> None:
    path = talk().capture.write(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    comparison = compare(path)
    assert comparison.sound
    assert comparison.fault == "it is cut short: the last record is not whole"
