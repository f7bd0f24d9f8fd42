"""Windows, resets, openings and SACK that were told wrongly: a fact a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import flows
from analysis.analyze import facts
from analysis.analyze.terminal import figures
from analysis.graphs.capture import Capture, directions
from analysis.graphs.timelines import draw_in_flight
from tests.analysis.captures import MadeCapture, MadeFlow, opened
from tests.analysis.frames import ACK, PSH, RST, SYN
from tests.analysis.looking import Look, kinds, only_connection, repetitions


def test_bytes_in_flight_fall_when_acks_come(tmp_path: Path) -> None:
    flow = opened()
    flow.a.burst(0.1, 4)
    flow.b.ack(0.14, to=2001)
    flow.b.ack(0.15, to=2001, sacks=[(3001, 4001)])
    flow.b.ack(0.16)
    read = flows.read(flow.capture.write(tmp_path), packets=True)
    assert read.packet_table is not None
    capture = Capture.of("made", read)
    drawn = draw_in_flight(directions(capture)[0])
    (layer,) = [layer for layer in drawn.layers if layer.look == "in_flight"]
    assert list(layer.y)[-4:] == [4000, 2000, 1000, 0]


def test_sack_blocks_count_without_syns(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.burst(0.1, 5)
    for number in range(1, 5):
        flow.b.ack(0.14 + number * 0.0001, to=1, sacks=[(1001, 1001 + number * 1000)])
    flow.a.send(0.1405, seq=1)
    flow.b.ack(0.1805)
    assert repetitions(look(flow)) == ["sack"]


def closing() -> MadeFlow:
    """Segments in flight when the window closes, as a place near the receiver sees them."""
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.12, window=0)
    flow.a.burst(0.1201, 3)
    return flow


def test_full_segments_in_flight_when_a_window_closed_are_new(look: Look) -> None:
    flow = closing()
    flow.b.ack(0.3, to=1001)
    for number in range(3):
        flow.a.send(0.5 + number * 0.001, seq=1001 + 1000 * number)
    read = look(flow)
    assert kinds(read)[2:6] == ["new"] * 4
    row = only_connection(read)
    assert (row["probes_a2b"], row["zwnd_probe_pkts_a2b"], row["retransmissions_a2b"]) == (0, 0, 3)
    assert row["unique_bytes_sent_a2b"] == 4000


def test_an_overtaken_ack_does_not_open_a_closed_window(look: Look) -> None:
    flow = opened()
    flow.a.burst(0.1, 2)
    flow.b.ack(0.14, window=0)
    flow.b.ack(0.141, to=1001, window=512)
    flow.a.send(0.6, 1)
    flow.b.ack(1.14)
    read = look(flow)
    assert repetitions(read) == ["probe"]
    assert only_connection(read)["zero_window_time_b2a"] == 1_000_000_000


@pytest.mark.parametrize("at", [-1_000_000, 200_000, 2**30])
def test_a_reset_far_outside_the_window_ends_no_connection(look: Look, at: int) -> None:
    flow = opened(firsts=(2_000_000, 9_000_000))
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.segment(0.2, 1001 + at, 0, RST)
    flow.a.send(0.3)
    flow.b.ack(0.34)
    row = only_connection(look(flow))
    assert (row["complete"], row["resets_sent_a2b"], row["resets_ignored_a2b"]) == ("no", 1, 1)


def test_a_reset_within_the_window_ends_the_connection(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.b.ack(0.14)
    flow.a.rst(0.2)
    row = only_connection(look(flow))
    assert (row["complete"], row["resets_ignored_a2b"]) == ("reset", 0)


def test_a_simultaneous_open_is_no_repeated_syn(look: Look) -> None:
    flow = MadeCapture().flow()
    for end in (flow.a, flow.b):
        end.segment(0.0, 0, 0, SYN, asked={"mss": 1460, "sack_permitted": True})
        end.next = 1
    for end in (flow.a, flow.b):
        end.segment(0.02, 0, 0, SYN | ACK, asked={"mss": 1460, "sack_permitted": True})
    flow.a.send(0.1)
    read = look(flow)
    row = only_connection(read)
    assert (row["syns_again_a2b"], row["syns_again_b2a"], row["vantage"]) == (0, 0, "unknown")
    assert facts.connection(row).opened == "Opened by both ends at once: their SYNs crossed."


def test_duplicated_syns_are_copies(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.syn(0.0)
    flow.a.syn(0.00001, stamp=1, number=1)
    flow.b.syn(0.04)
    flow.a.ack(0.04)
    flow.a.send(0.1)
    row = only_connection(look(flow))
    assert (row["syns_a2b"], row["syns_again_a2b"], row["mirrored_a2b"]) == (1, 0, 1)
    assert "sent 2 times" not in facts.connection(row).opened


def test_refused_data_of_a_syn_are_sent_again_without_a_loss(look: Look) -> None:
    flow = MadeCapture().flow()
    flow.a.segment(0.0, 0, 500, SYN, asked={"mss": 1460, "sack_permitted": True})
    flow.a.next = 501
    flow.b.segment(0.04, 0, 0, SYN | ACK, to=1, asked={"mss": 1460, "sack_permitted": True})
    flow.b.next = 1
    flow.a.segment(0.0401, 1, 500, ACK | PSH, to=1)
    flow.b.ack(0.08)
    read = look(flow)
    assert repetitions(read) == ["fastopen"]
    row = only_connection(read)
    assert (row["retransmissions_fastopen_a2b"], row["loss_episodes_a2b"]) == (1, 0)


def test_a_request_of_a_download_has_no_limit(look: Look) -> None:
    flow = MadeCapture().flow().open(rtt=0.04, seen_at_b=False)
    flow.a.send(0.1, 100)
    for number in range(20):
        flow.b.send(0.14 + number * 0.001)
        flow.a.ack(0.1401 + number * 0.001)
    main, request = facts.connection(only_connection(look(flow))).directions
    assert (main.is_request, request.is_request) == (False, True)
    assert not figures(request)["Limited by"]
