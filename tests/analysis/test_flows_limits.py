"""What limited a sender, in captures of known truth (docs/concepts/capture-analysis.md)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis import flows
from tests.analysis.captures import MadeCapture, MadeFlow, nanoseconds
from tests.analysis.conftest import SAMPLE
from tests.analysis.frames import ACK, PSH
from tests.analysis.looking import Look, only_connection

FULL = 1448
"""Bytes of a full segment with timestamps, of the MSS that made flows announce."""
TRIP = 0.04


def opened(window: int = 60_000) -> MadeFlow:
    """A connection whose windows are not scaled; b offers this one."""
    flow = MadeCapture().flow(scales=(0, 0)).open(rtt=TRIP)
    flow.b.ack(0.5, window=window)
    return flow


def seconds(look: Look, flow: MadeFlow, name: str) -> float:
    """How long `name` limited a, in seconds."""
    return float(only_connection(look(flow))[f"{name}_a2b"]) / 1e9


def fill(flow: MadeFlow, at: float, count: int, window: int) -> None:
    """a sends full segments, and b acknowledges them a round trip later with this window."""
    flow.a.burst(at, count, gap=0.0, size=FULL)
    flow.b.ack(at + TRIP, window=window)


def test_a_window_that_closes_and_shrinks_is_the_receivers(look: Look) -> None:
    """The edge goes back: the receiver takes what it has promised away, for 13 s."""
    flow = opened()
    fill(flow, 1.0, 4, window=60_000)
    fill(flow, 1.04, 4, window=0)
    flow.b.ack(14.08, window=60_000)
    fill(flow, 14.08, 4, window=60_000)
    assert seconds(look, flow, "limited_receiver") == pytest.approx(13.0, abs=0.001)
    assert seconds(look, flow, "limited_application") == 0


def test_a_closed_window_is_the_receivers_for_as_long_as_it_is_closed(look: Look) -> None:
    """b takes four segments more, and no others: 1.49 of 1.69 s."""
    flow = opened()
    fill(flow, 1.0, 4, window=4 * FULL)
    fill(flow, 1.04, 4, window=0)
    flow.a.segment(1.3, flow.a.next - 1, 0, ACK)
    flow.b.ack(1.34, window=0)
    flow.b.ack(2.57, window=4 * FULL)
    fill(flow, 2.57, 4, window=4 * FULL)
    assert seconds(look, flow, "limited_receiver") == pytest.approx(1.49 + 2 * TRIP, abs=0.001)


@pytest.mark.parametrize("seen_at_b", [False, True])
def test_more_in_flight_than_the_window_shows_that_acks_lack(look: Look, seen_at_b: bool) -> None:
    """b's window of four segments would end after the first 10 ms."""
    flow = MadeCapture().flow(scales=(0, 0)).open(rtt=TRIP, seen_at_b=seen_at_b)
    flow.b.ack(0.5, window=4 * FULL)
    flow.a.burst(1.0, 1000, gap=0.0025, size=FULL)
    assert seconds(look, flow, "limited_receiver") < 0.1
    assert seconds(look, flow, "limited_network") > 2


def test_repairs_seen_before_the_loss_are_the_networks(look: Look) -> None:
    """Without SACK one segment is repaired each round trip, while data reach the window's edge."""
    flow = MadeCapture().flow(scales=(0, 0), sack=False)
    flow.a.syn(0.0)
    flow.b.syn(TRIP / 2)
    flow.a.ack(TRIP)
    flow.b.ack(0.5, window=20 * FULL)
    flow.a.burst(1.0, 20, size=FULL)
    for place in range(4):
        flow.b.ack(1.0 + TRIP / 2 + place * 1e-4, to=1, window=20 * FULL)
    for turn in range(18):
        at = 1.0 + TRIP * (turn + 1)
        flow.a.send(at, FULL, seq=1 + turn * FULL)
        flow.b.ack(at + TRIP / 2, to=1 + (turn + 1) * FULL, window=(19 - turn) * FULL)
    assert seconds(look, flow, "limited_network") > 0.6
    assert seconds(look, flow, "limited_receiver") < 0.1


