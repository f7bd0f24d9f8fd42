"""The list of events names each thing that happened once, with the number of its packet."""

from __future__ import annotations

import pytest

from analysis.flows.columns import KINDS, RETRANSMISSIONS
from analysis.flows.events import EVENTS, events
from tests.analysis.captures import MadeCapture, MadeFlow, opened
from tests.analysis.frames import ACK
from tests.analysis.looking import Look


def ready(**settings: object) -> MadeFlow:
    """An open connection whose b has told its window, for that of a SYN is not scaled."""
    flow = opened(**settings)
    flow.b.ack(0.05)
    return flow


def listed(look: Look, flow: MadeFlow | MadeCapture) -> list[tuple[int, str]]:
    """Packet number and event of all but the first four."""
    frame = events(look(flow)).to_polars()
    return [(at, name) for at, name in frame.select("number", "event").iter_rows() if at > 4]


def test_a_handshake_and_an_end_are_told(look: Look) -> None:
    flow = opened()
    flow.a.fin(0.1)
    flow.b.fin(0.14)
    flow.a.ack(0.14)
    frame = events(look(flow)).to_polars()
    assert frame["event"].to_list() == ["open", "accept", "close", "close"]
    assert frame["number"].to_list() == [1, 2, 4, 5]
    assert frame["forward"].to_list() == [True, False, True, False]
    assert set(frame["severity"]) == {"chat"}


def test_a_syn_that_is_sent_again(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0)
    flow.a.syn(1)
    flow.a.syn(3)
    flow.b.syn(3.04)
    frame = events(look(flow)).to_polars()
    assert frame["event"].to_list() == ["open", "syn", "syn", "accept"]
    assert frame["since"].to_list() == [None, 10**9, 2 * 10**9, None]


def test_a_loss_its_duplicates_and_its_repair(look: Look) -> None:
    flow = ready(sack=False)
    for at in range(5):
        flow.a.send(0.1 + at / 1000)
    for at in range(4):
        flow.b.ack(0.141 + at / 1000, to=1001)
    flow.a.send(0.15, seq=1001)
    for at in range(2):
        flow.b.ack(0.18 + at / 1000, to=1001)
    flow.b.ack(0.19)
    assert listed(look, flow) == [
        *((number, "duplicate_ack") for number in (11, 12, 13)),
        (14, "fast"),
        *((number, "duplicate_ack") for number in (15, 16)),
    ]
    frame = events(look(flow)).to_polars()
    assert frame["count"].drop_nulls().to_list() == [1, 2, 3, 4, 5]
    assert frame.filter(frame["event"] == "fast")["since"].to_list() == [49_000_000]


def test_the_timer_and_what_was_needless(look: Look) -> None:
    flow = ready()
    flow.a.send(0.1)
    flow.a.send(0.5, seq=1)
    flow.b.ack(0.54, sacks=[(1, 1001)])
    assert listed(look, flow) == [(6, "spurious"), (7, "dsack")]
    flow = ready()
    flow.a.send(0.1)
    flow.a.send(0.5, seq=1)
    flow.b.ack(0.54)
    assert listed(look, flow) == [(6, "rto")]


def test_a_window_that_is_full_closes_is_probed_and_opens(look: Look) -> None:
    flow = opened(scales=(0, 0))
    flow.b.ack(0.05, window=2000)
    flow.a.send(0.1)
    flow.a.send(0.11)
    flow.b.ack(0.15, window=0)
    flow.b.ack(0.16, window=0)
    flow.a.send(0.4, size=1)
    flow.b.ack(0.44, window=0, to=2001)
    flow.b.ack(0.6, window=4000, to=2001)
    assert listed(look, flow) == [
        (6, "window_full"),
        (7, "zero_window"),
        (9, "probe"),
        (11, "window_open"),
    ]


@pytest.mark.parametrize("seen", [True, False])
def test_more_in_flight_than_the_window_is_not_a_full_window(look: Look, seen: bool) -> None:
    """The ACKs are missing, or without SYNs the scale of the window."""
    flow = MadeCapture().flow(scales=(0, 0))
    if seen:
        flow.open(rtt=0.04)
    flow.b.ack(0.05, window=2000, to=1)
    flow.a.burst(0.1, 8)
    full = [number for number, name in listed(look, flow) if name == "window_full"]
    assert full == ([6] if seen else [])


