"""Events of evidence: the frames of a capture that show them, and the table that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import flows
from analysis.measures.evidence import EVENTS, PREFIX, events, frame_values
from tests.analysis.captures import MadeCapture
from tests.analysis.frames import ACK, CWR, ECE

_OF_SOCKETS = {"cut", "peak"}


def marked(folder: Path) -> Path:
    """A capture of a mark that two ACKs report and one segment answers, after SYNs with flags."""
    made = MadeCapture()
    flow = made.flow()
    flow.a.syn(0.0, flags=CWR | ECE)
    flow.b.syn(0.04, flags=ECE)
    flow.a.ack(0.041)
    flow.a.send(0.1, ecn=2)
    flow.a.send(0.2, ecn=3)
    for at in (0.24, 0.25):
        flow.b.segment(at, 1, 0, ACK | ECE)
    flow.a.segment(0.3, flow.a.next, 1000, ACK | CWR, ecn=2)
    return made.write(folder, name="h2-eth0.pcap")


def test_a_mark_its_reports_and_its_answer_are_told_from_flags_of_syns(tmp_path: Path) -> None:
    marked(tmp_path)
    found = frame_values(tmp_path, ["h2-eth0"])
    frames = {
        event: [int(key.split(".")[-1]) for key in found if f".{event}." in key]
        for event in ("ce", "ece", "cwr")
    }
    assert frames == {"ce": [5], "ece": [6, 7], "cwr": [8]}
    assert found[f"{PREFIX}h2-eth0.ce.5"] == 0.2


def test_the_table_names_each_event(tmp_path: Path) -> None:
    packets = flows.read(marked(tmp_path), packets=True).packet_table
    assert packets is not None
    assert {*events(packets)} | _OF_SOCKETS == {*EVENTS}
    assert all(EVENTS.values())


@pytest.mark.parametrize("reaction", [0.0, 20e-6])
def test_a_timer_is_told_from_a_packet_that_arrives_just_before(
    tmp_path: Path, reaction: float
) -> None:
    """Virtual hosts react within the instant, so 50 us after an ACK it was the timer."""
    flow = (made := MadeCapture()).flow().open(rtt=0.04)
    for round_trip in range(4):
        at = 0.1 + round_trip / 25
        flow.b.ack(at)
        flow.a.send(at + reaction, 1000)
    first = flow.a.next - 1000
    flow.b.ack(0.45, to=first)
    flow.a.send(0.45005, 1000, seq=first)
    found = frame_values(tmp_path, [made.write(tmp_path, name="h1-eth0.pcap").stem])
    assert any(".timeout." in key for key in found) is (reaction == 0.0)
