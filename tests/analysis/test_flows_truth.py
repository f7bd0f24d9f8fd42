"""What TCP did, in captures whose truth is known: one fact a test."""

from __future__ import annotations

import pytest

from tests.analysis.captures import RTT, MadeCapture, opened
from tests.analysis.frames import ACK, CWR, ECE, RST, SYN
from tests.analysis.looking import Look, column, only_connection, repetitions, sent

# Sequence numbers, sizes, windows


def test_sequence_numbers_go_on_past_2_to_the_32(look: Look) -> None:
    flow = opened(firsts=(2**32 - 2500, 2**32 - 1))
    flow.a.burst(0.1, 5)
    flow.b.ack(0.2)
    read = look(flow)
    assert sent(read)["sequence"].to_list() == [1, 1001, 2001, 3001, 4001]
    assert only_connection(read)["unique_bytes_sent_a2b"] == 5000
    assert column(read, "acknowledgement", forward=False)[-1] == 5001


def test_bytes_in_flight_are_right_across_the_turn(look: Look) -> None:
    flow = opened(firsts=(2**32 - 2500, 0))
    flow.a.burst(0.1, 5)
    assert sent(look(flow))["in_flight"].to_list() == [1000, 2000, 3000, 4000, 5000]


def test_five_gigabytes_are_counted(look: Look) -> None:
    size, count = 500_000, 10_400
    flow = MadeCapture(snaplen=128).flow(hosts=("fd00::1", "fd00::2")).open()
    for number in range(count):
        flow.a.send(1 + number * 0.001, size)
        if number % 100 == 99:
            flow.b.ack(1 + number * 0.001 + 0.0001)
    read = look(flow)
    assert (
        only_connection(read)["unique_bytes_sent_a2b"]
        == only_connection(read)["actual_data_bytes_a2b"]
        == size * count
        > 5 * 10**9
    )
    assert sent(read)["sequence"][-1] == 1 + size * (count - 1)
    assert repetitions(read) == []


def test_a_super_packet_is_one_packet_with_all_its_bytes(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1, 64_000)
    read = look(flow)
    assert (
        only_connection(read)["actual_data_pkts_a2b"],
        only_connection(read)["actual_data_bytes_a2b"],
    ) == (1, 64_000)


@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")])
def test_big_tcp_takes_the_length_from_the_wire(look: Look, hosts: tuple[str, str]) -> None:
    flow = MadeCapture(snaplen=128).flow(hosts=hosts).open()
    flow.a.send(0.1, 200_000)
    assert sent(look(flow))["payload"].to_list() == [200_000]


def test_the_payload_is_that_of_the_wire_however_little_was_captured(look: Look) -> None:
    flow = MadeCapture(snaplen=96).flow().open()
    flow.a.send(0.1, 1448)
    assert sent(look(flow))["payload"].to_list() == [1448]


def test_padding_of_a_short_frame_is_no_payload(look: Look) -> None:
    flow = opened(padded=60, timestamps=False)
    flow.a.ack(0.1)
    read = look(flow)
    assert only_connection(read)["actual_data_bytes_a2b"] == 0


def test_windows_are_scaled_after_the_handshake_only(look: Look) -> None:
    flow = opened(scales=(3, 9))
    flow.b.ack(0.1, window=100)
    flow.a.ack(0.2, window=100)
    read = look(flow)
    assert column(read, "window", forward=False) == [512, 100 << 9]
    assert column(read, "window") == [512, 512 << 3, 100 << 3]


def test_a_scale_that_only_one_end_offers_is_not_used(look: Look) -> None:
    flow = opened(scales=(7, None))
    flow.a.ack(0.1, window=100)
    assert column(look(flow), "window")[-1] == 100


@pytest.mark.parametrize("scale", [0, 9])
def test_a_syn_ack_alone_tells_that_windows_are_scaled(look: Look, scale: int) -> None:
    """RFC 7323, section 2.2: it asks for scaling only if the SYN did. That one's is not known."""
    flow = MadeCapture().flow(scales=(3, scale))
    flow.a.next = 1
    flow.b.syn(0.0)
    flow.a.ack(0.04, window=100)
    flow.b.ack(0.1, window=100)
    read = look(flow)
    assert column(read, "window") == [512, 100 << scale]
    assert column(read, "window", forward=False) == [100]
    assert only_connection(look(flow, compatible=True))["max_win_adv_a2b"] == 512


