"""Every container gives the same packets; damage is reported, never a crash."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import struct
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import lz4.frame
import pytest

from analysis import flows
from analysis.flows.reader import CaptureMoment, CapturePeriod
from tests.analysis import frames
from tests.analysis.captures import START, MadeCapture, nanoseconds
from tests.analysis.frames import ETHERNET, LINUX_COOKED, MadeInterface, Record
from tests.analysis.looking import Look, only_connection, sent
from tests.analysis.plain_conversation import PLAIN, conversation, facts
from tests.analysis.zstd_packing import zstd_packed
from topologies.errors import TcplabError


@pytest.mark.parametrize(("order", "fine"), list(product("<>", [True, False])))
def test_both_byte_orders_and_resolutions(look: Look, order: str, fine: bool) -> None:
    read = look(conversation().pcap(order=order, nanoseconds=fine))
    assert facts(read) == PLAIN
    assert read.file.format == ("pcap-nanosecond" if fine else "pcap")
    assert (read.file.first, read.file.last) == (START, START + 450_000_000)


def test_nanoseconds_are_kept(look: Look) -> None:
    capture = conversation()
    record = capture.records[3]
    capture.records[3] = Record(record.time + 7, record.data, record.wire)
    assert sent(look(capture))["time"][0] == nanoseconds(0.1) + 7


@pytest.mark.parametrize(
    ("order", "resolution"), list(product("<>", [None, 6, 9, 3, 0x80 | 20, 0x80 | 30]))
)
def test_every_resolution_of_pcapng(look: Look, order: str, resolution: int | None) -> None:
    """9: nanoseconds; 0x80 | 20: 2^-20 s. Coarse ticks lose what they cannot say."""
    interface = MadeInterface(resolution=resolution)
    read = look(
        frames.pcapng(conversation().sorted(), [interface], order, frames.other_block(order))
    )
    assert facts(read) == PLAIN
    assert read.file.format == "pcapng"
    assert START - 10**6 <= read.file.first <= START
    if resolution in (None, 6, 9, 3):
        assert read.file.first == START


def test_two_interfaces_with_resolutions_of_their_own(look: Look) -> None:
    records = [
        Record(record.time, record.data, record.wire, number % 2)
        for number, record in enumerate(conversation().sorted())
    ]
    read = look(frames.pcapng(records, [MadeInterface(resolution=9), MadeInterface(resolution=6)]))
    assert facts(read) == PLAIN
    assert sent(read)["time"].to_list() == [nanoseconds(at) for at in (0.1, 0.1001, 0.1002, 0.34)]


def test_an_interface_with_an_offset_of_its_clock(look: Look) -> None:
    read = look(
        frames.pcapng(conversation().sorted(), [MadeInterface(resolution=9, offset=1_600_000_000)])
    )
    assert read.file.first == START


def test_two_interfaces_of_two_kinds_of_link(look: Look) -> None:
    ether, cooked = (conversation(MadeCapture(link)).sorted() for link in (ETHERNET, LINUX_COOKED))
    mixed = [
        Record(old.time, new.data, new.wire, number % 2)
        for number, (old, new) in enumerate(
            zip(
                ether,
                [pair[i % 2] for i, pair in enumerate(zip(ether, cooked, strict=True))],
                strict=True,
            )
        )
    ]
    read = look(frames.pcapng(mixed, [MadeInterface(ETHERNET), MadeInterface(LINUX_COOKED)]))
    assert facts(read) == PLAIN
    assert set(read.file.link_types) == {ETHERNET, LINUX_COOKED}


def test_two_sections_one_after_the_other(look: Look) -> None:
    records = conversation().sorted()
    content = frames.pcapng(records[:5]) + frames.pcapng(
        records[5:], [MadeInterface(resolution=9)], ">"
    )
    assert facts(look(content)) == PLAIN


def _zstd(content: bytes) -> bytes:
    if shutil.which("zstd") is None:
        pytest.skip("no zstd here: sudo apt-get install zstd")
    return subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True).stdout


PACKERS = [
    (gzip.compress, "gzip"),
    (_zstd, "zstd"),
    (bz2.compress, "bzip2"),
    (lzma.compress, "xz"),
    (lz4.frame.compress, "lz4"),
]


@pytest.mark.parametrize(("pack", "name"), PACKERS)
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_compressed_files_are_read_as_they_are(
    look: Look, pack: Callable[[bytes], bytes], name: str, kind: str
) -> None:
    capture = conversation()
    read = look(pack(capture.pcap() if kind == "pcap" else frames.pcapng(capture.sorted())))
    assert facts(read) == PLAIN
    assert read.file.compression == name


def test_a_frame_of_another_length_than_its_head_says_is_damage(look: Look) -> None:
    """zstd notices it if it has the frame as a whole, and not octet by octet."""
    packed = zstd_packed(conversation().pcap())
    nothing = bytearray(zstd_packed(b""))
    nothing[5] = 16
    read = look(packed + bytes(nothing))
    assert (read.file.packets, read.file.fault) == (
        12,
        "its compressed data is damaged or cut short",
    )


def test_a_compressed_file_that_ends_early_keeps_what_came_before(look: Look) -> None:
    capture = MadeCapture()
    flow, chance = capture.flow().open(), Random(1)
    for number in range(2000):
        flow.a.send(1 + number * 0.001, 100 + chance.randrange(900))
    packed = gzip.compress(capture.pcap())
    read = look(packed[: len(packed) // 2])
    assert 0 < read.file.packets < len(capture.records)
    assert read.file.fault


# Packets that are not TCP, or not all of it


@pytest.mark.parametrize(
    "packet",
    [
        frames.ipv4(("10.0.0.1", "10.0.0.2"), b"\0" * 40, 40, protocol=17),
        frames.ipv4(("10.0.0.1", "10.0.0.2"), b"\0" * 40, 40, fragment=20),
        frames.ipv4(("10.0.0.1", "10.0.0.2"), b"\0" * 12, 12),
        b"\x45\0",
        b"",
        b"\x95" + b"\0" * 60,
        b"\x41" + b"\0" * 60,
    ],
)
def test_what_is_no_tcp_segment_is_counted_and_left_out(look: Look, packet: bytes) -> None:
    capture = conversation()
    capture.add(0.12, packet)
    read = look(capture)
    assert facts(read) == PLAIN
    assert (read.file.packets, read.file.tcp_segments, sum(read.file.ignored.values())) == (
        13,
        12,
        1,
    )


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("version", "captured_first"),
    [((2, 4), True), ((2, 2), False), ((543, 0), False), ((2, 3), True), ((2, 3), False)],
)
def test_old_writers_had_the_lengths_in_another_order(
    look: Look, order: str, version: tuple[int, int], captured_first: bool
) -> None:
    capture = conversation()
    capture.snaplen = 80
    content = bytearray(capture.pcap(order=order, snaplen=80))
    struct.pack_into(order + "HH", content, 4, *version)
    at = 24
    while at < len(content):
        captured, wire = struct.unpack_from(order + "II", content, at + 8)
        lengths = (captured, wire) if captured_first else (wire, captured)
        struct.pack_into(order + "II", content, at + 8, *lengths)
        at += 16 + captured
    read = look(bytes(content))
    assert (facts(read), read.file.fault) == (PLAIN, None)
    assert only_connection(read)["truncated_packets_a2b"] == 4


@pytest.mark.parametrize("order", "<>")
def test_a_modified_pcap_has_longer_headers(look: Look, order: str) -> None:
    """Kuznetsov's patch of libpcap: interface, protocol, kind and a filler behind the lengths."""
    content = conversation().pcap(order=order, nanoseconds=False)
    made, at = bytearray(struct.pack(order + "I", 0xA1B2CD34) + content[4:24]), 24
    while at < len(content):
        (captured,) = struct.unpack_from(order + "I", content, at + 8)
        made += content[at : at + 16] + struct.pack(order + "IHBx", 3, 0x0800, 4)
        made += content[at + 16 : at + 16 + captured]
        at += 16 + captured
    read = look(bytes(made))
    assert (facts(read), read.file.fault, read.file.format) == (PLAIN, None, "pcap-modified")
    cut = look(bytes(made[:-1]))
    assert (cut.file.packets, cut.file.fault is None) == (11, False)


