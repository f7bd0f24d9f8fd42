"""Every link type gives the same packets; what is not TCP over IP is counted and left out."""

from __future__ import annotations

import struct

import pytest

from tests.analysis import frames
from tests.analysis.captures import MadeCapture
from tests.analysis.frames import LINUX_COOKED, LINUX_COOKED_2, LOOPBACK, RAW, Record
from tests.analysis.looking import Look, sent
from tests.analysis.plain_conversation import IPV6, PLAIN, conversation, facts


@pytest.mark.parametrize(
    ("capture", "settings"),
    [
        (MadeCapture(), {}),
        (MadeCapture(), IPV6),
        (MadeCapture(tags=(7,)), {}),
        (MadeCapture(tags=(7, 8)), {}),
        (MadeCapture(tags=(7, 8, 9)), IPV6),
        (MadeCapture(LINUX_COOKED), {}),
        (MadeCapture(LINUX_COOKED), IPV6),
        (MadeCapture(LINUX_COOKED_2), {}),
        (MadeCapture(LINUX_COOKED_2), IPV6),
        (MadeCapture(RAW), {}),
        (MadeCapture(RAW), IPV6),
        (MadeCapture(LOOPBACK), {}),
        (MadeCapture(LOOPBACK), IPV6),
        (MadeCapture(), {"padded": 60}),
    ],
)
def test_the_link_changes_nothing(
    look: Look, capture: MadeCapture, settings: dict[str, object]
) -> None:
    read = look(conversation(MadeCapture(capture.link, capture.tags), **settings))
    assert facts(read) == PLAIN
    assert read.file.link_types == (capture.link,)
    assert (read.file.packets, read.file.tcp_segments, read.file.ignored, read.file.fault) == (
        12,
        12,
        {},
        None,
    )


@pytest.mark.parametrize("link", [228, 229])
def test_links_that_carry_one_version_only(look: Look, link: int) -> None:
    settings = IPV6 if link == 229 else {}
    assert facts(look(conversation(MadeCapture(link), **settings))) == PLAIN


@pytest.mark.parametrize(
    "extensions",
    [
        [(0, b"\0" + b"\1\4\0\0\0\0")],
        [(60, b"\0" + b"\1\4\0\0\0\0"), (43, b"\0" + bytes(6))],
        [(0, b"\1" + b"\1\x0c" + bytes(12)), (60, b"\0" + b"\1\4\0\0\0\0")],
    ],
)
def test_headers_between_ipv6_and_tcp_are_stepped_over(
    look: Look, extensions: list[tuple[int, bytes]]
) -> None:
    assert facts(look(conversation(extensions=extensions, **IPV6))) == PLAIN


MACS, SNAP = bytes(12), b"\xaa\xaa\3\0\0\0\x08\0"
LABELS = b"\0\1\0\x40\0\2\1\x40"
"""Two MPLS labels, of which the second is the last."""
AIR = b"\x08\1\0\0" + bytes(20)
"""802.11 with data, without quality of service."""
HEADS = [
    (9, b"\0\x21"),
    (108, b"\0\0\0\2"),
    (1, MACS + b"\x88\x64\x11\0\0\1\0\x30\0\x21"),
    (1, MACS + b"\x88\x47" + LABELS),
    (1, MACS + b"\x81\0\0\5\x88\x48" + LABELS),
    (1, MACS + b"\0\x40" + SNAP),
    (1, MACS + b"\0\x40" + SNAP[:6] + b"\x88\x47" + LABELS),
    (104, b"\x0f\0\x08\0"),
    (107, b"\x18\x41\3\xcc"),
    (107, b"\x18\x41\3\0\x80\0\0\0\x08\0"),
    (107, b"\x18\x41\x08\0"),
    (105, AIR + SNAP),
    (105, b"\x88\3\0\0" + bytes(26) + b"\0\0" + SNAP),
    (105, b"\x88\x81\0\0" + bytes(20) + b"\0\0" + bytes(4) + SNAP),
    (127, b"\0\0\x0a\0\0\0\0\0\0\0" + AIR + SNAP),
    (192, b"\0\0\x08\0\x69\0\0\0" + AIR + SNAP),
    (239, b"\2\0\0\0" + b"\x05\0\x0a\0x\0\0\0" + b"\xff\0\x09\0"),
]


@pytest.mark.parametrize(("link", "head"), HEADS)
def test_headers_of_other_links_are_stepped_over(look: Look, link: int, head: bytes) -> None:
    records = [
        Record(only_connection.time, head + only_connection.data, only_connection.wire + len(head))
        for only_connection in conversation(MadeCapture(RAW)).sorted()
    ]
    assert facts(look(frames.pcap(records, link))) == PLAIN


ODD = [
    (1, MACS + b"\x88\x47" + b"\0\1\0\x40" * 20),
    (1, MACS + b"\0\x40" + SNAP[:6] + b"\x81\x37"),
    (104, b"\x0f\0\x80\x35"),
    (107, b"\x18\x40\2\0\2"),
    (105, b"\x48\1\0\0" + bytes(20) + SNAP),
    (105, b"\x08\x41\0\0" + bytes(20) + SNAP),
    (105, b"\x88\1\0\0" + bytes(20) + b"\x80\0" + SNAP),
    (192, b"\0\0\x08\0\x01\0\0\0" + AIR + SNAP),
    (239, b"\2\0\0\0" + b"\0\0\x0a\0" * 80),
]


def test_what_other_links_carry_beside_ip_and_cut_headers_are_left_out(look: Look) -> None:
    for link, head in (*HEADS, *ODD):
        sizes = range(len(head) + ((link, head) in ODD))
        records = [Record(at, head[:at], len(head) + 40) for at in sizes]
        read = look(frames.pcap(records, link))
        assert (read.file.fault, read.file.tcp_segments) == (None, 0)


def test_the_length_of_a_jumbo_payload_is_in_its_option(look: Look) -> None:
    """RFC 2675; the frame is padded, so that the length on the wire would tell otherwise."""
    capture = MadeCapture(RAW)
    flow = capture.flow(extensions=[(0, b"\0\xc2\x04" + struct.pack(">I", 8 + 32 + 500))], **IPV6)
    flow.a.send(0.1, 500)
    (record,) = capture.records
    unsaid = record.data[:4] + b"\0\0" + record.data[6:]
    assert sent(look(frames.pcap([Record(record.time, unsaid + bytes(9), record.wire + 9)], RAW)))[
        "payload"
    ].to_list() == [500]


def test_options_of_ipv4_are_stepped_over(look: Look) -> None:
    capture = MadeCapture()
    flow = capture.flow().open()
    flow.a.send(0.1, extra=b"\x01" * 8)
    assert sent(look(capture))["payload"].to_list() == [1000]
