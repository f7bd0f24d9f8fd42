"""Whether captures are those that the student's own run gives: the same bytes, or where they begin
to differ.

Runs in a process of its own (labs.measuring.contained): one of the two captures is a stranger's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from topologies import untrusted

_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
}  # what tcpdump writes on x86-64


@dataclass(frozen=True)
class Difference:
    """Where a capture differs from the one that was repeated.

    `packet` is the number of the first packet that differs, from 1, 0 where the file itself is
    no capture; `seconds` is its time after the first packet. `cut` says that what is there
    agrees and then ends.
    """

    file: str
    packet: int
    seconds: float
    cut: bool
    what: str


def differences(reference: str, handed_in: str, names: list[str]) -> list[dict[str, Any]]:
    """The captures among `names` that differ, each with its first difference; both folders hold
    these below raw/.
    """
    differing = []
    for name in names:
        reference_bytes = untrusted.content(Path(reference), name)
        if difference := _difference(name, reference_bytes, _content(handed_in, name)):
            differing.append(asdict(difference))
    return differing


def _difference(name: str, expected: bytes, given: bytes | None) -> Difference | None:
    if given is None:
        return Difference(name, 0, 0.0, True, "it is missing")
    if expected == given:
        return None
    if expected[:24] != given[:24] and given[:4] not in _MAGIC:
        return Difference(name, 0, 0.0, expected.startswith(given), "it is no capture")
    return _first(name, expected, given)


def shared_packets(reference: str, handed_in: str, names: list[str]) -> dict[str, float]:
    """For each capture among `names`: the share of its packets that the reference has at any time.

    Two runs in real time share next to none: sequence numbers and timestamps begin at chance
    (RFC 6528, RFC 7323).
    """
    shares = {}
    for name in names:
        content = _content(handed_in, name) or b""
        own_packets = [packet for _, packet in packets(content)]
        reference_packets = {
            packet for _, packet in packets(untrusted.content(Path(reference), name))
        }
        shares[name] = (
            sum(packet in reference_packets for packet in own_packets) / len(own_packets)
            if own_packets
            else 0.0
        )
    return shares


def _content(folder: str, name: str) -> bytes | None:
    """A capture's bytes; None if there is none."""
    try:
        return untrusted.content(Path(folder), name)
    except (FileNotFoundError, untrusted.StrangeFile):
        return None


def _first(name: str, expected: bytes, given: bytes) -> Difference:
    start = 0.0
    pairs = zip_longest(packets(expected), packets(given))
    for number, (expected_packet, given_packet) in enumerate(pairs, 1):
        start = start or (expected_packet[0] if expected_packet else 0.0)
        if expected_packet == given_packet:
            continue
        if given_packet is None or expected_packet is None:
            time = expected_packet[0] if expected_packet else start
            cut = expected.startswith(given)
            reason = (
                "it goes on after the run had ended"
                if expected_packet is None
                else "it ends there, and the run went on"
            )
            reason = reason if cut or expected_packet is None else "what follows is no packet"
            return Difference(name, number, round(time - start, 6), cut, reason)
        what = (
            "the time is another"
            if expected_packet[1] == given_packet[1]
            else "the packet is another"
        )
        return Difference(name, number, round(expected_packet[0] - start, 6), False, what)
    return Difference(name, 0, 0.0, False, "its packets are the same, the file is not")


def packets(content: bytes) -> Iterator[tuple[float, bytes]]:
    """Time and bytes of each complete record, pcap-savefile(5)."""
    order, tick = _MAGIC.get(content[:4], ("<", 1e-9))
    header, offset = struct.Struct(order + "IIII"), 24
    while offset + 16 <= len(content):
        seconds, fraction, length, _ = header.unpack_from(content, offset)
        if offset + 16 + length > len(content):
            return
        yield seconds + fraction * tick, content[offset + 16 : offset + 16 + length]
        offset += 16 + length


def inconsistencies(values: dict[str, dict[str, float]]) -> list[str]:
    """Where a run's own witnesses contradict its captures; for runs that cannot be repeated.

    The sender's socket counts every byte of data that it sent (tcp_info, tcpi_bytes_sent) and
    tcpdump every packet that it wrote. The last sample of the socket may be a little older than
    the end.
    """
    sentences = []
    for condition, measured in values.items():
        for claim, counted, seen, slack in (
            ("bytes that its socket counted", "ss.bytes_sent", "sender.actual_data_bytes", 0.02),
            (
                "packets that tcpdump counted at the sender",
                "tcpdump.sender",
                "sender.both.total_packets",
                0.01,
            ),
            (
                "packets that tcpdump counted at the receiver",
                "tcpdump.receiver",
                "receiver.both.total_packets",
                0.01,
            ),
            (
                "segments sent again by the kernel's counter",
                "nstat.TcpRetransSegs",
                "sender.rexmt_data_pkts",
                0.02,
            ),
        ):
            there, here = measured.get(counted), measured.get(seen)
            if (
                there is not None
                and here is not None
                and abs(there - here) > max(5.0, slack * max(there, here))
            ):
                sentences.append(
                    f"{condition}: {here:,.0f} in the capture, and {there:,.0f} {claim}"
                )
    return sentences
