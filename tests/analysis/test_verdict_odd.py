"""Verdicts on odd captures: the first line is true, or says that it cannot tell.

Those of the last part had false ones in public test suites (tests/tools/corpus.py).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.analyze.causes import Cause, SlownessVerdict, features
from analysis.analyze.facts import connection
from analysis.analyze.verdict import verdict
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.frames import RST, Record
from tests.analysis.looking import Look, only_connection

FULL = 1448
TRIP = 0.08


def download(count: int = 50, ecn: int = 0, window: int = 512) -> MadeFlow:
    """Let a send 20 segments in each round trip; the capture is at b, which acknowledges each."""
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for number in range(count):
        for place in range(20):
            at = 0.5 + number * TRIP + place * 1e-4
            flow.a.send(at, FULL, ecn=3 if ecn and place == ecn else 2 * bool(ecn))
            flow.b.ack(at + 1e-5, window=window)
    return flow


def judged(look: Look, flow: MadeFlow, kept: Callable[[Record], bool] = bool) -> SlownessVerdict:
    records = [record for record in flow.capture.sorted() if kept(record)]
    return verdict(connection(only_connection(look(frames.pcap(records)))))


def from_a(record: Record) -> bool:
    return record.data[26:30] == bytes((10, 0, 0, 1))


CANNOT_TELL: dict[str, tuple[Callable[[Record], bool], str]] = {
    "data only": (from_a, "only one direction was captured"),
    "no handshake": (lambda each: not each.data[47] & 2, "without the handshake the place"),
    "a fifth is lost": (
        lambda each: each.wire < FULL or each.time % 500_000 > 0,
        "the capture lacks",
    ),
}


@pytest.mark.parametrize("name", CANNOT_TELL)
def test_what_a_capture_does_not_show_is_not_told(look: Look, name: str) -> None:
    kept, why = CANNOT_TELL[name]
    found = judged(look, download(), kept)
    assert found.cause == Cause.UNKNOWN and found.because.startswith(why)


def test_resets_without_a_connection_break_nothing_off(look: Look) -> None:
    flow = MadeCapture().flow()
    for place in range(50):
        flow.a.segment(place / 1000, 1 + place, 0, RST)
    assert judged(look, flow).cause == Cause.UNKNOWN


def test_marks_are_the_reason_if_the_network_marks(look: Look) -> None:
    found = judged(look, download(ecn=7))
    assert found.cause == Cause.MARKS and "50 marks" in found.because
    assert judged(look, download()).cause == Cause.FLIGHT


@pytest.mark.parametrize("size", [0, 1])
def test_keep_alives_for_hours_are_no_pauses_and_no_answers(look: Look, size: int) -> None:
    flow = download(5)
    for minute in range(1, 300):
        flow.b.segment(60 * minute, flow.b.next - 1, size, frames.ACK)
        flow.a.ack(60 * minute + TRIP)
    assert judged(look, flow).cause not in (Cause.PAUSES, Cause.SERVER, Cause.CLIENT)


def test_an_answer_within_a_fraction_of_the_round_trip_is_no_thinking(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP)
    flow.a.send(TRIP + 0.001, 100)
    for place in range(10):
        flow.b.send(2 * TRIP + 0.002 + place * 1e-4, FULL)
    assert judged(look, flow).cause not in (Cause.SERVER, Cause.CLIENT)


def test_the_window_of_a_syn_is_not_that_of_the_connection(look: Look) -> None:
    found = judged(look, download(window=20 * FULL // 128))
    assert found.cause == Cause.WINDOW and "28.2 KiB window" in found.because


def test_what_takes_a_few_milliseconds_is_not_slow(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=1e-4)
    flow.a.send(0.001, 100)
    flow.b.send(0.006, 100)
    found = judged(look, flow)
    assert found.sentence == "No fault found: the connection took 6 ms in all."
    flow.b.rst(0.007)
    assert judged(look, flow).because.endswith(
        "reset the connection of 7 ms after 100 B, without a close"
    )


def test_a_single_turn_has_no_percentiles(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=1e-4)
    flow.a.send(0.001, 100)
    flow.b.send(32.001, 200)
    flow.a.ack(32.0011)
    assert judged(look, flow).because.endswith(" s for its only turn")


def test_one_slow_turn_of_many_is_not_the_time_of_each(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=1e-4)
    for turn in range(9):
        at = 0.01 + 0.001 * turn
        flow.a.send(at, 100)
        flow.b.send(at + 0.0002 + (30 if turn == 8 else 0), 200)
    flow.a.ack(30.02)
    because = judged(look, flow).because
    assert " took 30 s for 9 turns, most for a few (95 %: 29.9 s)" in because


def test_a_single_syn_was_not_sent_for_0_s(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    assert judged(look, flow).because == "no answer came to its only SYN"


def test_small_segments_are_no_black_hole(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP)
    first = flow.a.next
    for at in (1, 1.3, 1.9, 3.1, 5.5):
        flow.a.send(at, 200, seq=first)
    assert judged(look, flow).cause == Cause.SILENT


def test_a_full_segment_that_arrived_disproves_a_black_hole(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    flow.a.send(1.0, FULL)
    flow.a.send(1.001, 500, seq=1 + 4 * FULL)
    flow.b.ack(1.002, to=1 + FULL, sacks=[(1 + 4 * FULL, 501 + 4 * FULL)])
    flow.b.fin(11.0, to=1 + FULL)
    assert judged(look, flow).cause != Cause.BLACK_HOLE


def test_data_beyond_each_captured_window_shows_that_acks_are_missing(look: Look) -> None:
    flow = MadeCapture().flow(scales=(None, None)).open(rtt=TRIP)
    for number in range(400):
        flow.a.send(0.5 + number / 100, FULL)
    flow.b.ack(4.6, window=60_000)
    assert "the capture lacks ACKs" in judged(look, flow).sentence


def test_one_late_packet_slows_nothing_down(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for number in range(20):
        first = max(flow.a.next, 1)
        places = [1, 0, 2, 3] if number == 10 else [0, 1, 2, 3]
        for index, place in enumerate(places):
            at = 0.5 + number * TRIP + index * 1e-4
            flow.a.send(at, FULL, seq=first + place * FULL, stamp=round(at * 1000) - place)
            flow.b.ack(at + 1e-5, to=first + (0 if (index, place) == (0, 1) else index + 1) * FULL)
    assert judged(look, flow).cause != Cause.REORDERING


def test_a_window_that_grows_is_no_slow_reader(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for number in range(20):
        window = 20 * FULL * (1 if number < 15 else 6)
        for place in range(20):
            at = 0.5 + number * TRIP + place * 1e-4
            flow.a.send(at, FULL)
            flow.b.ack(at + 1e-5, window=window // 128)
    found = judged(look, flow)
    assert found.cause == Cause.WINDOW and "receiver's 63.6 KiB" in found.because


def test_a_first_window_of_data_reaches_no_limit(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP)
    flow.a.send(TRIP + 0.001, 400)
    flow.b.ack(2 * TRIP + 0.001)
    flow.a.fin(12 * TRIP)
    assert judged(look, flow).because == "400 B fit the first congestion window"


def turns(rtt: float, end: float, *asked: tuple[float, float]) -> MadeFlow:
    """Let a ask at these times, seen at a, and b answer after as many seconds."""
    flow = MadeCapture().flow().open(rtt=rtt)
    for at, wait in asked:
        flow.a.send(at, 100)
        flow.b.send(at + wait, 900)
        flow.a.ack(at + wait)
    flow.b.fin(end)
    return flow


def test_the_time_after_the_last_data_is_idle(look: Look) -> None:
    quick = judged(look, turns(1e-4, 5.0, (0.001, 0.002)))
    assert quick.cause == Cause.BRIEF and quick.because.endswith(" of 5 s")
    slow = judged(look, turns(1e-4, 60.0, (0.001, 2.0)))
    assert slow.cause == Cause.SERVER and "(100 % of transfer time" in slow.sentence
    assert "what delays an answer" in slow.sentence
    idle = judged(look, turns(0.01, 30.0, (0.02, 0.02), (3.0, 0.02)))
    assert idle.cause == Cause.IDLE
    assert idle.because.startswith("idle, 29.9 s of 30 s in which no answer was due; its last data")


def test_round_trips_take_no_longer_than_the_answers(look: Look) -> None:
    """A handshake may wait for a radio link, or for a repeated SYN-ACK."""
    found = judged(look, turns(0.4, 1.05, (0.45, 0.22), (0.8, 0.22)))
    assert found.because.startswith("the path is long: 3 round trips of 220 ms")
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    for at in (0.04, 1.04, 3.04):
        flow.b.syn(at)
    flow.a.ack(7.0)
    flow.a.send(7.01, 400)
    flow.b.send(7.05, 600)
    flow.a.ack(7.09)
    assert judged(look, flow).cause == Cause.LOST_SYN


def test_round_trips_of_turns_are_no_pauses(look: Look) -> None:
    """The server answers at once; what it waits for is the path."""
    found = judged(look, turns(0.15, 2.0, *((0.2 + 0.16 * turn, 0.15) for turn in range(10))))
    assert found.cause not in (Cause.PAUSES, Cause.SERVER)


def test_what_both_ends_do_at_once_is_counted_once(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=0.001)
    for turn in range(20):
        flow.a.send(0.1 + turn / 10, 700)
        flow.b.send(0.1 + turn / 10, 800)
        flow.a.ack(0.15 + turn / 10)
        flow.b.ack(0.15 + turn / 10)
    facts = connection(only_connection(look(frames.pcap(flow.capture.sorted()))))
    assert features(facts).time <= facts.duration


def test_a_d_sack_reports_no_gap(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    for at in (1.0, 1.5):
        flow.a.send(at, 400, seq=1)
        flow.b.ack(at + 0.001, to=401, sacks=[(1, 401)] if at > 1 else [])
    flow.a.send(2.0, FULL)
    flow.b.ack(5.5, to=401, sacks=[(1, 401)])
    assert judged(look, flow).cause != Cause.BLACK_HOLE


def test_a_queue_that_grows_at_once_is_seen_behind_it(look: Look) -> None:
    """Timestamps fall behind by the queue, which is no clock that ticks more slowly."""
    flow = MadeCapture().flow().open(rtt=0.1, seen_at_b=True)
    for number in range(1200):
        at = 0.2 + number / 200
        flow.a.send(at, FULL, stamp=round(1000 * (at - 0.05 - min(0.8, number / 350))))
        flow.b.ack(at + 1e-5)
    found = judged(look, flow)
    assert found.cause == Cause.BLOAT and found.because.startswith("a queue adds 8")