def test_an_older_ack_takes_no_window_away(look: Look) -> None:
    flow = opened()
    flow.a.burst(1.0, 8, gap=0.0, size=FULL)
    flow.b.ack(1.04, to=1 + 6 * FULL, window=60_000)
    flow.b.ack(1.05, to=1 + 2 * FULL, window=6 * FULL)
    flow.a.burst(1.05, 2, gap=0.0, size=FULL)
    flow.b.ack(1.09, window=60_000)
    assert seconds(look, flow, "limited_receiver") == 0


def test_a_window_of_less_than_a_segment_holds_back_who_filled_it(look: Look) -> None:
    """Silly windows: all is acknowledged, but what is free takes no segment."""
    flow = opened()
    fill(flow, 1.0, 4, window=4 * FULL)
    fill(flow, 1.04, 4, window=500)
    flow.b.ack(3.08, window=4 * FULL)
    fill(flow, 3.08, 4, window=60_000)
    assert seconds(look, flow, "limited_receiver") == pytest.approx(2.08, abs=0.001)


def test_who_waits_for_a_third_of_a_full_window_is_held_back_by_it(look: Look) -> None:
    """Linux sends several segments at once, and lets some room pass unused for that."""
    flow = opened(window=9 * FULL)
    flow.a.burst(1.0, 9, gap=0.0, size=FULL)
    for number in range(1, 9):
        flow.b.ack(1.04 + number * 0.01, to=1 + number * FULL, window=9 * FULL)
        if number % 2 == 0:
            flow.a.burst(1.04 + number * 0.01, 2, gap=0.0, size=FULL)
    flow.b.ack(1.16)
    assert seconds(look, flow, "limited_receiver") == pytest.approx(0.16, abs=0.001)


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_a_ping_pong_of_small_messages_is_the_applications(look: Look, size: int) -> None:
    flow = opened()
    for turn in range(100):
        flow.a.send(1 + turn * TRIP, size)
        flow.b.send(1 + turn * TRIP + TRIP, size, window=60_000)
    assert seconds(look, flow, "limited_network") == 0
    assert seconds(look, flow, "limited_application") == pytest.approx(100 * TRIP, rel=0.01)
    assert seconds(look, flow, "busy") == pytest.approx(100 * TRIP, rel=0.01)


def test_a_card_that_cuts_segments_is_given_whole_messages(look: Look) -> None:
    """Captured before the card: 20000 bytes are no whole number of segments."""
    flow = opened()
    for turn in range(10):
        flow.a.send(1 + turn * TRIP, 20_000)
        flow.b.ack(1 + turn * TRIP + TRIP, window=60_000)
    assert seconds(look, flow, "limited_network") == 0


def test_a_large_buffer_of_a_card_is_no_least_room_in_the_window(look: Look) -> None:
    flow = opened()
    flow.a.send(1.0, 40 * FULL)
    flow.b.ack(1.04, window=16_000)
    flow.a.send(1.04, 10 * FULL)
    flow.b.ack(1.08, window=60_000)
    assert seconds(look, flow, "limited_receiver") == 0


@pytest.mark.parametrize("size", [1448, 1348, 524])
def test_segments_that_the_sender_cuts_itself_are_full(look: Look, size: int) -> None:
    """Also those of a path that takes less than both ends (RFC 8201): the last has PSH."""
    flow = opened()
    for turn in range(10):
        for number in range(4):
            flow.a.segment(1 + turn * TRIP, flow.a.next, size, ACK | PSH * (number == 3))
            flow.a.next += size
        flow.b.ack(1 + turn * TRIP + TRIP, window=60_000)
    assert seconds(look, flow, "limited_network") == pytest.approx(10 * TRIP, rel=0.01)


def test_full_segments_are_known_without_the_syns(look: Look) -> None:
    flow = opened()
    flow.capture.records.clear()
    for turn in range(10):
        fill(flow, 1 + turn * TRIP, 4, window=60_000)
    assert seconds(look, flow, "limited_network") == pytest.approx(10 * TRIP, rel=0.01)


