"""The plain engine gives what the compiled one gives: values, types, nulls, faults, offsets."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis import flows
from analysis.flows.installed_engines import Engine, engines
from analysis.flows.plain import stream
from tests.analysis import frames
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.compiled_engine import NOT_COMPILED
from tests.analysis.conversations import by_chance, conversations
from tests.analysis.frames import (
    ETHERNET,
    LINUX_COOKED,
    LINUX_COOKED_2,
    LOOPBACK,
    RAW,
    MadeInterface,
    Record,
)
from topologies.foundation.errors import TcplabError

pytestmark = pytest.mark.skipif(len(engines()) < 2, reason=NOT_COMPILED)
REAL = sorted((Path(__file__).parent / "data").rglob("*.pcap"))
IN_ONE_FOLDER = [HealthCheck.function_scoped_fixture]
Same = Callable[[bytes], None]


def _read(path: Path, engine: Engine, compatible: bool) -> flows.Reading | str:
    try:
        return flows.read(path, packets=True, engine=engine, compatible=compatible)
    except TcplabError as error:
        return str(error)


def assert_same(path: Path) -> None:
    """Both engines read the same, or refuse with the same words."""
    for compatible in (False, True):
        compiled, plain = (_read(path, engine, compatible) for engine in ("compiled", "plain"))
        if isinstance(compiled, str) or isinstance(plain, str):
            assert compiled == plain
            continue
        assert compiled.file == plain.file
        assert_frame_equal(compiled.packets, plain.packets)
        assert_frame_equal(compiled.connections, plain.connections, check_exact=True)


@pytest.fixture
def same(tmp_path: Path) -> Same:
    """Writes a file and compares what the engines make of it."""

    def compared(content: bytes) -> None:
        path = tmp_path / "made.pcap"
        path.write_bytes(content)
        assert_same(path)

    return compared


def eventful(**flow_settings: object) -> MadeFlow:
    """A capture with many events.

    Loss, SACK, a duplicate report, a timer, a closed window, marks, urgent data, resets and a
    second connection.
    """
    flow = MadeFlow(MadeCapture(snaplen=120), **flow_settings)
    flow.open()
    flow.a.burst(0.1, 12)
    flow.b.ack(0.14, to=2001, sacks=[(3001, 6001), (7001, 8001)])
    flow.b.ack(0.141, to=2001, sacks=[(3001, 9001)])
    flow.a.send(0.15, seq=2001)
    flow.b.ack(0.19, to=9001, window=0)
    flow.a.send(0.2, 1, seq=9001)
    flow.b.ack(0.25, to=9001, sacks=[(2001, 3001)], ecn=1)
    flow.a.send(0.9, seq=9001, ecn=3)
    flow.a.segment(1.0, flow.a.next, 10, frames.ACK | frames.URG | frames.ECE, urgent=7)
    flow.b.ack(1.1)
    flow.a.send(1.2, seq=flow.a.next - 500)
    flow.b.fin(1.3)
    flow.a.fin(1.4)
    flow.a.fin(2.0)
    flow.b.rst(2.1)
    other = flow.capture.flow(**{**flow_settings, "firsts": (5_000_000, 77)}).open(260.0)
    other.b.burst(260.2, 3)
    return flow


@pytest.mark.parametrize("path", REAL, ids=lambda path: "-".join(path.parts[-2:]))
def test_of_real_captures(path: Path) -> None:
    assert_same(path)


LINKS = [
    (MadeCapture(ETHERNET), 4),
    (MadeCapture(ETHERNET), 6),
    (MadeCapture(ETHERNET, range(1, 8)), 4),
    (MadeCapture(ETHERNET, range(1, 9)), 4),
    (MadeCapture(LINUX_COOKED), 4),
    (MadeCapture(LINUX_COOKED_2), 6),
    (MadeCapture(LOOPBACK), 6),
    (MadeCapture(RAW), 4),
    (MadeCapture(228), 4),
    (MadeCapture(229), 6),
]


@pytest.mark.parametrize(("capture", "version"), LINKS)
def test_of_every_link_and_byte_order(same: Same, capture: MadeCapture, version: int) -> None:
    hosts = ("10.0.0.1", "10.0.0.2") if version == 4 else ("fd00::1", "::ffff:1.2.3.4")
    flow = eventful(
        hosts=hosts, padded=60, extensions=[(0, b"\0\1\4\0\0\0\0")] if version == 6 else ()
    )
    records = MadeCapture(
        capture.link, capture.tags, records=_relinked(flow.capture, capture, version)
    ).sorted()
    for order, fine in product("<>", [False, True]):
        same(frames.pcap(records, capture.link, order, fine))


def _relinked(made: MadeCapture, wanted: MadeCapture, version: int) -> list[Record]:
    """The packets of `made`, which has Ethernet, behind the other link's header."""
    head, new = (
        frames.link_header(capture.link, version, capture.tags) for capture in (made, wanted)
    )
    return [
        Record(record.time, new + record.data[len(head) :], record.wire - len(head) + len(new))
        for record in made.records
    ]


