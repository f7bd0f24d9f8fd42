"""Copies of packets by a mirror port or a second interface change no figure but their number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from analysis import flows
from analysis.flows.columns import OURS
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.looking import Look, analyze, only_connection, repetitions

SIX = ("fd00::1", "fd00::2")
RTT, LAG = 0.02, 0.000003
WITHOUT = {"six": {"hosts": SIX}, "stampless": {"hosts": SIX, "timestamps": False}, "four": {}}
"""Settings of flows whose copies have no identification, and of one whose have it."""
COUNTS = ("copies", "mirrored", "hardware_dups")


def transfer(seen_at_b: bool = False, **settings: object) -> MadeFlow:
    """Segments in pairs, ACKs, a loss that SACK repairs, and a close."""
    flow = MadeCapture().flow(**settings).open(rtt=RTT, seen_at_b=seen_at_b)
    back = 0.00002 if seen_at_b else RTT
    for number in range(20):
        at = 0.1 + number * RTT
        flow.a.burst(at, 2)
        flow.b.ack(at + back, to=flow.a.next)
    lost = flow.a.next
    flow.a.burst(1.0, 5)
    for number in range(1, 5):
        block = (lost + 1000, lost + 1000 + number * 1000)
        flow.b.ack(1.0 + number * 0.0001 + back, to=lost, sacks=[block])
    flow.a.send(1.0006 + RTT, seq=lost)
    flow.b.ack(1.0006 + RTT + back)
    flow.a.fin(2.0)
    flow.b.fin(2.0 + back)
    flow.a.ack(2.0 + RTT)
    return flow


def mirrored(flow: MadeFlow, lag: float = LAG) -> MadeCapture:
    """The capture with each packet twice."""
    later = [
        frames.Record(one.time + round(lag * 1e9), one.data, one.wire)
        for one in flow.capture.records
    ]
    return MadeCapture(records=[*flow.capture.records, *later])


NUMBERS = ("_first", "_last", "_slowest")
"""Endings of columns with numbers of packets, which copies change."""


@pytest.mark.parametrize("seen_at_b", [False, True])
@pytest.mark.parametrize("name", WITHOUT)
def test_a_capture_with_copies_has_the_figures_of_one_without(
    tmp_path: Path, name: str, seen_at_b: bool
) -> None:
    flow = transfer(seen_at_b, **WITHOUT[name])
    alone = flows.read(flow.capture.write(tmp_path)).connections
    both = flows.read(mirrored(flow).write(tmp_path)).connections
    columns = [*COUNTS, *(column.name for column in OURS if column.name.endswith(NUMBERS))]
    counted = [f"{column}_{way}" for column in columns for way in ("a2b", "b2a")]
    assert_frame_equal(both.drop(counted), alone.drop(counted), check_exact=True)
    row = both.row(0, named=True)
    copies = [row[f"mirrored_{way}"] for way in ("a2b", "b2a")]
    assert copies == [row[f"total_packets_{way}"] for way in ("a2b", "b2a")]


@pytest.mark.parametrize("lag", [0.000003, 0.0001, 0.001])
def test_a_repeat_sooner_than_a_part_of_the_round_trip_is_a_copy(look: Look, lag: float) -> None:
    flow = MadeCapture().flow(hosts=SIX).open(rtt=RTT)
    flow.a.burst(0.1, 3, gap=0.01)
    flow.a.send(0.12 + lag, seq=2001, stamp=121)
    flow.b.ack(0.14)
    read = look(flow)
    assert repetitions(read) == ["copy"]
    row = only_connection(read)
    assert (row["retransmissions_a2b"], row["rexmt_data_pkts_a2b"], row["copies_a2b"]) == (0, 0, 1)
    assert row["rtt_samples_a2b"] == 2  # the SYN's and that of the segment that came twice


def test_a_segment_that_is_stamped_anew_was_sent_again(look: Look) -> None:
    flow = MadeCapture().flow(hosts=SIX).open(rtt=RTT)
    flow.a.send(0.1, stamp=100)
    flow.a.send(0.102, seq=1, stamp=102)
    flow.b.ack(0.12)
    assert repetitions(look(flow)) == ["other"]


def test_what_comes_a_millisecond_after_the_original_is_no_tail_loss_probe(look: Look) -> None:
    flow = MadeCapture().flow(hosts=SIX).open(rtt=0.004)
    flow.a.send(0.1, stamp=100)
    flow.a.send(0.101, seq=1, stamp=101)
    flow.b.ack(0.105)
    assert repetitions(look(flow)) == ["other"]


def test_a_smaller_segment_after_a_message_of_the_path_is_sent_again(look: Look) -> None:
    """Path MTU discovery (RFC 1191) repeats sooner than a round trip, in smaller segments."""
    flow = MadeCapture().flow(hosts=SIX).open(rtt=RTT)
    flow.a.send(0.1, 1448)
    flow.a.send(0.101, 1200, seq=1, stamp=101)
    flow.a.send(0.10101, 248, seq=1201, stamp=101)
    flow.b.ack(0.121)
    assert repetitions(look(flow)) == ["other", "other"]


def test_dedup_writes_the_capture_without_copies(tmp_path: Path) -> None:
    flow = transfer(hosts=SIX)
    alone = flow.capture.write(tmp_path, name="alone.pcap")
    both, written = mirrored(flow).write(tmp_path), tmp_path / "written.pcap"
    called = analyze(both, "--dedup", written)
    count = len(flow.capture.records)
    assert f"without {count} copies" in called.stderr
    assert written.read_bytes()[24:] == alone.read_bytes()[24:]


def test_dedup_of_several_link_types_leaves_no_file(tmp_path: Path) -> None:
    records = transfer().capture.sorted()
    mixed = [replace(one, interface=at % 2) for at, one in enumerate(records)]
    links = [frames.MadeInterface(link) for link in (frames.ETHERNET, frames.RAW)]
    path, written = tmp_path / "mixed.pcapng", tmp_path / "written.pcap"
    path.write_bytes(frames.pcapng(mixed, links))
    called = analyze(path, "--dedup", written, status=1)
    assert "several link types" in called.stderr
    assert not written.exists()


def test_dedup_never_writes_over_what_it_reads(tmp_path: Path) -> None:
    path = transfer().capture.write(tmp_path)
    called = analyze(path, "--dedup", path, status=2)
    assert "overwrite" in called.stderr
