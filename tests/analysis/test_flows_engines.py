"""The engine reads any capture in the same way with and without rows of packets, and no damage
makes it crash.

    TCPLAB_FUZZ_MINUTES=10 ./tcplab test -n 2 tests/analysis/test_flows_engines.py

damages files for that long; without it, for a few seconds.
"""

from __future__ import annotations

import gzip
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from polars.testing import assert_frame_equal

from analysis import flows
from analysis.flows.columns import KIND
from tests.analysis.brute_force import assert_as_counted
from tests.analysis.captures import MadeCapture
from tests.analysis.conversations import by_chance, conversations
from tests.analysis.mutations import REAL, file_by_chance, real_records
from tests.analysis.zstd_packing import zstd_packed
from tests.tools import made_captures
from topologies.errors import TcplabError

MINUTES = float(os.environ.get("TCPLAB_FUZZ_MINUTES", "0"))
CASES = 150
IN_ONE_FOLDER = [HealthCheck.function_scoped_fixture]


def assert_consistent(path: Path, compatible: bool = False) -> flows.Reading:
    """Without rows of packets the engine has a copy of the steps, compiled apart."""
    read = flows.read(path, packets=True, compatible=compatible)
    alone = flows.read(path, compatible=compatible)
    assert read.file == alone.file
    assert_frame_equal(alone.connections, read.connections, check_exact=True)
    _assert_sums_agree(read, compatible)
    return read


def _assert_sums_agree(read: flows.Reading, compatible: bool) -> None:
    """The rows of packets add up to the columns of connections."""
    assert read.packets is not None
    sums = [f"{name}_{way}" for name in ("total_packets", "mirrored") for way in ("a2b", "b2a")]
    packets = sum(read.connections.select(sums).sum_horizontal())
    assert packets == len(read.packets) == read.file.tcp_segments
    data = read.connections.select("actual_data_bytes_a2b", "actual_data_bytes_b2a")
    once = read.packets.filter(pl.col("kind") != KIND["copy"])["payload"].sum()
    counted = sum(data.sum_horizontal())
    assert compatible or once <= counted <= read.packets["payload"].sum()


@pytest.mark.parametrize("compatible", [False, True])
@given(capture=conversations())
@settings(max_examples=100, deadline=None, suppress_health_check=IN_ONE_FOLDER)
def test_captures_by_chance_are_read_consistently(
    tmp_path: Path, compatible: bool, capture: MadeCapture
) -> None:
    assert_consistent(capture.write(tmp_path), compatible)


@pytest.mark.parametrize("compatible", [False, True])
@pytest.mark.parametrize("path", REAL, ids=lambda path: "-".join(path.parts[-2:]))
def test_real_captures_are_read_consistently(path: Path, compatible: bool) -> None:
    assert_consistent(path, compatible)


@pytest.mark.parametrize("seed", range(60))
def test_a_brute_force_reader_counts_the_same(tmp_path: Path, seed: int) -> None:
    assert_as_counted(by_chance(seed, decent=True).write(tmp_path))


@pytest.mark.parametrize("path", REAL, ids=lambda path: "-".join(path.parts[-2:]))
def test_a_brute_force_reader_counts_the_same_in_real_captures(path: Path) -> None:
    assert_as_counted(path)


def _seeds() -> Iterator[int]:
    """A fixed few; with minutes given, ever new ones until they are over."""
    if not MINUTES:
        yield from range(CASES)
        return
    begun, seed = time.monotonic(), time.time_ns()
    while time.monotonic() < begun + 60 * MINUTES:
        seed += 1
        yield seed


def test_the_files_that_are_damaged_are_worth_it() -> None:
    """Of each container and packing there are enough, and the real captures are read whole."""
    contents = [file_by_chance(seed) for seed in range(CASES)]
    heads = Counter(content[:4] for content in contents)
    for head in (
        b"\x28\xb5\x2f\xfd",
        b"\x0a\x0d\x0d\x0a",
        b"\xd4\xc3\xb2\xa1",
        b"\xa1\xb2\x3c\x4d",
    ):
        assert heads[head] >= 3, (head, heads)
    assert sum(content[:2] == b"\x1f\x8b" for content in contents) >= 10
    assert all(len(real_records(path)) == flows.read(path).file.packets for path in REAL)


def test_damaged_files_are_read_to_the_damage_or_refused_in_words(tmp_path: Path) -> None:
    path, tried, readable = tmp_path / "damaged.pcap", 0, 0
    for seed in _seeds():
        path.write_bytes(file_by_chance(seed))
        tried += 1
        try:
            readable += assert_consistent(path, bool(seed % 2)).file.tcp_segments > 0
        except TcplabError as error:
            assert "is no capture" in str(error) or "is empty" in str(error), seed
        except AssertionError as error:
            error.add_note(f"of the file file_by_chance({seed})")
            raise
    assert readable > tried / 2, (
        f"only {readable} of {tried} files hold a segment: what reads segments is hardly tried"
    )


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_of_packed_files_all_is_read_that_precedes_the_damage(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    plain, path = tmp_path / "plain.pcap", tmp_path / "packed.pcap"
    made_captures.bulk(plain, 9000)
    packed = pack(plain.read_bytes())
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 16
    for content in (
        packed[: len(packed) // 2],
        bytes(flipped),
        packed + b"junk",
        packed + packed[:1],
    ):
        path.write_bytes(content)
        read = assert_consistent(path)
        assert read.file.fault and read.file.packets > 3000


def test_the_made_capture_is_the_same_every_time_and_as_large_as_asked(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.pcap", "two.pcap")]
    assert {made_captures.bulk(path, 9000, connections=3) for path in paths} == {9 + 9000}
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_made_capture_loses_a_segment_a_period(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    packets = made_captures.bulk(path, 9000, connections=3)
    read = flows.read(path)
    rows, segments = read.connections, 2000
    assert (read.file.packets, read.file.fault) == (packets, None)
    lost = segments // made_captures.PERIOD
    assert rows["rexmt_data_pkts_a2b"].to_list() == [lost] * 3
    assert rows["unique_bytes_sent_a2b"].to_list() == [(segments - lost) * made_captures.MSS] * 3
    assert rows["retransmissions_sack_a2b"].to_list() == rows["rexmt_data_pkts_a2b"].to_list()
    assert rows["dsacks_b2a"].to_list() == [0] * 3


def test_idle_connections_only_opened(tmp_path: Path) -> None:
    path = tmp_path / "idle.pcap"
    assert made_captures.idle(path, 100) == 300
    rows = flows.read(path).connections
    assert rows["syns_a2b"].to_list() == rows["syns_b2a"].to_list() == [1] * 100
    assert rows["actual_data_pkts_a2b"].sum() == 0