@pytest.mark.parametrize("cut", [14, 20, 33, 34, 40, 47, 53, 54, 60, 65, 66, 70])
def test_headers_that_the_capture_cut(look: Look, cut: int) -> None:
    """Half a TCP header is no segment; half its options are."""
    capture = conversation()
    capture.records.append(
        Record(nanoseconds(0.2), capture.records[4].data[:cut], capture.records[4].wire)
    )
    read = look(capture)
    assert read.file.packets == 13
    assert read.file.tcp_segments + sum(read.file.ignored.values()) == 13
    assert read.file.tcp_segments == 12 or cut >= 54


def test_options_that_make_no_sense_are_survived(look: Look) -> None:
    for options in (
        b"\x08\x00",
        b"\x05\xff",
        b"\x03",
        b"\x05\x03\0",
        b"\x08\x0a\0",
        b"\x00\xff\xff\xff",
    ):
        capture = conversation()
        head = frames.tcp(
            (40000, 5001), 1_000_001, 9_000_001, 0x10, 512, options + b"\x01" * (-len(options) % 4)
        )
        capture.add(0.2, frames.ipv4(("10.0.0.1", "10.0.0.2"), head, len(head)))
        assert look(capture).file.tcp_segments == 13


def test_a_data_offset_beyond_the_packet_is_no_segment(look: Look) -> None:
    capture = conversation()
    head = bytearray(frames.tcp((40000, 5001), 1_000_001, 9_000_001, 0x10, 512))
    for words in (0, 4, 15):
        head[12] = words << 4
        capture.add(0.2, frames.ipv4(("10.0.0.1", "10.0.0.2"), bytes(head), len(head)))
    read = look(capture)
    assert (read.file.tcp_segments, sum(read.file.ignored.values())) == (12, 3)


