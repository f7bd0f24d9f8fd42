"""Retransmissions, their causes, and what only looks like one: a fact a test."""

from __future__ import annotations

import pytest

from tests.analysis.captures import RTT, MadeCapture, MadeFlow, opened
from tests.analysis.frames import ACK
from tests.analysis.looking import Look, column, kinds, only_connection, repetitions, sent

# Packets that carry nothing new


def test_a_keepalive_is_no_retransmission(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.ack(60.0)
    flow.a.segment(75.0, 1000, 0, ACK)
    flow.b.ack(75.04)
    read = look(flow)
    assert repetitions(read) == ["keepalive"]
    assert only_connection(read)["rexmt_data_pkts_a2b"] == 0


def test_keepalives_are_known_before_any_data(look: Look) -> None:
    flow = opened()
    flow.a.segment(75.0, 0, 0, ACK)
    flow.b.ack(75.04, to=1)
    assert repetitions(look(flow)) == ["keepalive"]


@pytest.mark.parametrize("first", ["a keep-alive", "an ACK of the other end"])
def test_keepalives_are_known_in_a_capture_without_syn(look: Look, first: str) -> None:
    """Nothing but keep-alives: that bytes were sent tells only the answer, of the next number."""
    flow = MadeCapture().flow()
    if first != "a keep-alive":
        flow.b.segment(0.5, 50, 0, ACK, to=1000)
    for turn in range(1, 6):
        flow.a.segment(75.0 * turn, 999, 0, ACK, to=50)
        flow.b.segment(75.0 * turn + 0.04, 50, 0, ACK, to=1000)
    read = look(flow)
    forward = first == "a keep-alive"
    assert repetitions(read, forward) == ["keepalive"] * (4 if forward else 5)


def test_a_keepalive_with_a_byte_is_no_retransmission(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.send(75.0, 1, seq=1000)
    flow.b.ack(75.04)
    assert repetitions(look(flow)) == ["keepalive"]


def test_a_probe_of_a_closed_window_is_no_retransmission(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14, window=0)
    flow.a.segment(
        0.4, 1000, 0, ACK
    )  # Linux: an old byte's number and no byte (tcp_xmit_probe_skb)
    flow.b.ack(0.44, window=0)
    flow.a.segment(0.9, 1000, 0, ACK)
    flow.b.ack(0.94)
    assert repetitions(look(flow)) == ["probe", "probe"]


def test_a_byte_that_probes_a_closed_window_is_a_probe(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14, window=0)
    flow.a.send(0.4, 1)
    flow.b.ack(0.44, to=1001, window=0)
    flow.a.send(0.9, 1, seq=1001)
    flow.b.ack(0.94)
    read = look(flow)
    assert kinds(read)[-2:] == ["probe", "probe"]
    assert only_connection(read)["rexmt_data_pkts_a2b"] == 0


# Why data is retransmitted


def test_an_unanswered_segment_is_sent_again_by_the_timer(look: Look) -> None:
    flow = opened(sack=False)  # with SACK the first would be a tail loss probe
    flow.a.send(0.1)
    for at in (0.34, 0.82, 1.78):
        flow.a.send(at, seq=1)
    flow.b.ack(1.82)
    read = look(flow)
    assert repetitions(read) == ["rto", "rto", "rto"]
    assert (
        only_connection(read)["rexmt_data_pkts_a2b"],
        only_connection(read)["rexmt_data_bytes_a2b"],
    ) == (3, 3000)


def test_three_duplicate_acks_without_sack_are_a_fast_retransmission(look: Look) -> None:
    flow = opened(sack=False)
    flow.a.burst(0.1, 5)
    for number in range(4):
        flow.b.ack(0.14 + number * 0.0001, to=1)
    flow.a.send(0.1405, seq=1)
    flow.b.ack(0.1805)
    assert repetitions(look(flow)) == ["fast"]


def test_a_gap_that_sack_reports_is_filled_by_sack_recovery(look: Look) -> None:
    flow = opened()
    flow.a.burst(0.1, 5)
    for number in range(1, 5):
        flow.b.ack(0.14 + number * 0.0001, to=1, sacks=[(1001, 1001 + number * 1000)])
    flow.a.send(0.1405, seq=1)
    flow.b.ack(0.1805)
    read = look(flow)
    assert repetitions(read) == ["sack"]
    assert column(read, "sacks", forward=False)[-2] == [1001, 5001]


def test_what_sack_reported_is_not_in_flight(look: Look) -> None:
    flow = opened()
    flow.a.burst(0.1, 5)
    flow.b.ack(0.14, to=1, sacks=[(1001, 5001)])
    flow.a.send(0.141)
    assert sent(look(flow))["in_flight"][-1] == 2000


def test_a_tail_loss_probe_is_known_by_its_time(look: Look) -> None:
    flow = opened()
    flow.a.burst(0.1, 5)
    flow.b.ack(0.14, to=4001)
    flow.a.send(
        0.2404, seq=4001
    )  # the last segment again, after two round trips without an ACK (RFC 8985, 7.2)
    flow.b.ack(0.2804)
    assert repetitions(look(flow)) == ["tlp"]


def test_a_duplicate_that_dsack_reports_was_needless(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.a.send(0.34, seq=1)
    flow.b.ack(0.35)
    flow.b.ack(0.38, sacks=[(1, 1001)])
    read = look(flow)
    assert repetitions(read) == ["spurious"]
    assert column(read, "dsack", forward=False) == [False, False, True]


def test_an_ack_that_echoes_the_first_timestamp_tells_of_a_needless_one(look: Look) -> None:
    """The Eifel detection, RFC 3522."""
    flow = opened(sack=False)
    flow.a.send(0.1, stamp=100)
    flow.a.send(0.34, seq=1, stamp=340)
    flow.b.ack(0.35, echo=100)
    assert repetitions(look(flow)) == ["spurious"]


def test_an_ack_that_echoes_the_second_timestamp_tells_that_it_was_needed(look: Look) -> None:
    flow = opened(sack=False)
    flow.a.send(0.1, stamp=100)
    flow.a.send(0.34, seq=1, stamp=340)
    flow.b.ack(0.38, echo=340)
    assert repetitions(look(flow)) == ["rto"]


def test_a_delayed_ack_of_two_retransmissions_echoes_the_first_and_tells_nothing_of_the_second(
    look: Look,
) -> None:
    """RFC 7323, section 4.3: a delayed ACK echoes the timestamp of the earliest segment."""
    flow = opened(sack=False)
    flow.a.burst(0.1, 3)
    flow.a.send(0.34, seq=1, stamp=340)
    flow.b.ack(0.38, to=1001, echo=340)
    flow.a.send(0.381, seq=1001, stamp=381)
    flow.a.send(0.385, seq=2001, stamp=385)
    flow.b.ack(0.425, echo=381)
    assert repetitions(look(flow)) == ["rto", "rto", "rto"]


def test_retransmitted_bytes_count_in_mss_equivalents_with_super_packets(look: Look) -> None:
    flow = opened(mss=1460)
    flow.a.send(0.1, 10 * 1448)
    flow.a.send(0.4, 10 * 1448, seq=1)
    flow.b.ack(0.44)
    row = only_connection(look(flow))
    assert (row["rexmt_data_pkts_a2b"], row["rexmt_data_bytes_a2b"]) == (1, 14480)


def test_new_bytes_behind_old_ones_are_new(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.a.send(0.4, 1500, seq=1)
    flow.b.ack(0.44)
    assert only_connection(look(flow))["unique_bytes_sent_a2b"] == 1500


# Where the capture was made


def receiver(**settings: object) -> MadeFlow:
    return MadeCapture().flow(**settings).open(rtt=RTT, seen_at_b=True)


def test_a_gap_that_is_filled_at_the_receiver_is_late_and_no_retransmission(look: Look) -> None:
    flow = receiver()
    flow.a.send(0.1)
    flow.b.ack(0.1)
    for number in range(3):
        flow.a.send(0.1001 + number * 0.0001, seq=2001 + 1000 * number)
        flow.b.ack(0.1001 + number * 0.0001, to=1001, sacks=[(2001, 3001 + 1000 * number)])
    flow.a.send(0.142, seq=1001)
    flow.b.ack(0.142)
    read = look(flow)
    assert repetitions(read) == ["late"]
    assert only_connection(read)["rexmt_data_pkts_a2b"] == 0
    assert only_connection(read)["vantage"] == "b"


def test_the_second_copy_at_the_receiver_is_a_copy(look: Look) -> None:
    flow = receiver()
    flow.a.send(0.1)
    flow.b.ack(0.1)
    flow.a.send(0.34, seq=1)
    flow.b.ack(0.34, sacks=[(1, 1001)])
    assert repetitions(look(flow)) == ["copy"]


def test_segments_that_changed_places_are_late_and_no_retransmission(look: Look) -> None:
    flow = receiver()
    for number, place in enumerate([0, 2, 1, 3]):
        flow.a.send(0.1 + number * 0.0001, seq=1 + 1000 * place)
        flow.b.ack(0.1 + number * 0.0001 + 0.00001, to=[1001, 1001, 3001, 4001][number])
    read = look(flow)
    assert repetitions(read) == ["late"]
    assert (
        only_connection(read)["rexmt_data_pkts_a2b"],
        only_connection(read)["outoforder_pkts_a2b"],
    ) == (0, 1)


def test_the_handshake_tells_where_the_capture_was_made(look: Look) -> None:
    for place, (answer, last) in {"a": (0.04, 0.0401), "b": (0.0001, 0.04)}.items():
        flow = MadeCapture().flow()
        flow.a.syn(0.0)
        flow.b.syn(answer)
        flow.a.ack(last)
        flow.a.send(last + 0.001)
        assert only_connection(look(flow))["vantage"] == place
