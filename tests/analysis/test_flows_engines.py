"""Both engines give the same frames for any capture, and no damage makes either crash.

    TCPLAB_FUZZ_MINUTES=10 ./tcplab test -n 2 tests/analysis/test_flows_engines.py

damages files for that long; without it, for a few seconds.
"""

from __future__ import annotations

import gzip
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from polars.testing import assert_frame_equal

from analysis import flows
from analysis.bench.made_captures import bulk
from analysis.flows.installed_engines import ENGINES, Engine, engines
from tests.analysis.captures import MadeCapture
from tests.analysis.compiled_engine import NOT_COMPILED
from tests.analysis.conversations import by_chance, conversations
from tests.analysis.mutations import REAL, file_by_chance, real_records
from tests.analysis.zstd_packing import zstd_packed
from topologies.foundation.errors import TcplabError

MINUTES = float(os.environ.get("TCPLAB_FUZZ_MINUTES", "0"))
CASES = 150


@pytest.fixture
def both() -> None:
    if len(engines()) < 2:
        pytest.skip(NOT_COMPILED)


def assert_same(path: Path, compatible: bool = False) -> None:
    compiled, plain = (
        flows.read(path, packets=True, engine=engine, compatible=compatible)
        for engine in ("compiled", "plain")
    )
    assert compiled.file == plain.file
    assert_frame_equal(compiled.packets, plain.packets)
    assert_frame_equal(compiled.connections, plain.connections, rel_tol=1e-9, abs_tol=1e-9)
    # Without rows of packets the compiled engine has a copy of the steps of its own.
    alone = flows.read(path, engine="compiled", compatible=compatible).connections
    assert_frame_equal(alone, compiled.connections, check_exact=True)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("compatible", [False, True])
@given(capture=conversations())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_engines_say_the_same(tmp_path: Path, compatible: bool, capture: MadeCapture) -> None:
    assert_same(capture.write(tmp_path), compatible)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("name", ["h1-eth0", "h2-eth0"])
@pytest.mark.parametrize("condition", ["sack_on", "sack_off"])
@pytest.mark.parametrize("compatible", [False, True])
def test_both_engines_say_the_same_of_real_captures(
    run_directory: Path, condition: str, name: str, compatible: bool
) -> None:
    assert_same(run_directory / "raw" / "seed-5" / condition / f"{name}.pcap", compatible)


def _seeds() -> Iterator[int]:
    """A fixed few; with minutes given, ever new ones until they are over."""
    if not MINUTES:
        yield from range(CASES)
        return
    begun, seed = time.monotonic(), time.time_ns()
    while time.monotonic() < begun + 60 * MINUTES:
        seed += 1
        yield seed


def _said(path: Path, engine: Engine, compatible: bool = False) -> flows.Reading | str:
    try:
        return flows.read(path, packets=True, engine=engine, compatible=compatible)
    except TcplabError as error:
        return str(error)


def _assert_alike(left: flows.Reading | str, right: flows.Reading | str, seed: int) -> None:
    try:
        if isinstance(left, flows.Reading) and isinstance(right, flows.Reading):
            assert left.file == right.file
            assert_frame_equal(left.packets, right.packets)
            assert_frame_equal(left.connections, right.connections, rel_tol=1e-9, abs_tol=1e-9)
        else:
            assert left == right
    except AssertionError as error:
        error.add_note(f"of the file file_by_chance({seed})")
        raise


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
        results = [_said(path, engine, compatible=bool(seed % 2)) for engine in engines()]
        assert results, "no engine is built"
        for left, right in pairwise(results):
            _assert_alike(left, right, seed)
        tried, readable = (
            tried + 1,
            readable + (isinstance(results[0], flows.Reading) and results[0].file.tcp_segments > 0),
        )
    assert readable > tried / 2, (
        f"only {readable} of {tried} files hold a segment: what reads segments is hardly tried"
    )


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_of_packed_files_all_is_read_that_precedes_the_damage(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    plain, path = tmp_path / "plain.pcap", tmp_path / "packed.pcap"
    bulk(plain, 9000)
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
        readings = [flows.read(path, packets=True, engine=engine) for engine in ENGINES]
        assert all(read.file.fault and read.file.packets > 3000 for read in readings)
        _assert_alike(*readings, seed=len(content))


@pytest.mark.parametrize("seed", range(10))
def test_what_is_counted_twice_is_the_same(engine: Engine, tmp_path: Path, seed: int) -> None:
    """The rows of packets add up to the columns of connections."""
    read = flows.read(by_chance(seed).write(tmp_path), packets=True, engine=engine)
    assert read.packets is not None
    sums = read.connections.select(
        name for name in read.connections.columns if name.startswith("total_packets")
    )
    assert sum(sums.sum_horizontal()) == len(read.packets) == read.file.tcp_segments
    data = read.connections.select(
        name for name in read.connections.columns if name.startswith("actual_data_bytes")
    )
    assert sum(data.sum_horizontal()) == read.packets["payload"].sum()