@pytest.mark.parametrize("link", [0, 1, 9, 12, 50, 108, 113, 147, 276])
def test_of_links_that_do_not_fit(same: Same, link: int) -> None:
    same(frames.pcap(eventful().capture.sorted(), link))


@pytest.mark.parametrize("head", [b"\x00\x21", b"\xff\x03\x00\x21", b"\xff\x03\x00\x57", b"\x00"])
def test_of_point_to_point_links(same: Same, head: bytes) -> None:
    records = [
        Record(record.time, head + record.data[14:], record.wire)
        for record in eventful().capture.sorted()
    ]
    same(frames.pcap(records, 9))
    session = bytes(12) + b"\x88\x64" + bytes(8)
    records = [
        Record(record.time, session[:-2] + head + record.data[14:], record.wire + 20)
        for record in records
    ]
    same(frames.pcap(records))


class _Wrapped(MadeInterface):
    """Its clock begins anew where 64 bit end."""

    def ticks(self, time: int) -> int:
        return super().ticks(time) % 2**64


@pytest.mark.parametrize("order", "<>")
def test_of_pcapng(same: Same, order: str) -> None:
    interfaces: list[MadeInterface] = [
        _Wrapped(resolution=octet) for octet in (None, 9, 3, 0x80 | 20, 0x80 | 64, 127, 0)
    ]
    interfaces += [
        _Wrapped(ETHERNET, 6, offset) for offset in (0, 10**9, -(10**15), 3 * 10**9, 2**62)
    ]
    records = [
        Record(record.time, record.data, record.wire, number % len(interfaces))
        for number, record in enumerate(eventful().capture.sorted())
    ]
    same(frames.pcapng(records, interfaces, order, frames.other_block(order)))
    simple = (
        struct.pack(order + "III", 3, 16 + 64, 64)
        + records[4].data[:64]
        + struct.pack(order + "I", 16 + 64)
    )
    same(
        frames.pcapng(records[:3], interfaces, order, simple)
        + frames.pcapng(records[3:], interfaces, "<")
    )


def _zstd(content: bytes) -> bytes:
    if shutil.which("zstd") is None:
        pytest.skip("no zstd here: sudo apt-get install zstd")
    return subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True).stdout


@pytest.mark.parametrize("pack", [gzip.compress, _zstd])
def test_of_compressed_captures_of_several_parts(
    same: Same, pack: Callable[[bytes], bytes]
) -> None:
    content = eventful().capture.pcap()
    same(b"".join(pack(content[at : at + 700]) for at in range(0, len(content), 700)))


