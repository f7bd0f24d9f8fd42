"""Captures of several places, in another order than the packets passed, or with own losses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import flows
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow, opened
from tests.analysis.looking import Look, analyze, kinds, only_connection, repetitions

TRIP = 0.1


def transfer(rounds: int = 20, **settings: object) -> MadeFlow:
    """Ten segments and an ACK a round trip, seen at a."""
    flow = MadeCapture().flow(**settings).open(rtt=TRIP)
    for number in range(rounds):
        at = 0.11 + number * (TRIP + 0.01)
        flow.a.burst(at, 10, gap=0.001)
        flow.b.ack(at + TRIP)
    return flow


def twice(flow: MadeFlow, lag: float, interfaces: tuple[int, int] = (0, 0)) -> MadeCapture:
    """Both ends' captures in one: a's packets reach b after `lag` s, and b's left it before."""
    port = flow.ports[0].to_bytes(2)
    far = []
    for one in flow.capture.records:
        sign = 1 if one.data[34:36] == port else -1
        far.append(replace(one, time=one.time + sign * round(lag * 1e9), interface=interfaces[1]))
    near = [replace(one, interface=interfaces[0]) for one in flow.capture.records]
    return MadeCapture(records=[*near, *far])


@pytest.mark.parametrize("interfaces", [(0, 0), (0, 1)])
@pytest.mark.parametrize("timestamps", [True, False])
def test_both_ends_in_one_file_are_judged_at_one(
    look: Look, interfaces: tuple[int, int], timestamps: bool
) -> None:
    flow = transfer(timestamps=timestamps)
    merged = twice(flow, 0.02, interfaces)
    read = look(frames.pcapng(merged.sorted(), [frames.MadeInterface(resolution=9)] * 2))
    row, alone = only_connection(read), only_connection(look(flow))
    for name in ("retransmissions_a2b", "rtt_p50_a2b", "unique_bytes_sent_a2b", "connect_time"):
        assert row[name] == alone[name], name
    assert (row["places"], row["hop_lost_a2b"], row["retransmissions_a2b"]) == (2, 0, 0)
    assert row["hop_delay_p50_a2b"] == pytest.approx(20e6, rel=0.01)
    assert len(read.copies) == len(flow.capture.records)


def test_a_loss_between_two_places_is_counted_there(look: Look) -> None:
    flow = transfer()
    merged = twice(flow, 0.02, (0, 1))
    data = [at for at, one in enumerate(merged.records) if one.interface == 1 and one.wire > 900]
    del merged.records[data[5]]
    row = only_connection(look(frames.pcapng(merged.sorted(), [frames.MadeInterface()] * 2)))
    assert (row["hop_lost_a2b"], row["hop_lost_b2a"], row["retransmissions_a2b"]) == (1, 0, 0)


def test_identifications_that_are_all_alike_tell_nothing(look: Look) -> None:
    """RFC 6864 lets a sender give all unfragmented packets one identification."""
    flow = MadeCapture().flow(timestamps=False).open(rtt=TRIP)
    for number in range(3):
        flow.a.send(0.2 + number * 0.001, number=1)
    flow.a.send(0.41, seq=1, number=1)
    assert repetitions(look(flow)) == ["rto"]
    assert only_connection(look(flow))["mirrored_a2b"] == 0


def test_interfaces_that_write_late_are_sorted(look: Look) -> None:
    flow = transfer()
    late = sorted(flow.capture.records, key=lambda one: (one.time // 200_000_000, one.data[34:36]))
    read = look(frames.pcap(late))
    assert read.file.is_sorted and read.file.backwards > 0
    row, alone = only_connection(read), only_connection(look(flow))
    for name in ("vantage", "connect_time", "rtt_p50_a2b", "late_a2b", "reordered_a2b"):
        assert row[name] == alone[name], name


def test_a_syn_ack_does_not_precede_its_syn(look: Look) -> None:
    flow = opened()
    syn, answer, ack = flow.capture.records
    flow.a.send(0.05)
    tied = [replace(answer, time=syn.time), syn, ack, *flow.capture.records[3:]]
    row = only_connection(look(frames.pcap(tied)))
    assert (row["host_a"], row["syns_a2b"], row["syn_acks_b2a"]) == ("10.0.0.1", 1, 1)
    assert row["connect_time"] == 40_000_000


def test_a_direction_that_comes_late_is_moved_before_its_acks(look: Look) -> None:
    flow = transfer()
    port = flow.ports[0].to_bytes(2)
    late = [
        replace(one, time=one.time + 120_000_000) if one.data[34:36] == port else one
        for one in flow.capture.records
    ]
    row = only_connection(look(frames.pcap(sorted(late, key=lambda one: one.time))))
    assert (row["host_a"], row["syns_a2b"]) == ("10.0.0.1", 1)
    assert row["late_by_a2b"] == pytest.approx(29e6, rel=0.01)


def test_an_ack_precedes_the_data_that_it_released(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1, 50)
    flow.b.ack(0.145, to=51)
    flow.a.send(0.145, 50)
    flow.b.send(0.2, 10)
    *others, ack, data, answer = flow.capture.records
    read = look(frames.pcap([*others, data, ack, answer]))
    assert read.packets is not None
    assert read.packets["number"].to_list()[-3:] == [6, 5, 7]


def test_what_the_receiver_drops_behind_the_capture_is_lost(look: Look) -> None:
    """The first segment is captured twice, and SACKed only after the second time."""
    flow = MadeCapture().flow().open(rtt=TRIP, seen_at_b=True)
    flow.a.burst(0.2, 5)
    for number in range(1, 5):
        blocks = [(1001, 1001 + number * 1000)]
        flow.b.ack(0.20005 + number * 0.0001, to=1, sacks=blocks)
    flow.a.send(0.31, seq=1)
    flow.b.ack(0.31001)
    row = only_connection(look(flow))
    assert (row["retransmissions_sack_a2b"], row["copies_a2b"]) == (1, 0)


def test_a_reset_behind_a_fin_misses_no_byte(look: Look) -> None:
    flow = opened()
    flow.a.send(0.1)
    flow.a.fin(0.1)
    flow.b.ack(0.14)
    flow.a.rst(0.15)
    assert only_connection(look(flow))["missed_data_a2b"] == 0


@pytest.mark.parametrize("stamp", [99, None])
def test_an_overtaken_ack_asks_for_nothing(look: Look, stamp: int | None) -> None:
    flow = MadeCapture().flow(timestamps=stamp is not None).open(rtt=0.04)
    flow.b.send(0.1, 1)
    flow.a.ack(0.101)
    flow.b.segment(0.102, 1, 0, frames.ACK, **({"stamp": stamp} if stamp else {}))
    assert "keepalive" not in kinds(look(flow), forward=False)


def test_what_the_capture_lost_stands_with_the_verdict(tmp_path: Path) -> None:
    content = frames.pcapng(transfer().capture.sorted()) + frames.statistics(50)
    path = tmp_path / "lost.pcapng"
    path.write_bytes(content)
    assert flows.read(path).file.lost == 50
    output = " ".join(analyze(path).output.split())
    assert "low confidence; but the capture lost 50 of 273 packets" in output
    assert "Note: The capture itself lost 50 of 273 packets" in output
