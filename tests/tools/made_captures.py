"""Large captures made from arithmetic alone: the same bytes every time.

A million packets take less than a second.

Each connection sends full segments; two are followed by one ACK that is a round trip of `FLIGHT`
segments late. In every `PERIOD` segments one is lost, SACK reports it, and it is retransmitted.
Timestamps are echoed as RFC 7323 says: of the earlier of two segments, and while one is missing of
the last before it. 128 bytes of each packet are kept.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MSS, FLIGHT, PERIOD, LOST, AGAIN = 1448, 20, 500, 100, 140
"""Bytes of a segment, segments in a round trip, segments in a period, and two places in it.

The places are those of the lost segment and of its retransmission.
"""
SLOT, START = 12_000, 1_700_000_000 * 10**9
"""Nanoseconds from one segment to the next (1 Gbit/s), and the time of the first."""
SNAPLEN = 128

_FILE_HEADER = np.array([0xA1B23C4D, 2 | 4 << 16, 0, 0, SNAPLEN, 1], "<u4").tobytes()
_SYN, _ACK, _PSH = 2, 16, 8
_FIELDS = """
    seconds:<u4 nanoseconds:<u4 captured:<u4 wire:<u4 ethernet:V12 ethertype:>u2 version:u1
    tos:u1 length:>u2 id:>u2 fragment:>u2 ttl:u1 protocol:u1 ip_checksum:>u2 source:>u4
    destination:>u4 source_port:>u2 destination_port:>u2 sequence:>u4 acknowledgement:>u4
    flags:>u2 window:>u2 checksum:>u2 urgent:>u2
"""


def _record(options: int, kept: int) -> np.dtype[np.void]:
    """One packet of a pcap file; `options` and `kept` are octets of options and of payload."""
    fields = [tuple(each.split(":")) for each in _FIELDS.split()]
    return np.dtype([*fields, ("options", ">u4", options // 4), ("payload", f"V{kept}")])


_DATA, _REPLY, _OPEN = _record(12, SNAPLEN - 66), _record(24, 0), _record(20, 0)
_CYCLE = np.dtype([("first", _DATA), ("second", _DATA), ("reply", _REPLY)])
_HANDSHAKE = np.dtype([("syn", _OPEN), ("answer", _OPEN), ("ack", _OPEN)])

Field = NDArray[np.void]
Numbers = NDArray[np.int64]


def bulk(path: Path, packets: int, connections: int = 20) -> int:
    """Writes about `packets` packets of `connections` bulk transfers; returns their number."""
    cycles = packets // (3 * connections)
    begin = _handshakes(connections)
    with path.open("wb") as file:
        file.write(_FILE_HEADER)
        file.write(begin.tobytes())
        for first in range(0, cycles, 10_000):
            file.write(_transfers(first, min(first + 10_000, cycles), connections).tobytes())
    return 3 * connections + 3 * connections * cycles


def idle(path: Path, connections: int) -> int:
    """Writes `connections` handshakes and nothing else; returns the number of packets."""
    path.write_bytes(_FILE_HEADER + _handshakes(connections).tobytes())
    return 3 * connections


def _handshakes(connections: int) -> Field:
    packets = np.zeros(connections, _HANDSHAKE)
    number = np.arange(connections)
    syn_options = (
        0x020405B4,
        0x0402080A,
        0,
        0,
        0x01030307,
    )  # MSS 1460, SACK permitted, timestamps, a scale of 7
    for place, (name, flags) in enumerate((("syn", _SYN), ("answer", _SYN | _ACK), ("ack", _ACK))):
        packet, forward = packets[name], name != "answer"
        _fill(packet, number, forward, number * 3 * SLOT + place * SLOT, flags, 0)
        packet["options"] = (
            syn_options if flags & _SYN else (0x0101080A, 0, 0, 0x01010101, 0x01010101)
        )
        packet["sequence"] = _first(number, forward) + (name == "ack")
        packet["acknowledgement"] = 0 if name == "syn" else _first(number, not forward) + 1
    return packets


def _transfers(first: int, last: int, connections: int) -> Field:
    """The cycles `first` to `last` of every connection, in turn."""
    cycle, number = np.divmod(np.arange(first * connections, last * connections), connections)
    packets = np.zeros(len(cycle), _CYCLE)
    begin = _sent(2 * cycle, number, connections)
    heard = _stamp(_sent(2 * cycle - 2, number, connections) + 2 * SLOT)
    for place, name in enumerate(("first", "second")):
        packet = packets[name]
        _fill(packet, number, True, begin + place * SLOT, _ACK | _PSH, MSS)
        packet["id"] = (2 * cycle + place) % 2**16
        packet["sequence"] = _first(number, True) + 1 + MSS * _segment(2 * cycle + place)
        packet["acknowledgement"] = _first(number, False) + 1
        packet["options"] = _stamps(begin, np.where(cycle > 0, heard, 0))
    _reply(packets["reply"], number, cycle, connections)
    return packets


def _sent(slot: Numbers, number: Numbers, connections: int) -> Numbers:
    """When a connection sends in a slot; a cycle of all has two of them and one for the reply."""
    cycle, place = np.divmod(slot, 2)
    begin = 3 * SLOT * (connections + 1 + cycle * connections + number)
    return np.asarray(begin + place * SLOT, np.int64)


def _reply(packet: Field, number: Numbers, cycle: Numbers, connections: int) -> None:
    """The ACKs of the receiver, which knows the segments of a round trip ago."""
    times = _sent(2 * cycle, number, connections) + 2 * SLOT
    _fill(packet, number, False, times, _ACK, 0)
    slot = np.maximum(2 * cycle + 1 - FLIGHT, -1)
    period, place = np.divmod(slot, PERIOD)
    missing = (place >= LOST) & (place < AGAIN) & (slot >= 0)
    base = _first(number, True) + 1
    whole_segments = np.where(missing, period * (PERIOD - 1) + LOST, _segment(slot) + 1)
    left, right = base + MSS * (whole_segments + 1), base + MSS * (_segment(slot) + 1)
    reports = missing & (place > LOST)
    packet["id"] = cycle % 2**16
    packet["sequence"] = _first(number, False) + 1
    packet["acknowledgement"] = base + MSS * np.where(
        slot < 0, 0, np.where(place == AGAIN, _whole_after(period), whole_segments)
    )
    blocks = [np.where(reports, value, 0x01010101) % 2**32 for value in (left, right)]
    sack = np.where(reports, 0x0101050A, 0x01010101)
    echoed = _sent(np.where(missing, period * PERIOD + LOST - 2, slot - 1), number, connections)
    echo = np.where(slot < 0, 0, _stamp(echoed))
    packet["options"] = np.column_stack([_stamps(times, echo), sack, *blocks])


def _whole_after(period: Numbers) -> Numbers:
    """How many segments are whole once a period's lost one has come again."""
    return period * (PERIOD - 1) + AGAIN