# Cut and damaged files


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_file_cut_at_any_byte_keeps_its_whole_records(look: Look, kind: str) -> None:
    capture = MadeCapture(snaplen=90)
    flow = capture.flow().open()
    flow.a.send(0.1)
    records = capture.sorted()
    make = frames.pcap if kind == "pcap" else frames.pcapng
    ends = [len(make(records[:count])) for count in range(len(records) + 1)]
    whole = make(records)
    for length in range(ends[0], len(whole) + 1):
        read = look(whole[:length])
        assert read.file.packets == sum(end <= length for end in ends[1:])
        assert (read.file.fault is None) == (length in ends)
        assert read.file.fault is None or read.file.fault_offset <= length


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_file_cut_in_its_head_is_one_clear_error_or_a_fault(look: Look, kind: str) -> None:
    head = frames.pcap([]) if kind == "pcap" else frames.pcapng([])
    for length in range(len(head)):
        try:
            assert look(head[:length]).file.packets == 0
        except TcplabError as error:
            assert str(error)


def test_without_partial_a_fault_is_an_error(look: Look) -> None:
    with pytest.raises(TcplabError, match=r"\w"):
        look(conversation().pcap()[:-3], partial=False)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"not a capture\n" * 9, b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]
)
def test_what_is_no_capture_is_one_clear_error(look: Look, content: bytes) -> None:
    with pytest.raises(TcplabError, match=r"made.pcap is (no capture|empty)"):
        look(content)


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.pcap", tmp_path):
        with pytest.raises(TcplabError) as raised:
            flows.read(path)
        assert str(path) in raised.value.problem
        assert raised.value.remedy


def test_an_engine_that_is_not_compiled_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("testbed.builds.cache.PREBUILT", tmp_path)
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho no network >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TcplabError, match=r"no network(.|\n)*Check that cargo"):
        flows.load_engine.__wrapped__()


def test_an_absurd_record_ends_the_reading_with_a_fault(look: Look) -> None:
    whole = conversation().pcap()
    read = look(whole + struct.pack("<IIII", 1_700_000_001, 0, 2**31, 2**31) + b"x" * 100)
    assert read.file.packets == 12
    assert read.file.fault_offset == len(whole)


def test_time_that_runs_backwards_is_survived(look: Look) -> None:
    records = conversation().sorted()
    read = look(frames.pcap(records[:4] + records[:3:-1]))
    assert read.file.packets == 12
    assert read.packets is not None
    assert read.file.is_sorted and read.packets["time"].is_sorted()
    assert read.packets["number"].to_list() == [1, 2, 3, 4, *range(12, 4, -1)]


def test_an_empty_capture_has_no_connections(look: Look) -> None:
    read = look(frames.pcap([]))
    assert (len(read.connections), read.file.packets, read.file.fault) == (0, 0, None)
    assert read.packets is not None
    assert read.packets.schema == look(conversation()).packets.schema


# A period of a capture


def _spread() -> MadeCapture:
    """A segment a second, of 1 to 9 s, which is answered 40 ms later."""
    flow = MadeCapture().flow().open()
    for second in range(1, 10):
        flow.a.send(second)
        flow.b.ack(second + 0.04)
    return flow.capture


@pytest.mark.parametrize(
    ("since", "until", "segments"),
    [
        (CaptureMoment(3 * 10**9), CaptureMoment(5 * 10**9), 3),
        (CaptureMoment(START + 3 * 10**9, False), CaptureMoment(START + 4 * 10**9, False), 2),
        (CaptureMoment(3_100_000_000), CaptureMoment(START + 9 * 10**9, False), 6),
        (CaptureMoment(20 * 10**9), CaptureMoment(30 * 10**9), 0),
    ],
)
def test_packets_outside_a_period_are_left_out(
    look: Look, since: CaptureMoment, until: CaptureMoment, segments: int
) -> None:
    read = look(_spread(), period=CapturePeriod(since, until))
    file = read.file
    assert (file.packets, file.first, file.last) == (21, START, START + 9_040_000_000)
    outside = file.ignored["outside the period"]
    assert file.tcp_segments + outside == 21
    assert read.connections["actual_data_pkts_a2b"].to_list() == [segments] * bool(segments)
    assert read.packets is not None
    # The packets keep their numbers in the file: the handshake has three, each second two.
    shown = read.packets.filter(read.packets["payload"] > 0)
    seconds = [(time - START) // 10**9 for time in shown["time"]]
    assert shown["number"].to_list() == [2 + 2 * second for second in seconds]
