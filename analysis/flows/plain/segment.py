"""From captured packets to TCP segments: IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.link_layer import (
    CUT_OFF,
    DAMAGED_IP,
    DAMAGED_TCP,
    FINE,
    FRAGMENT,
    NOT_IP,
    NOT_TCP,
    PacketBatch,
    find_ip,
)
from analysis.flows.plain.packet_records import Octets, RecordBatch, Whole, view
from analysis.flows.plain.tcp_options import TcpOptions, parse

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
ENDS = 40
"""Octets of two addresses, two ports and a network.

Source's address, destination's, both ports, and the VLANs and tunnels around.
"""

_TCP = 6
_EXTENSIONS = 16
_OFFSET, _IS_FRAGMENT = 0x1FFF, 0x3FFF
"""Of IPv4's fragments: the offset in eighths, and with it whether more follow."""
_EXTENSION_KINDS = (0, 43, 44, 51, 60, 135, 139, 140)
_FOUR = np.frombuffer(b"\1" + bytes(11), np.uint8)
"""Precedes an IPv4 address to make 16 octets: from the discard-only prefix (RFC 6666)."""

_IP_4 = np.dtype(
    [
        ("first", "u1"),
        ("service", "u1"),
        ("total", ">u2"),
        ("id", ">u2"),
        ("fragment", ">u2"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("sum", ">u2"),
        ("source", "u1", 4),
        ("destination", "u1", 4),
    ]
)
_IP_6 = np.dtype(
    [
        ("first", "u1"),
        ("second", "u1"),
        ("label", ">u2"),
        ("payload", ">u2"),
        ("next", "u1"),
        ("hops", "u1"),
        ("source", "u1", 16),
        ("destination", "u1", 16),
    ]
)
_TCP_HEADER = np.dtype(
    [
        ("ports", "u1", 4),
        ("sequence", ">u4"),
        ("acknowledgement", ">u4"),
        ("flags", ">u2"),
        ("window", ">u2"),
        ("sum", ">u2"),
        ("urgent", ">u2"),
    ]
)


@dataclass(frozen=True, slots=True)
class TcpSegments:
    """What an analysis needs of TCP segments: columns with an entry for each.

    Numbers are as on the wire.
    """

    row: Whole
    """The record's place in its batch."""
    time: Whole
    ends: npt.NDArray[Any]
    sequence: Whole
    acknowledgement: Whole
    flags: Whole
    window: Whole
    urgent: Whole
    payload: Whole
    """Octets of payload on the wire."""
    missing: Whole
    """How many of them the capture lacks."""
    ip_id: Whole
    """-1 for IPv6."""
    ecn: Whole
    ttl: Whole
    options: TcpOptions


class SegmentHeaders:
    """What the IP headers say; an entry for each packet of the batch."""

    def __init__(self, count: int) -> None:
        self.start, self.length, self.ip_id, self.ecn, self.ttl = np.zeros((5, count), np.int64)
        """The beginning of TCP behind the IP header, and its octets on the wire."""
        self.ends: Octets = np.zeros((count, ENDS), np.uint8)


def segments(batch: RecordBatch, is_first: bool) -> tuple[TcpSegments, PacketBatch]:
    """The TCP segments among the records, and for each record why it is none (FINE if it is).

    With `is_first` a first fragment is read as if it were the whole packet.
    """
    packets = PacketBatch(batch)
    find_ip(packets)
    if batch.network is not None:
        packets.network = np.where(batch.network < 0, packets.network, batch.network)
    headers = SegmentHeaders(len(packets.why))
    rows = np.flatnonzero(packets.why == FINE)
    rows = packets.ignore(rows, NOT_IP, packets.shorter(rows, packets.ip[rows] + 1))
    version = packets.octet(rows, packets.ip[rows]) >> 4
    packets.why[rows[(version != 4) & (version != 6)]] = NOT_IP
    _version_four(packets, rows[version == 4], headers, _OFFSET if is_first else _IS_FRAGMENT)
    _version_six(packets, rows[version == 6], headers, 0xFFF8 if is_first else 0xFFF9)
    return _tcp(packets, headers), packets


def _view(packets: PacketBatch, rows: Whole, at: Whole, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    return view(packets.batch.octets, packets.batch.start[rows] + at, kind)


def _version_four(
    packets: PacketBatch, rows: Whole, headers: SegmentHeaders, fragment: int
) -> None:
    rows = packets.ignore(rows, CUT_OFF, packets.shorter(rows, packets.ip[rows] + 20))
    ip = _view(packets, rows, packets.ip[rows], _IP_4)
    size = (ip["first"] & 15).astype(np.int64) * 4
    # A total length of 0 stands in captures of offloaded and of jumbo packets (BIG TCP): the wire's
    # counts.
    total = np.where(
        ip["total"] == 0,
        packets.batch.length[rows] - packets.ip[rows],
        ip["total"].astype(np.int64),
    )
    wrong = [
        (FRAGMENT, ip["fragment"] & fragment != 0),
        (NOT_TCP, ip["protocol"] != _TCP),
        (DAMAGED_IP, (size < 20) | (total < size)),
    ]
    for why, marked in wrong:  # the last one to mark a packet is the first that is looked for
        packets.why[rows[marked]] = why
    headers.start[rows], headers.length[rows] = size, total - size
    headers.ip_id[rows], headers.ecn[rows], headers.ttl[rows] = (
        ip["id"],
        ip["service"] & 3,
        ip["ttl"],
    )
    headers.ends[rows, :12] = headers.ends[rows, 16:28] = _FOUR
    headers.ends[rows, 12:16], headers.ends[rows, 28:32] = ip["source"], ip["destination"]


def _version_six(packets: PacketBatch, rows: Whole, headers: SegmentHeaders, fragment: int) -> None:
    rows = packets.ignore(rows, CUT_OFF, packets.shorter(rows, packets.ip[rows] + 40))
    ip = _view(packets, rows, packets.ip[rows], _IP_6)
    headers.ip_id[rows], headers.ecn[rows], headers.ttl[rows] = (
        -1,
        ip["second"] >> 4 & 3,
        ip["hops"],
    )
    headers.ends[rows, :16], headers.ends[rows, 16:32] = ip["source"], ip["destination"]
    wire = np.maximum(packets.batch.length[rows] - packets.ip[rows] - 40, 0)
    headers.length[rows] = np.where(ip["payload"] == 0, wire, ip["payload"].astype(np.int64))
    headers.start[rows] = 40
    _extensions(packets, rows, ip, headers, fragment)
    rows = rows[packets.why[rows] == FINE]
    skipped = headers.start[rows] - 40
    rows = packets.ignore(rows, DAMAGED_IP, headers.length[rows] < skipped)
    headers.length[rows] -= headers.start[rows] - 40


def _extensions(
    packets: PacketBatch,
    rows: Whole,
    ip: npt.NDArray[Any],
    headers: SegmentHeaders,
    fragment: int,
) -> None:
    """Steps over IPv6's extension headers, and takes the length of a jumbo payload (RFC 2675)."""
    empty, following = ip["payload"] == 0, ip["next"].astype(np.int64)
    for _ in range(_EXTENSIONS):
        more = following != _TCP
        rows, following, empty = rows[more], following[more], empty[more]
        if not len(rows):
            return
        at = packets.ip[rows] + headers.start[rows]
        unknown, short = ~np.isin(following, _EXTENSION_KINDS), packets.shorter(rows, at + 8)
        packets.why[rows[short]] = CUT_OFF
        packets.why[rows[unknown]] = NOT_TCP
        keep = ~(unknown | short)
        rows, at, following, empty = rows[keep], at[keep], following[keep], empty[keep]
        later = (following == 44) & (packets.pair(rows, at + 2) & fragment != 0)
        packets.why[rows[later]] = FRAGMENT
        keep = ~later
        rows, at, following, empty = rows[keep], at[keep], following[keep], empty[keep]
        jumbo = (following == 0) & empty & (packets.pair(rows, at + 2) == 0xC204)
        long = packets.pair(rows, at + 4) << 16 | packets.pair(rows, at + 6)
        headers.length[rows[jumbo]] = long[jumbo]
        size = packets.octet(rows, at + 1)
        headers.start[rows] += np.select(
            [following == 44, following == 51], [8, (size + 2) * 4], (size + 1) * 8
        )
        following = packets.octet(rows, at)
    packets.why[rows] = NOT_TCP


def _tcp(packets: PacketBatch, headers: SegmentHeaders) -> TcpSegments:
    rows = np.flatnonzero(packets.why == FINE)
    rows = packets.ignore(
        rows, CUT_OFF, packets.shorter(rows, packets.ip[rows] + headers.start[rows] + 20)
    )
    at = packets.ip[rows] + headers.start[rows]
    tcp = _view(packets, rows, at, _TCP_HEADER)
    size = (tcp["flags"] >> 12).astype(np.int64) * 4
    damaged = (size < 20) | (headers.length[rows] < size)
    rows, at, tcp, size = (
        packets.ignore(rows, DAMAGED_TCP, damaged),
        at[~damaged],
        tcp[~damaged],
        size[~damaged],
    )
    headers.ends[rows, 32:36] = tcp["ports"]
    headers.ends[rows, 36:] = packets.network[rows].astype(">u4").view(np.uint8).reshape(-1, 4)
    present = packets.batch.captured[rows] - at
    payload = headers.length[rows] - size
    begin = packets.batch.start[rows] + at + 20
    numbers = {
        name: tcp[name].astype(np.int64)
        for name in ("sequence", "acknowledgement", "window", "urgent")
    }
    return TcpSegments(
        row=rows,
        time=packets.batch.time[rows],
        ends=headers.ends[rows].view(f"V{ENDS}")[:, 0],
        **numbers,
        flags=(tcp["flags"] & 0x1FF).astype(np.int64),
        payload=payload,
        # Ethernet's padding behind a short packet is none of its payload.
        missing=payload - np.minimum(np.maximum(present - size, 0), payload),
        ip_id=headers.ip_id[rows],
        ecn=headers.ecn[rows],
        ttl=headers.ttl[rows],
        options=parse(packets.batch.octets, begin, begin + np.minimum(size, present) - 20),
    )