def test_of_cut_gzip(same: Same) -> None:
    packed = gzip.compress(
        b"".join(by_chance(seed).pcap()[24 if seed else 0 :] for seed in range(8)), mtime=0
    )
    for share in range(1, 8):
        same(packed[: len(packed) * share // 8])
    same(packed + b"\0")


@pytest.mark.parametrize("piece", [1, 100, 5000])
def test_of_small_pieces(same: Same, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Where one piece of the file ends and the next begins changes nothing."""
    monkeypatch.setattr(stream, "PIECE", piece)
    records = eventful().capture.sorted()
    same(frames.pcap(records))
    same(frames.pcapng(records))


def test_of_long_lists(same: Same) -> None:
    """More segments, gaps, SACK blocks, timestamps and samples than are remembered.

    At the end an ACK covers them all.
    """
    flow = MadeFlow(MadeCapture(snaplen=100)).open()
    for number in range(1500):
        flow.a.send(1 + number * 0.001, seq=1 + number * 2000)
        if number % 3 == 2:
            right = flow.a.next
            flow.b.ack(
                1.0005 + number * 0.001,
                to=1,
                sacks=[(right - 1000, right), (right - 5000, right - 4000)],
            )
    for number in range(1499, 1400, -1):
        flow.a.send(3 - number * 0.0001, 500, seq=1 + number * 2000 - 600, stamp=5)
    for number in range(960, 1500, 3):
        flow.b.ack(6 + number * 0.001, to=1 + number * 2000, echo=1001 + number)
    for number in range(1420, 1500):
        flow.a.send(7 + number * 0.001, seq=1 + number * 2000 + 1000)
    for number in range(1100):
        flow.a.send(9 + number * 0.001)
        flow.b.ack(9.0005 + number * 0.001)
    same(flow.capture.pcap())


@pytest.mark.parametrize("timestamps", [False, True])
def test_of_many_timestamps_and_needless_repeats(same: Same, timestamps: bool) -> None:
    flow = MadeFlow(MadeCapture(snaplen=100), timestamps=timestamps).open()
    flow.a.burst(1, 700, 0.001)
    for number in range(80):
        flow.a.send(2 + number * 0.001, seq=1 + number * 1000)
    for number in range(80):
        block = (1 + number * 1000, 1001 + number * 1000)
        flow.b.ack(2.1 + number * 0.001, to=1 + number * 1000, echo=1001 + number, sacks=[block])
    for number in range(80, 700):
        flow.b.ack(2.2 + number * 0.001, to=1 + number * 1000, echo=1001 + number)
    same(flow.capture.pcap())


def test_of_one_direction_only(same: Same) -> None:
    flow = MadeFlow(MadeCapture(snaplen=100))
    for number in range(1300):
        flow.a.send(1 + number * 0.001, seq=1 + number * 1010)
    for number in range(330, 250, -1):
        flow.a.send(4 - number * 0.001, 1010, seq=1 + number * 1010)
    same(flow.capture.pcap())


def test_of_ports_that_are_used_again(same: Same) -> None:
    capture = MadeCapture()
    for number in range(12):
        flow = capture.flow(firsts=(number // 2 * 70_000, 10**9 - number)).open(number * 30.0)
        flow.a.send(number * 30 + 0.1)
        if number % 3:
            flow.a.fin(number * 30 + 0.2)
        flow.b.syn(number * 30 + 0.3)
        flow.b.ack(number * 30 + 250 * (number % 2))
    capture.flow(hosts=("10.0.0.9", "10.0.0.9"), ports=(7, 7)).open(500.0).a.burst(501, 3)
    same(capture.pcap())


def test_of_empty_and_senseless_files(same: Same) -> None:
    head = frames.pcap([])
    for content in (
        b"",
        b"\xd4",
        head[:4],
        head[:23],
        head,
        head + b"\0",
        b"\0" * 100,
        b"\x1f\x8b\x08",
        frames.pcapng([]),
    ):
        same(content)
    for length in (11, 12, 13, 28, 2**28, 2**28 + 1, 2**32 - 1):
        same(frames.pcapng([]) + struct.pack("<III", 6, length, 0) + bytes(30))
        same(head + struct.pack("<IIII", 1, 2, length, 0) + bytes(30))


def test_of_decent_conversations(same: Same) -> None:
    """In one capture, so that many need little time."""
    records: list[Record] = []
    for seed in range(60):
        made = by_chance(seed, decent=True).sorted()
        records += [
            Record(record.time + seed * 10**13, record.data, record.wire) for record in made
        ]
    same(frames.pcap(records))


AFTER = (0.0001, 0.0045, 0.0055, 0.029, 0.031, 0.079, 0.081, 0.199, 0.201, 0.289, 0.291, 0.5)
"""Seconds on both sides of every limit that a round trip of 40 ms sets."""


def _repaired(
    capture: MadeCapture,
    number: int,
    duplicates: int,
    count: int,
    after: float,
    seen_at_b: bool = False,
    **settings: bool,
) -> None:
    """`count` segments, duplicate ACKs, and `after` the first one a retransmission.

    Then a segment fills a gap.
    """
    at, since = 10.0 * number, min(after, (after, 0.0045, 0.0055)[number % 3])
    flow = capture.flow(ports=(number + 1, 80), **settings)
    measured = number % 11 != 10
    if measured:
        flow.open(at, seen_at_b=seen_at_b)
    flow.a.burst(at + 1, count)
    later = at + (1.04 if measured else 1) + after
    if measured:
        flow.b.ack(at + 1.04, to=1001)
        for again in range(duplicates):
            sacks = [(2001, 2301 + again * 300)] if flow.sack else []
            flow.b.ack(later - since, to=1001, sacks=sacks)
    first = 1001 if measured else 1
    flow.a.send(later, seq=first + number % (count - 1) * 1000)
    flow.a.send(later + 0.003, seq=first)
    flow.b.ack(later + 0.102, to=first)
    flow.a.send(later + 0.103, seq=first)
    flow.b.ack(later + 0.14)
    flow.a.send(later + 1, seq=flow.a.next + 2000)
    flow.a.send(later + 1 + after, seq=flow.a.next - 2000, stamp=3 if number % 5 == 4 else None)


def test_of_every_rule_of_repairs(same: Same) -> None:
    """Both sides of each limit: duplicates, time, outstanding; with and without SACK and stamps."""
    capture = MadeCapture(snaplen=100)
    kinds = (
        {"sack": sack, "timestamps": stamps} for sack, stamps in product((False, True), repeat=2)
    )
    chosen = product(range(4), (2, 5, 9), AFTER, kinds)
    for number, (duplicates, count, after, others) in enumerate(chosen):
        _repaired(capture, number, duplicates, count, after, seen_at_b=number % 7 == 6, **others)
    same(capture.pcap())


@settings(max_examples=25, deadline=None, suppress_health_check=IN_ONE_FOLDER)
@given(capture=conversations())
def test_of_conversations_by_chance(same: Same, capture: MadeCapture) -> None:
    same(capture.pcap())


_DAMAGES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8)


@settings(max_examples=75, deadline=None, suppress_health_check=IN_ONE_FOLDER)
@given(
    kind=st.sampled_from(["4", "6", "ng"]), damages=_DAMAGES, end=st.integers(0, 10**6) | st.none()
)
def test_of_damaged_captures(
    same: Same, kind: str, damages: list[tuple[int, int]], end: int | None
) -> None:
    """Octets changed anywhere, and the end cut off anywhere."""
    content = bytearray(_WHOLE[kind])
    for place, octet in damages:
        content[place % len(content)] = octet
    same(bytes(content[: len(content) if end is None else end % len(content)]))


def test_of_damaged_headers(same: Same) -> None:
    """One octet of a packet's headers changed at a time, in a packet each."""
    chance, records = Random(5), []
    for kind in ("10.0.0.", "fd00::"):
        flow = eventful(hosts=(f"{kind}1", f"{kind}2"), extensions=[(0, b"\0\1\4\0\0\0\0")])
        for record in flow.capture.sorted()[:8]:
            for place in range(min(len(record.data), 110)):
                data = bytearray(record.data)
                data[place] = chance.choice([0, 1, 4, 5, 44, 51, 255, chance.randrange(256)])
                records.append(Record(record.time + len(records), bytes(data), record.wire))
    same(frames.pcap(records))


_WHOLE = {
    "4": eventful().capture.pcap(),
    "6": eventful(hosts=("fd00::1", "fd00::2"), extensions=[(43, b"\0" + bytes(6))]).capture.pcap(),
    "ng": frames.pcapng(
        eventful().capture.sorted(), [MadeInterface(resolution=9)], ">", frames.other_block(">")
    ),
}