def test_while_losses_are_repaired_the_network_limits(look: Look) -> None:
    flow = opened(window=4 * FULL)
    flow.a.burst(1.0, 4, gap=0.0, size=FULL)
    for number in range(2, 5):
        sacks = [(1 + FULL, 1 + number * FULL)]
        flow.b.ack(1.04, to=1, sacks=sacks, window=4 * FULL)
    flow.a.send(1.04, FULL, seq=1)
    flow.b.ack(1.08, window=4 * FULL)
    assert seconds(look, flow, "limited_network") == pytest.approx(TRIP, abs=0.001)


def test_a_sender_without_data_in_flight_is_not_busy(look: Look) -> None:
    flow = opened()
    fill(flow, 1.0, 4, window=60_000)
    fill(flow, 3.0, 4, window=60_000)
    assert seconds(look, flow, "busy") == pytest.approx(2 * TRIP, abs=0.001)
    assert seconds(look, flow, "limited_application") == pytest.approx(2.0 - TRIP, abs=0.001)


def alternating(rounds: int) -> MadeFlow:
    """In turns a sender fills a window, sends less than fits, and a small message, and pauses."""
    flow, at = opened(), 1.0
    for number in range(rounds):
        size, count, window = [(FULL, 4, 4 * FULL), (FULL, 4, 60_000), (300, 1, 60_000)][number % 3]
        flow.a.burst(at, count, gap=0.0, size=size)
        flow.b.ack(at + TRIP, window=window)
        at += TRIP + 0.01
    return flow


def sums(reading: flows.Reading) -> Counter[tuple[int, bool, str]]:
    """Return the time of each cause of each direction, by its intervals."""
    assert reading.limit_table is not None
    found: Counter[tuple[int, bool, str]] = Counter()
    for row in reading.limit_table.as_rows():
        assert 0 < row["time"] <= row["until"] - row["since"]
        found[row["connection"], row["forward"], row["cause"]] += row["time"]
    return found


def has_the_columns(reading: flows.Reading) -> bool:
    """Return whether the intervals add up to the columns, to the nanosecond."""
    found = sums(reading)
    for row in reading.connection_table.as_rows():
        for forward, way in ((True, "a2b"), (False, "b2a")):
            names = ("receiver", "network", "idle", "waiting")
            receiver, network, idle, waiting = (
                found.pop((row["connection"], forward, name), 0) for name in names
            )
            columns = {"receiver": receiver, "network": network, "idle": idle}
            columns["application"] = idle + waiting
            if any(row[f"limited_{name}_{way}"] != time for name, time in columns.items()):
                return False
    return not found


def test_intervals_say_when_each_cause_limited(look: Look) -> None:
    """An edge that closes, and a pause: each interval is where the capture puts it."""
    flow = opened()
    fill(flow, 1.0, 4, window=4 * FULL)
    fill(flow, 1.04, 4, window=60_000)
    fill(flow, 3.0, 4, window=60_000)
    table = look(flow).limit_table
    assert table is not None
    found = [(row["cause"], row["since"], row["until"]) for row in table.as_rows()]
    times = [nanoseconds(at) for at in (1.0, 1.04, 1.08, 3.0, 3.04)]
    causes = ("network", "receiver", "idle", "network")
    assert found == [*zip(causes, times, times[1:], strict=False)]


@pytest.mark.parametrize("rounds", [30, 6000])
def test_intervals_add_up_to_the_columns_and_are_bounded(look: Look, rounds: int) -> None:
    reading = look(alternating(rounds))
    assert reading.limit_table is not None
    assert len(sums(reading)) == 4
    assert has_the_columns(reading)
    assert rounds < len(reading.limit_table) or rounds > len(reading.limit_table) > 1000


@pytest.mark.parametrize("file", sorted(SAMPLE.glob("raw/*/*/*.pcap")), ids=lambda file: file.stem)
def test_intervals_of_a_run_add_up_at_both_ends(file: Path) -> None:
    """At the receiver the rounds of a far sender are judged."""
    reading = flows.read(file, packets=True)
    assert sums(reading)
    assert has_the_columns(reading)
