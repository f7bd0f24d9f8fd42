"""A brute-force reader of small captures, which the engine's counts are compared with.

It leaves out the copies that the engine names, and keeps every byte that was sent. It looks at all
of them again for each segment, so it shares no idea with the engine. It reads pcap files with
nanoseconds or microseconds, Ethernet, IPv4 and IPv6, and takes the ends of a connection to be used
once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from analysis import flows
from analysis.flows.reader import columns

_SYN, _FIN, _RST, _ACK = 2, 1, 4, 16
_HALF = 2**31


@dataclass
class SentWay:
    """One direction. `sent` and `open` are numbers of bytes (SYN and FIN count) and segments.

    `open` has the times at which each segment that awaits its ACK was sent.
    """

    first: int = -1
    packets: int = 0
    payload: int = 0
    again: int = 0
    again_packets: int = 0
    sent: set[int] = field(default_factory=set)
    data: set[int] = field(default_factory=set)
    open: dict[range, list[int]] = field(default_factory=dict)
    rtts: list[int] = field(default_factory=list)

    def number(self, sequence: int) -> int:
        """Return the number relative to the SYN, near the newest one."""
        near = max(self.sent, default=0)
        return (sequence - self.first - near + _HALF) % 2**32 - _HALF + near


def _segments(path: Path) -> Iterator[tuple[int, tuple[bytes, int], tuple[bytes, int], bytes, int]]:
    """Give the time, both ends, TCP header and payload's length of each segment."""
    content, copies = path.read_bytes(), set(columns(path, packets=True)[0]["copies"])
    number = 0
    order = "<" if content[0] != 0xA1 else ">"
    tick = 1 if b"\x3c" in content[1:3] else 1000
    at = 24
    while at < len(content):
        seconds, fraction, captured, _ = struct.unpack_from(order + "4I", content, at)
        kind, packet = content[at + 28 : at + 30], content[at + 30 : at + 16 + captured]
        at += 16 + captured
        number += 1
        if (
            number in copies
            or kind not in (b"\x08\x00", b"\x86\xdd")
            or 6 not in (packet[6], packet[9])
        ):
            continue
        if packet[0] >> 4 == 4:
            head, source = (packet[0] & 15) * 4, 12
            length = struct.unpack_from(">H", packet, 2)[0] - head
        else:
            head, source = 40, 8
            (length,) = struct.unpack_from(">H", packet, 4)
        size = 4 if source == 12 else 16
        hosts = packet[source : source + size], packet[source + size : source + 2 * size]
        tcp = packet[head:]
        ports = struct.unpack_from(">HH", tcp)
        ends = list(zip(hosts, ports, strict=True))
        yield seconds * 10**9 + fraction * tick, ends[0], ends[1], tcp, length - (tcp[12] >> 4) * 4


def read(path: Path) -> list[dict[str, list[int]]]:
    """Return the counts of each connection, those of a to b first."""
    connections: dict[frozenset[object], dict[object, SentWay]] = {}
    for time, source, target, tcp, size in _segments(path):
        ways = connections.setdefault(
            frozenset((source, target)), {source: SentWay(), target: SentWay()}
        )
        way, back = ways[source], ways[target]
        sequence, ack, flags = struct.unpack_from(">IIxB", tcp, 4)
        if way.first < 0:
            way.first = sequence
        first = way.number(sequence)
        numbers = range(first, first + size + bool(flags & _SYN) + bool(flags & _FIN))
        known = way.sent.intersection(numbers)
        way.packets += 1
        way.payload += size
        way.again += len(known)
        way.again_packets += bool(known)
        way.data.update(range(first + bool(flags & _SYN), first + bool(flags & _SYN) + size))
        for segment, times in way.open.items():
            if known.intersection(segment):
                times.append(time)
        if len(numbers) > len(known):
            way.open[range(max(known, default=first - 1) + 1, numbers.stop)] = [time]
        way.sent.update(numbers)
        if flags & _ACK and back.first >= 0:
            _acknowledge(back, back.number(ack), time, bool(flags & _RST))
    return [
        {
            "total_packets": [way.packets for way in ways.values()],
            "actual_data_bytes": [way.payload for way in ways.values()],
            "unique_bytes_sent": [len(way.data) for way in ways.values()],
            "rexmt_data_bytes": [way.again for way in ways.values()],
            "rexmt_data_pkts": [way.again_packets for way in ways.values()],
            "rtt_samples": [len(way.rtts) for way in ways.values()],
            "rtt_min": [min(way.rtts, default=-1) for way in ways.values()],
            "rtt_max": [max(way.rtts, default=-1) for way in ways.values()],
        }
        for ways in connections.values()
    ]


def _acknowledge(way: SentWay, ack: int, time: int, is_reset: bool) -> None:
    """Take the round trip of the newest segment, if it was sent once, and last of all covered."""
    covered = {segment: way.open.pop(segment) for segment in [*way.open] if segment.start < ack}
    if covered and not is_reset:
        newest = covered[max(covered, key=lambda segment: segment.stop)]
        if len(newest) == 1 and newest[0] >= max(max(times) for times in covered.values()):
            way.rtts.append(time - newest[0])


def assert_as_counted(path: Path) -> None:
    """Compare the engine with this reader."""
    rows = flows.read(path).connections.to_dicts()
    counted = read(path)
    assert len(rows) == len(counted)
    for row, counts in zip(rows, counted, strict=True):
        for name, both in counts.items():
            columns = (f"{name}_a2b", f"{name}_b2a")
            assert [-1 if row[column] is None else row[column] for column in columns] == both, name