# Beginnings and ends


def test_a_whole_handshake_is_known_as_one(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.fin(0.2)
    flow.b.fin(0.24)
    flow.a.ack(0.24)
    row = only_connection(look(flow))
    assert (row["SYN/FIN_pkts_sent_a2b"], row["SYN/FIN_pkts_sent_b2a"]) == ("1/1", "1/1")
    assert (row["host_a"], row["port_a"], row["host_b"], row["port_b"]) == (
        "10.0.0.1",
        40000,
        "10.0.0.2",
        5001,
    )


def test_a_connection_without_its_first_syn_starts_at_the_syn_ack(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.capture.records.pop(0)
    row = only_connection(look(flow))
    assert (row["host_a"], row["unique_bytes_sent_b2a"]) == ("10.0.0.2", 1000)


def test_a_connection_without_handshake_counts_from_its_first_byte(look: Look) -> None:
    flow = MadeCapture().flow(firsts=(2**32 - 1500, 77))
    flow.a.next = flow.b.next = 1
    flow.a.burst(0.1, 3)
    flow.b.ack(0.14)
    read = look(flow)
    assert sent(read)["sequence"].to_list() == [1, 1001, 2001]
    assert only_connection(read)["unique_bytes_sent_a2b"] == 3000
    assert repetitions(read) == []


def test_windows_are_unscaled_where_the_scale_is_not_known(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.next = flow.b.next = 1
    flow.a.send(0.1, window=100)
    assert column(look(flow), "window") == [100]


def test_a_syn_that_is_answered_by_a_reset(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.b.rst(0.04)
    row = only_connection(look(flow))
    assert (row["total_packets_a2b"], row["resets_sent_b2a"]) == (1, 1)


def test_a_syn_without_an_answer_is_a_connection(look: Look) -> None:
    flow = MadeCapture().flow()
    for at in (0, 1, 3, 7):
        flow.a.syn(at)
    read = look(flow)
    assert only_connection(read)["total_packets_b2a"] == 0
    assert repetitions(read) == ["syn", "syn", "syn"]


def test_syns_that_are_sent_again_belong_to_one_connection(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.a.syn(1.0)
    flow.b.syn(1.04)
    flow.b.syn(2.04)
    flow.a.ack(2.05)
    read = look(flow)
    assert (repetitions(read), repetitions(read, forward=False)) == (["syn"], ["syn"])


def test_both_ends_may_open(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.b.segment(0.01, 0, 0, SYN, asked={"mss": 1460, "scale": 7, "sack_permitted": True})
    flow.b.next = 1
    flow.a.segment(0.02, 0, 0, SYN | ACK, asked={"mss": 1460, "scale": 7, "sack_permitted": True})
    flow.b.segment(0.04, 0, 0, SYN | ACK, asked={"mss": 1460, "scale": 7, "sack_permitted": True})
    flow.a.send(0.05)
    flow.b.ack(0.09)
    read = look(flow)
    assert sent(read)["sequence"].to_list() == [1]
    assert column(read, "acknowledgement", forward=False)[-1] == 1001


def test_ports_used_again_are_another_connection(look: Look) -> None:
    capture = MadeCapture()
    for start, first in ((0.0, 1000), (10.0, 2**31)):
        flow = capture.flow(firsts=(first, first)).open(at=start)
        flow.a.send(start + 0.1)
        flow.b.ack(start + 0.14)
        flow.a.fin(start + 0.2)
        flow.b.fin(start + 0.24)
        flow.a.ack(start + 0.25)
    read = look(capture)
    assert read.connections["connection"].to_list() == [1, 2]
    assert read.connections["unique_bytes_sent_a2b"].to_list() == [1000, 1000]


def test_four_minutes_of_silence_do_not_split_a_connection(look: Look) -> None:
    flow = opened()
    for at in (0.1, 300.0, 900.0):
        flow.a.send(at)
        flow.b.ack(at + RTT)
    read = look(flow)
    assert only_connection(read)["unique_bytes_sent_a2b"] == 3000
    assert (
        only_connection(read)["last_packet"] - only_connection(read)["first_packet"]
        == 900_040_000_000
    )
    assert len(look(flow, compatible=True).connections) == 3  # tcptrace splits it


def test_a_fin_that_overtakes_data_leaves_a_gap(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.a.fin(0.101, seq=2001)
    flow.a.send(0.102, seq=1001, stamp=101)
    read = look(flow)
    row = only_connection(read)
    assert repetitions(read) == ["late"]
    assert (row["reordered_a2b"], row["reordering_packets_a2b"]) == (1, 1)
    assert (row["ttl_stream_length_a2b"], row["missed_data_a2b"]) == (2000, 0)


def test_no_more_is_missed_than_was_sent(look: Look) -> None:
    """A reset with an old number, behind all data and a FIN."""
    flow = opened()
    flow.a.burst(0.1, 3)
    flow.a.fin(0.2)
    flow.a.segment(0.3, 1, 0, RST | ACK)
    row = only_connection(look(flow))
    assert (row["ttl_stream_length_a2b"], row["missed_data_a2b"]) == (3000, 0)


def test_connecting_takes_as_long_as_all_its_syns(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.a.syn(1.0)
    flow.a.syn(3.0)
    flow.b.syn(3.04)
    flow.a.ack(3.041)
    row = only_connection(look(flow))
    assert (row["connect_time"], row["handshake_outer"]) == (3041 * 10**6, 40 * 10**6)


def test_three_hundred_resets_are_three_hundred(look: Look) -> None:
    flow = opened()
    for number in range(300):
        flow.a.rst(0.1 + number / 1000)
    assert only_connection(look(flow))["resets_sent_a2b"] == 300
    assert (
        only_connection(look(flow, compatible=True))["resets_sent_a2b"] == 300 % 256
    )  # tcptrace counts in an octet


def test_connections_are_numbered_by_their_first_packet(look: Look) -> None:
    capture = MadeCapture()
    second = capture.flow(ports=(2, 80)).open(at=0.01)
    first = capture.flow(ports=(1, 80)).open(at=0.0)
    first.a.send(1.0, 7)
    second.a.send(1.1, 9)
    read = look(capture)
    assert read.connections["port_a"].to_list() == [1, 2]
    assert read.connections["unique_bytes_sent_a2b"].to_list() == [7, 9]


def test_a_fin_sent_again_is_no_data(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.fin(0.2)
    flow.a.fin(0.5, seq=1001)
    flow.b.ack(0.54)
    read = look(flow)
    assert repetitions(read) == ["fin"]
    assert only_connection(read)["retransmissions_a2b"] == 0


# Round trips


def test_the_ack_gives_the_round_trip_of_what_it_acknowledges(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.15)
    assert column(look(flow), "rtt", forward=False)[-1] == 50_000_000


def test_an_ack_of_what_was_sent_twice_gives_no_round_trip(look: Look) -> None:
    """Karn's rule."""
    flow = opened(timestamps=False)
    flow.a.send(0.1)
    flow.a.send(0.4, seq=1)
    flow.b.ack(0.44)
    assert column(look(flow), "rtt", forward=False)[-1] is None


# Congestion notification


def test_marks_of_explicit_congestion_notification_are_counted(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0, ECE | CWR)
    flow.b.syn(0.04, ECE)
    flow.a.ack(0.04)
    flow.a.send(0.1, ecn=2)
    flow.a.send(0.1001, ecn=3)
    flow.b.segment(0.14, 1, 0, ACK | ECE)
    flow.a.segment(0.15, 2001, 1000, ACK | CWR, ecn=2)
    read = look(flow)
    assert column(read, "ecn")[-3:] == [2, 3, 2]
    row = only_connection(read)
    assert [row[f"{name}_packets_a2b"] for name in ("ect0", "ce", "cwr")] == [2, 1, 1]
    assert row["ece_packets_b2a"] == 1


# Options


def test_sack_blocks_that_the_capture_cut_are_left_out_not_guessed(look: Look) -> None:
    """14 + 40 + 20 + 12 of timestamps + 4: the first block ends at byte 98, the second at 106."""
    flow = MadeCapture(snaplen=100).flow(hosts=("fd00::1", "fd00::2")).open()
    flow.a.burst(0.1, 6)
    flow.b.ack(0.14, to=1, sacks=[(1001, 2001), (3001, 4001)])
    assert column(look(flow), "sacks", forward=False)[-1] in ([], [1001, 2001])


def test_urgent_data_is_counted(look: Look) -> None:
    flow = opened()
    flow.a.segment(0.1, 1, 10, ACK | 0x20, urgent=10)
    assert only_connection(look(flow))["urgent_data_pkts_a2b"] == 1