def test_a_gap_and_what_fills_it(look: Look) -> None:
    flow = ready()
    flow.a.send(0.1)
    flow.a.send(0.102, seq=2001)
    flow.a.send(0.103, seq=1001)
    flow.b.ack(0.15, to=3001)
    assert listed(look, flow) == [(6, "gap"), (7, "late")]


def test_keepalives_resets_marks_and_bytes_that_lack(look: Look) -> None:
    flow = ready()
    flow.a.send(0.1, ecn=3)
    flow.b.ack(0.14)
    flow.a.send(7200, size=0, seq=1000)
    flow.b.ack(7200.04)
    flow.b.ack(7200.1, to=9001)
    flow.b.rst(7201)
    assert listed(look, flow) == [
        (5, "congestion"),
        (7, "keepalive"),
        (9, "unseen"),
        (10, "reset"),
    ]


def test_quiet_traffic_has_no_events(look: Look) -> None:
    flow = ready()
    for at in range(20):
        flow.a.send(0.1 + at / 10)
        flow.b.ack(0.14 + at / 10)
        flow.b.send(0.15 + at / 10)
        flow.a.ack(0.16 + at / 10)
    assert listed(look, flow) == []


def test_all_kinds_are_events() -> None:
    kinds = {name for name, _ in KINDS} - {"none", "new"}
    assert kinds <= set(EVENTS) and set(RETRANSMISSIONS) <= set(EVENTS)


def test_a_capture_without_tcp_has_none(look: Look) -> None:
    assert len(events(look(MadeCapture()))) == 0


def test_bytes_that_lack_are_told_once(look: Look) -> None:
    """A gap that is acknowledged without being filled; what repeats that ACK says no more."""
    flow = ready()
    flow.a.send(0.1)
    flow.a.send(0.102, seq=2001)
    flow.b.ack(0.142, to=1001)
    flow.b.ack(0.143, to=3001)
    flow.a.send(0.15, seq=4001)
    flow.a.ack(0.151)
    flow.b.ack(0.19, to=7001)
    flow.b.send(0.2)
    flow.b.send(0.201)
    assert listed(look, flow) == [(6, "gap"), (8, "unseen"), (9, "gap"), (11, "unseen")]


def test_an_ack_tells_what_its_sender_sent_before(look: Look) -> None:
    """The number of an ACK is that of the next byte: what lies below it was lost or overtaken."""
    flow = ready()
    flow.a.send(0.1)
    flow.a.segment(0.2, 3001, 0, ACK)
    flow.a.send(0.3, seq=1001)
    flow.a.send(0.301, seq=2001)
    flow.b.ack(0.34, to=3001)
    assert listed(look, flow) == [(6, "gap"), (7, "late"), (8, "late")]


def test_reports_of_data_that_the_capture_lacks_are_duplicates(look: Look) -> None:
    flow = ready()
    for block in (2001, 3001, 4001):
        flow.b.ack(0.14, to=1, sacks=[(1001, block)])
    assert [name for _, name in listed(look, flow)] == 3 * ["duplicate_ack"]


def test_copies_by_a_mirror_tell_only_that_they_are_copies(look: Look) -> None:
    flow = ready(sack=False)
    for at in range(4):
        flow.a.send(0.1 + at / 1000)
    for _ in range(3):
        flow.b.packets = 10
        flow.b.ack(0.141, to=1001)
    assert listed(look, flow) == [(10, "copy"), (11, "copy")]


def test_what_arrives_twice_at_the_receiver_was_sent_again(look: Look) -> None:
    """It is needless if the receiver had acknowledged it."""
    flow = MadeCapture().flow().open(rtt=0.04, seen_at_b=True)
    flow.b.ack(0.0402, to=1)
    flow.a.burst(0.1, 2)
    flow.b.ack(0.1005, to=1001)
    flow.a.send(0.5, seq=1)
    flow.a.send(0.501, seq=1001)
    assert listed(look, flow) == [(8, "spurious"), (9, "other")]
