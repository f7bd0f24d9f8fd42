"""Our own columns of a connection, one fact a test.

analysis/flows/columns.csv defines them.
"""

from __future__ import annotations

import math

import pytest

from analysis.flows.columns import PACKETS, TCPTRACE, connection_names
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.looking import Look, only_connection

MS = 10**6


def test_the_frames_have_the_columns_of_the_table_in_its_order(look: Look) -> None:
    read = look(opened())
    assert read.packets is not None
    assert read.packets.columns == [column.name for column in PACKETS]
    assert read.connections.columns == connection_names()
    assert len([name for column in TCPTRACE for name in column.names()]) == 147


def opened(**settings: object) -> MadeFlow:
    return MadeCapture().flow(**settings).open(rtt=0.04)


def nearest_rank(values: list[int], percent: int) -> int:
    return sorted(values)[math.ceil(percent / 100 * len(values)) - 1]


def test_percentiles_of_the_round_trip(look: Look) -> None:
    flow = opened()
    for number in range(100):
        flow.a.send(1 + number)
        flow.b.ack(1 + number + (number + 1) / 1000)
    row, times = only_connection(look(flow)), [40, *range(1, 101)]  # the SYN's is one of them
    for percent in (5, 25, 50, 75, 95, 99):
        assert row[f"rtt_p{percent}_a2b"] == pytest.approx(
            nearest_rank(times, percent) * MS, rel=0.008
        )
        assert row[f"rtt_timestamp_p{percent}_a2b"] == pytest.approx(
            nearest_rank(times, percent) * MS, rel=0.008
        )
    assert (row["rtt_min_a2b"], row["rtt_max_a2b"]) == (1 * MS, 100 * MS)
    assert row["rtt_mean_a2b"] == sum(times) * MS // len(times)


def test_goodput_is_what_was_acknowledged_by_its_time(look: Look) -> None:
    flow = opened()
    for number in range(10):
        flow.a.send(1 + number * 0.1)
    flow.a.send(1.95, seq=1)
    flow.b.ack(2.0)
    row = only_connection(look(flow))
    assert row["bytes_acknowledged_a2b"] == 10_000
    assert row["goodput_a2b"] == pytest.approx(80_000 / 1.0)
    assert row["rate_a2b"] == pytest.approx(88_000 / 0.95)


def test_a_connection_is_complete_reset_or_neither(look: Look) -> None:
    whole, reset, open_end = (opened() for _ in range(3))
    whole.a.fin(1.0)
    whole.b.fin(1.04)
    whole.a.ack(1.05)
    reset.b.rst(1.0)
    assert [only_connection(look(flow))["complete"] for flow in (whole, reset, open_end)] == [
        "yes",
        "reset",
        "no",
    ]


def test_both_halves_of_the_handshake_are_measured(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.a.syn(1.0)
    flow.b.syn(1.03)
    flow.a.ack(1.04)
    row = only_connection(look(flow))
    assert (row["handshake_outer"], row["handshake_inner"]) == (30 * MS, 10 * MS)


def test_losses_far_apart_are_episodes_of_their_own(look: Look) -> None:
    flow = opened()
    for at in (1.0, 5.0):
        first = flow.a.next
        flow.a.burst(at, 5)
        flow.a.send(at + 0.3, seq=first)
        flow.a.send(at + 0.31, seq=first + 1000)
        flow.b.ack(at + 0.35)
    row = only_connection(look(flow))
    assert (
        row["loss_episodes_a2b"],
        row["retransmissions_a2b"],
        row["retransmissions_rto_a2b"],
    ) == (2, 4, 4)


def test_retransmissions_count_in_packets_bytes_and_segments(look: Look) -> None:
    """A super-packet of ten segments is one packet, and ten segments of 1448 bytes."""
    flow = opened(mss=1448)
    flow.a.send(1.0, 14480)
    flow.b.ack(1.04)
    flow.a.send(2.0, 14480)
    flow.a.send(2.3, 14480, seq=14481)
    flow.b.ack(2.34)
    row = only_connection(look(flow))
    assert (row["retransmissions_rto_a2b"], row["retransmitted_bytes_rto_a2b"]) == (1, 14480)
    assert row["retransmitted_segments_rto_a2b"] == pytest.approx(10)


def test_reordering_is_measured_in_packets_bytes_and_time(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=0.04, seen_at_b=True)
    for number, place in enumerate([0, 2, 3, 1, 4]):
        flow.a.send(1 + number * 0.001, seq=1 + 1000 * place, stamp=1000 + place)
        flow.b.ack(1 + number * 0.001 + 0.0001, to=[1001, 1001, 1001, 4001, 5001][number])
    row = only_connection(look(flow))
    assert row["late_a2b"] == row["reordered_a2b"] == 1
    assert (row["reordering_packets_a2b"], row["reordering_time_a2b"]) == (2, 2 * MS)
    assert row["retransmissions_a2b"] == 0


def test_most_bytes_in_flight_leave_out_what_sack_reported(look: Look) -> None:
    flow = opened()
    flow.a.burst(1.0, 4)
    flow.b.ack(1.04, to=1, sacks=[(2001, 4001)])
    flow.a.burst(1.05, 2)
    row = only_connection(look(flow))
    assert row["in_flight_max_a2b"] == 4000


def test_a_closed_window_is_timed(look: Look) -> None:
    flow = opened()
    flow.a.send(1.0)
    flow.b.ack(1.04, window=0)
    flow.b.ack(1.84)
    flow.b.ack(3.0)
    assert only_connection(look(flow))["zero_window_time_b2a"] == 800 * MS


def test_the_times_that_limit_a_sender_add_up_to_no_more_than_its_life(look: Look) -> None:
    flow = opened()
    for number in range(20):
        flow.a.burst(1 + number * 0.04, 3)
        flow.b.ack(1 + number * 0.04 + 0.04)
    row = only_connection(look(flow))
    limits = [row[name] for name in row if name.startswith("limited_") and name.endswith("_a2b")]
    assert len(limits) >= 3
    assert 0 < sum(limits) <= row["duration"]


def test_a_full_receive_window_limits_the_sender(look: Look) -> None:
    flow = opened(scales=(0, 0))
    for number in range(20):
        flow.a.burst(1 + number * 0.04, 3)
        flow.b.ack(1 + number * 0.04 + 0.04, window=3000)
    row = only_connection(look(flow))
    names = {
        name.split("_a2b")[0]: row[name]
        for name in row
        if name.startswith("limited_") and name.endswith("_a2b")
    }
    assert max(names, key=lambda name: names[name]) == "limited_receiver"


def test_duplicate_reports_are_counted(look: Look) -> None:
    flow = opened()
    flow.a.send(1.0)
    flow.a.send(1.3, seq=1)
    flow.b.ack(1.31)
    flow.b.ack(1.34, sacks=[(1, 1001)])
    row = only_connection(look(flow))
    assert row["dsacks_b2a"] == row["retransmissions_spurious_a2b"] == 1
