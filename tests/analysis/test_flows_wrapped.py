"""TCP in tunnels, behind headers and in fragments is read as if it were bare."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analysis import flows
from tests.analysis import frames, wrappings
from tests.analysis.captures import MadeCapture, nanoseconds
from tests.analysis.frames import Record
from tests.analysis.looking import Look, column, only_connection
from tests.analysis.plain_conversation import PLAIN, conversation, facts
from tests.analysis.wrappings import MACS, OUTER, Wrap, fragments, fragments_six, wrapped

SIX = {"hosts": ("fd00::1", "fd00::2")}
BETWEEN = "between 192.0.2.1 and 192.0.2.2"
FRAME_SIX = MACS + b"\x86\xdd"
LABEL = b"\0\1\1\x40"
TAGGED = MACS + b"\x81\0\0\x05\x08\0"
CASES: list[tuple[Wrap, dict[str, object], str]] = [
    (wrappings.within(4), {}, f"IPIP {BETWEEN}"),
    (wrappings.within(41), SIX, f"6in4 {BETWEEN}"),
    (wrappings.within_six(4), {}, "4in6 between 2001:db8::1 and 2001:db8::2"),
    (wrappings.within_six(41), SIX, "6in6 between 2001:db8::1 and 2001:db8::2"),
    (wrappings.gre(), {}, f"GRE {BETWEEN}"),
    (wrappings.gre(0x86DD), SIX, f"GRE {BETWEEN}"),
    (wrappings.gre(marks=0xB000, fields=b"\0\0\0\0\0\0\0\x2a\0\0\0\1"), {}, f"GRE 42 {BETWEEN}"),
    (wrappings.gre(0x6558, head=MACS + b"\x08\0"), {}, f"GRE {BETWEEN}"),
    (wrappings.gre(0x8847, head=LABEL), {}, f"GRE {BETWEEN}"),
    (wrappings.gre(0x88BE, head=MACS + b"\x08\0"), {}, f"ERSPAN {BETWEEN}"),
    (
        wrappings.gre(0x88BE, 0x1000, bytes(4) + bytes(8), MACS + b"\x08\0"),
        {},
        f"ERSPAN {BETWEEN}",
    ),
    (
        wrappings.gre(0x22EB, 0x1000, bytes(4) + bytes(11) + b"\1" + bytes(8), MACS + b"\x08\0"),
        {},
        f"ERSPAN {BETWEEN}",
    ),
    (wrappings.vxlan(5), {}, f"VXLAN 5 {BETWEEN}"),
    (wrappings.vxlan(5, FRAME_SIX), SIX, f"VXLAN 5 {BETWEEN}"),
    (wrappings.vxlan(5, TAGGED), {}, f"VXLAN 5 {BETWEEN}, VLAN 5"),
    (wrappings.geneve(9), {}, f"Geneve 9 {BETWEEN}"),
    (wrappings.geneve(9, bytes(8)), {}, f"Geneve 9 {BETWEEN}"),
    (wrappings.geneve(9, head=b"", kind=0x0800), {}, f"Geneve 9 {BETWEEN}"),
    (wrappings.gtp(), {}, f"GTP-U {BETWEEN}"),
    (wrappings.gtp(b"\0\1\0\0", 2), {}, f"GTP-U {BETWEEN}"),
    (wrappings.gtp(b"\0\0\0\x85" + b"\1\0\0\0", 4), SIX, f"GTP-U {BETWEEN}"),
    (wrappings.vxlan_gpe(7, 1), {}, f"VXLAN-GPE 7 {BETWEEN}"),
    (wrappings.vxlan_gpe(7, 3, MACS + b"\x08\0"), {}, f"VXLAN-GPE 7 {BETWEEN}"),
    (wrappings.vxlan_gpe(7, 4, b"\x0f\xc6\1\1" + bytes(20)), {}, f"VXLAN-GPE 7 {BETWEEN}"),
    (wrappings.within_udp(4754, b"\0\0\x08\0"), {}, f"GRE {BETWEEN}"),
    (wrappings.within_udp(6635, LABEL), {}, f"MPLS {BETWEEN}"),
    (wrappings.within(137, LABEL), {}, f"MPLS {BETWEEN}"),
    (wrappings.within(97, b"\x30\0" + MACS + b"\x08\0"), {}, f"EtherIP {BETWEEN}"),
    (wrappings.l2tp(), {}, f"L2TP {BETWEEN}"),
    (wrappings.l2tp(2, b"\0\1\0\2"), {}, f"L2TP {BETWEEN}"),
    (wrappings.l2tp(0x0A02, b"\0\1\0\2" + bytes(4) + b"\0\2xx"), {}, f"L2TP {BETWEEN}"),
    (wrappings.authenticated, {}, ""),
    (lambda packet: wrappings.authenticated(wrappings.within(4)(packet)), {}, f"IPIP {BETWEEN}"),
    (
        lambda packet: wrappings.gre()(wrappings.vxlan(5)(packet)),
        {},
        f"GRE {BETWEEN}, VXLAN 5 {BETWEEN}",
    ),
]


@pytest.mark.parametrize(("wrap", "settings", "name"), CASES)
def test_what_is_within_is_read_and_its_tunnel_named(
    look: Look, wrap: Wrap, settings: dict[str, object], name: str
) -> None:
    bare = conversation(**settings)
    read = look(wrapped(bare, wrap))
    assert facts(read) == PLAIN
    assert only_connection(read)["network"] == name
    assert read.file.ignored == {}
    assert read.packets is not None
    untold = look(bare).connections.drop("network")
    assert read.connections.drop("network").equals(untold)


INNER = MACS + b"\x08\0"
"""A frame's head before IP."""
LINKS = {
    "PBB": (1, b"", b"\x88\xe7\0\0\0\5" + INNER),
    "FabricPath": (1, b"", b"\x89\x03\0\1" + INNER),
    "NSH": (1, b"", b"\x89\x4f\x0f\xc6\1\1" + bytes(20)),
    "NSH with a frame": (1, b"", b"\x89\x4f\x0f\xc6\1\3" + bytes(20) + INNER),
    "EDSA by its type": (1, b"", b"\xda\xda\0\0" + bytes(4) + b"\x08\0"),
    "Broadcom": (281, b"", bytes(4) + b"\x08\0"),
    "Broadcom in front": (282, bytes(4), b""),
    "DSA": (284, b"", bytes(4) + b"\x08\0"),
    "EDSA": (285, b"", b"\xda\xda\0\0" + bytes(4) + b"\x08\0"),
    "PKTAP": (258, struct.pack("<III", 156, 1, 1).ljust(156, b"\0"), b""),
}