def _segment(slot: Numbers) -> Numbers:
    """Which segment is sent in a slot: in each period one slot repeats an earlier one."""
    period, place = np.divmod(slot, PERIOD)
    new = np.where(place < AGAIN, place, place - 1)
    return period * (PERIOD - 1) + np.where(place == AGAIN, LOST, new)


def _first(number: Numbers, forward: bool) -> Numbers:
    """The sequence number of a connection's SYN; every second one turns over at once."""
    return (number % 2) * (2**32 - 10**5) + number + (0 if forward else 5000)


def _stamps(times: Numbers, echoes: Numbers) -> Numbers:
    return np.column_stack([np.full(len(times), 0x0101080A), _stamp(times), echoes])


def _stamp(times: Numbers) -> Numbers:
    """A clock of milliseconds, which never says 0."""
    return times // 10**6 + 1


def _fill(
    packet: Field, number: Numbers, forward: bool, times: Numbers, flags: int, payload: int
) -> None:
    """Everything below and around the sequence numbers. `times` are ns after `START`."""
    head = packet.dtype["options"].itemsize + 20
    packet["seconds"], packet["nanoseconds"] = np.divmod(times + START, 10**9)
    packet["captured"] = packet.dtype.itemsize - 16
    packet["wire"], packet["length"] = 14 + 20 + head + payload, 20 + head + payload
    packet["ethertype"], packet["version"], packet["ttl"], packet["protocol"] = 0x0800, 0x45, 64, 6
    ends = (0x0A000000 + 1 + number // 40_000, 0x0B000001), (10_000 + number % 40_000, 5001)
    hosts, ports = ends if forward else (ends[0][::-1], ends[1][::-1])
    packet["source"], packet["destination"] = hosts
    packet["source_port"], packet["destination_port"] = ports
    packet["flags"], packet["window"] = head // 4 << 12 | flags, 4096