@pytest.mark.parametrize("name", LINKS)
def test_frames_of_switches_and_taps_are_read(look: Look, name: str) -> None:
    read = look(wrappings.framed(conversation(), *LINKS[name]))
    assert facts(read) == PLAIN
    assert read.file.ignored == {}


def test_ip_over_infiniband_is_read(look: Look) -> None:
    records = [
        Record(record.time, bytes(40) + b"\x08\0\0\0" + record.data[14:], record.wire + 30)
        for record in conversation().sorted()
    ]
    assert facts(look(frames.pcap(records, link=242))) == PLAIN


OF_TSHARK = {
    "VXLAN-GPE": wrapped(conversation(), wrappings.vxlan_gpe(7, 1)).pcap(),
    "EtherIP": wrapped(conversation(), wrappings.within(97, b"\x30\0" + INNER)).pcap(),
    "L2TP": wrapped(conversation(), wrappings.l2tp(2, b"\0\1\0\2")).pcap(),
    "GRE in UDP": wrapped(conversation(), wrappings.within_udp(4754, b"\0\0\x08\0")).pcap(),
    "MPLS in UDP": wrapped(conversation(), wrappings.within_udp(6635, LABEL)).pcap(),
    **{
        name: wrappings.framed(conversation(), *LINKS[name])
        for name in ("PBB", "FabricPath", "NSH", "NSH with a frame", "PKTAP")
    },
}


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is missing")
@pytest.mark.parametrize("name", OF_TSHARK)
def test_tshark_finds_the_same_segments(tmp_path: Path, name: str) -> None:
    """Without Broadcom's and Marvell's tags, which it knows in other files only."""
    path = tmp_path / "made.pcap"
    path.write_bytes(OF_TSHARK[name])
    command = ["tshark", "-r", str(path), "-Y", "tcp", "-T", "fields", "-e", "frame.number"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(found) == flows.read(path).file.tcp_segments > 0


@pytest.mark.parametrize(
    ("wrap", "why"),
    [
        (wrappings.within_udp(53, b""), "not TCP"),
        (wrappings.within(47, b"\x40\0\x08\0" + bytes(4)), "not TCP"),
        (wrappings.within_udp(4789, bytes(8) + wrappings.FRAME), "not TCP"),
        (wrappings.geneve(1, kind=0x1234), "not TCP"),
        (wrappings.gtp(b"\0\0\0\x85" + b"\0\0\0\0", 4), "not TCP"),
        (wrappings.vxlan(5, MACS + b"\x08\6"), "not IP"),
        (wrappings.gtp(b"\0\0\0\x85" + b"\xff", 4), "TCP header cut off"),
    ],
)
def test_what_is_no_tunnel_is_left_out(look: Look, wrap: Wrap, why: str) -> None:
    assert look(wrapped(conversation(), wrap)).file.ignored == {why: 12}


def test_tunnels_in_tunnels_end_somewhere(look: Look) -> None:
    def deep(packet: bytes) -> bytes:
        for _ in range(20):
            packet = wrappings.within(4)(packet)
        return packet

    assert look(wrapped(conversation(), deep)).file.ignored == {"not TCP": 12}


def _merged(captures: list[MadeCapture]) -> MadeCapture:
    records = [record for capture in captures for record in capture.records]
    return MadeCapture(records=records)


def test_two_vlans_with_the_same_ends_are_two_connections(look: Look) -> None:
    tags: list[tuple[int, ...]] = [(), (7,), (8,), (7, 8), (0,)]
    read = look(_merged([conversation(MadeCapture(tags=tag)) for tag in tags]))
    # A tag with number 0 is a priority: its packets are copies of the first.
    assert read.connections["mirrored_a2b"].to_list() == [8, 0, 0, 0]
    assert read.connections["network"].to_list() == ["", "VLAN 7", "VLAN 8", "VLAN 7, VLAN 8"]
    assert read.connections["total_packets_a2b"].to_list() == [8] * 4


def test_two_tunnels_with_the_same_ends_are_two_connections(look: Look) -> None:
    wraps = [
        wrappings.vxlan(5),
        wrappings.vxlan(6),
        wrappings.vxlan(5, outer=("192.0.2.1", "192.0.2.3")),
        wrappings.gtp(),
    ]
    read = look(_merged([wrapped(conversation(), wrap) for wrap in wraps]))
    assert read.connections["network"].to_list() == [
        f"VXLAN 5 {BETWEEN}",
        f"VXLAN 6 {BETWEEN}",
        "VXLAN 5 between 192.0.2.1 and 192.0.2.3",
        f"GTP-U {BETWEEN}",
    ]
    assert read.connections["total_packets_a2b"].to_list() == [8] * 4


def test_directions_in_different_vlans_are_one_connection(look: Look) -> None:
    away, back = conversation(MadeCapture(tags=(7,))), conversation(MadeCapture(tags=(8,)))
    pairs = zip(away.sorted(), back.sorted(), strict=True)
    records = [one if one.data[33] == 1 else other for one, other in pairs]
    assert {record.data[15] for record in records} == {7, 8}
    read = look(MadeCapture(records=records))
    assert (only_connection(read)["network"], *facts(read)) == ("VLAN 7", *PLAIN)


def test_tcptrace_knows_neither_networks_nor_tunnels(look: Look) -> None:
    tagged = [conversation(MadeCapture(tags=(tag,))) for tag in (7, 8)]
    read = look(_merged(tagged), compatible=True)
    assert (len(read.connections), only_connection(read)["network"]) == (1, "")
    read = look(wrapped(conversation(), wrappings.gre()), compatible=True)
    assert read.file.ignored == {"not TCP": 12}


Cut = Callable[[bytes, int], Iterator[bytes]]


def _in_fragments(capture: MadeCapture, cut: Cut, size: int) -> MadeCapture:
    """Every packet in fragments, each a microsecond after the one before."""
    made = MadeCapture(snaplen=capture.snaplen)
    for number, record in enumerate(capture.sorted()):
        parts = cut(record.data[14:], size, number=number + 1)  # type: ignore[call-arg]
        for place, part in enumerate(parts):
            time = record.time + 1000 * place
            made.records.append(
                Record(time, (record.data[:14] + part)[: capture.snaplen], 14 + len(part))
            )
    return made


@pytest.mark.parametrize(
    ("settings", "cut"), [({}, fragments), (SIX, fragments_six)], ids=["IPv4", "IPv6"]
)
@pytest.mark.parametrize("size", [8, 24, 512])
def test_fragments_are_put_together(
    look: Look, settings: dict[str, object], cut: Cut, size: int
) -> None:
    bare = conversation(timestamps=False, **settings)
    cut_up = _in_fragments(bare, cut, size)
    read = look(cut_up)
    assert facts(read) == PLAIN
    joined = len(cut_up.records) - 12
    assert read.file.ignored == {"joined fragment": joined}
    assert read.file.tcp_segments == 12
    assert column(read, "payload") == column(look(bare), "payload")
    assert only_connection(read)["truncated_packets_a2b"] == 0


def test_fragments_of_a_tunnel_are_put_together(look: Look) -> None:
    outside = wrapped(conversation(), wrappings.vxlan(5))
    read = look(_in_fragments(outside, fragments, 400))
    assert facts(read) == PLAIN
    assert only_connection(read)["network"] == f"VXLAN 5 {BETWEEN}"


def _one_packet() -> tuple[MadeCapture, list[Record]]:
    """A conversation whose second data segment is cut into fragments, and those."""
    capture = conversation()
    whole = capture.sorted()[4]
    parts = list(fragments(whole.data[14:], 240))
    records = [
        Record(whole.time + at, whole.data[:14] + part, 14 + len(part))
        for at, part in enumerate(parts)
    ]
    capture.records.remove(whole)
    return capture, records


def _payload(look: Look, capture: MadeCapture, parts: list[Record]) -> flows.Reading:
    return look(MadeCapture(records=[*capture.records, *parts]))


def test_fragments_in_any_order_and_with_copies(look: Look) -> None:
    capture, parts = _one_packet()
    shuffled = [
        Record(parts[0].time + at, parts[place].data, parts[place].wire)
        for at, place in enumerate([4, 0, 0, 3, 4, 1, 2])
    ]
    read = _payload(look, capture, shuffled)
    assert facts(read) == PLAIN
    assert read.file.ignored == {"joined fragment": 6}


def test_a_fragment_that_lacks_leaves_the_packet_out(look: Look) -> None:
    capture, parts = _one_packet()
    read = _payload(look, capture, parts[:2] + parts[3:])
    assert read.file.ignored == {"fragment": 4}
    assert only_connection(read)["unique_bytes_sent_a2b"] == 2000


def _moved(part: Record, by: int) -> Record:
    data = bytearray(part.data)
    data[20:22] = struct.pack(">H", struct.unpack_from(">H", data, 20)[0] + by)
    return Record(part.time, bytes(data), part.wire)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_fragments_that_overlap_leave_the_packet_out(look: Look, place: int) -> None:
    capture, parts = _one_packet()
    overlapping = _moved(parts[place], -1)
    read = _payload(look, capture, [*parts[:place], overlapping, *parts[place:]])
    assert read.file.ignored == {"fragment": 6}


@pytest.mark.parametrize("by", [0x1F00, -31])
def test_fragments_beyond_the_end_leave_the_packet_out(look: Look, by: int) -> None:
    capture, parts = _one_packet()
    read = _payload(look, capture, [*parts[:-1], _moved(parts[-1], by)])
    assert read.file.ignored == {"fragment": 5}


def test_fragments_do_not_wait_for_ever(look: Look) -> None:
    capture, parts = _one_packet()
    for seconds, joined in ((29, 4), (31, 0)):
        late = Record(parts[0].time + seconds * 10**9, parts[-1].data, parts[-1].wire)
        read = _payload(look, capture, [*parts[:-1], late])
        assert read.file.ignored == ({"joined fragment": 4} if joined else {"fragment": 5})


def test_only_so_many_fragments_wait(look: Look) -> None:
    """Of more than 4 MiB the oldest are given up, and the newest stay."""
    packets = [
        list(fragments(frames.ipv4(OUTER, b"\0" * 59000, 59000), 30000, number=number + 1))
        for number in range(200)
    ]
    ordered = [first for first, _ in packets] + [last for _, last in packets[::-1]]
    records = [
        Record(nanoseconds(0.001 * (at + 1)), wrappings.FRAME + part, 14 + len(part))
        for at, part in enumerate(ordered)
    ]
    joined = look(MadeCapture(records=records)).file.ignored
    # What completes a packet of zeros is no TCP segment; its first fragment was joined.
    assert joined["joined fragment"] == (4 << 20) // (30000 + 256)
    assert sum(joined.values()) == 400


def test_a_mark_of_any_fragment_marks_the_packet(look: Look) -> None:
    capture, parts = _one_packet()
    data = bytearray(parts[2].data)
    data[15] |= 3
    marked = Record(parts[2].time, bytes(data), parts[2].wire)
    read = _payload(look, capture, [*parts[:2], marked, *parts[3:]])
    assert 3 in column(read, "ecn")


def test_what_the_snap_length_cut_off_of_fragments_is_missing(look: Look) -> None:
    bare = conversation()
    bare.snaplen = 80
    read = look(_in_fragments(bare, fragments, 400))
    row = only_connection(read)
    assert (row["unique_bytes_sent_a2b"], row["truncated_packets_a2b"]) == (3000, 4)
    # Of each segment 80 bytes less the headers (14, 20, 32) are there.
    assert row["truncated_data_a2b"] == 4 * (1000 - 14)


def test_tcptrace_takes_a_first_fragment_for_the_packet(look: Look) -> None:
    capture, parts = _one_packet()
    read = look(MadeCapture(records=[*capture.records, *parts]), compatible=True)
    assert read.file.ignored == {"fragment": 4}
    assert only_connection(read)["actual_data_bytes_a2b"] == 3000 + 240 - 32
