"""Whether captures are those that the student's own run gives, byte for byte.

If they are not, the first difference is named. This runs in a process of its own
(labs.measuring.contained): one of the two captures is a stranger's.
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
_FEW = 5.0  # bytes or packets by which counts may differ in any case
_WITNESSES = (
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
        "retransmissions by the kernel's counter",
        "nstat.TcpRetransSegs",
        "sender.rexmt_data_pkts",
        0.02,
    ),
)
"""What is counted, the witness's count, that of the capture, and how far they may differ."""


@dataclass(frozen=True)
class Difference:
    """Where a capture differs from the one that was repeated.

    `packet` is the number of the first packet that differs, from 1; it is 0 if the file itself is
    no capture. `seconds` is its time after the first packet. `cut` says that the file agrees as far
    as it goes, and then ends.
    """

    file: str
    packet: int
    seconds: float
    cut: bool
    what: str


def differences(reference: str, handed_in: str, names: list[str]) -> list[dict[str, Any]]:
    """The captures among `names` that differ, each with its first difference.

    Both folders hold these below raw/.
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

    Two runs in real time share next to none: sequence numbers and timestamps begin at chance (RFC
    6528, RFC 7323).
    """
    shares = {}
    for name in names:
        given = [packet for _, packet in packets(_content(handed_in, name) or b"")]
        reference_content = untrusted.content(Path(reference), name)
        expected = {packet for _, packet in packets(reference_content)}
        shares[name] = sum(packet in expected for packet in given) / len(given) if given else 0.0
    return shares


def _content(folder: str, name: str) -> bytes | None:
    """A capture's bytes; None if there is none."""
    try:
        return untrusted.content(Path(folder), name)
    except (FileNotFoundError, untrusted.StrangeFile):
        return None


def _first(name: str, expected: bytes, given: bytes) -> Difference:
    """The first packet that differs, or an end that one capture has and the other has not."""
    start = 0.0
    pairs = zip_longest(packets(expected), packets(given))
    for number, (own, other) in enumerate(pairs, 1):
        start = start or (own[0] if own else 0.0)
        if own == other:
            continue
        if own and other:
            what = "the time is another" if own[1] == other[1] else "the packet is another"
            return Difference(name, number, round(own[0] - start, 6), False, what)
        seconds = round((own[0] if own else start) - start, 6)
        cut = expected.startswith(given)
        return Difference(name, number, seconds, cut, _ending(cut, ended=own is None))
    return Difference(name, 0, 0.0, False, "its packets are the same, the file is not")


def _ending(cut: bool, ended: bool) -> str:
    """How a capture ends too late or too early; `ended` says that the run had ended before."""
    if ended:
        return "it goes on after the run had ended"
    return "it ends there, and the run went on" if cut else "what follows is no packet"


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
    """Sentences about how a run's own witnesses contradict its captures.

    They judge runs that cannot be repeated. The sender's socket counts every byte of data that it
    sent (tcp_info, tcpi_bytes_sent) and tcpdump every packet that it wrote. The last sample of the
    socket may be a little older than the end.
    """
    sentences = []
    for condition, measured in values.items():
        for claim, counter, capture_key, slack in _WITNESSES:
            count, captured = measured.get(counter), measured.get(capture_key)
            if count is None or captured is None:
                continue
            if abs(count - captured) > max(_FEW, slack * max(count, captured)):
                difference = f"{captured:,.0f} in the capture, and {count:,.0f} {claim}"
                sentences.append(f"{condition}: {difference}")
    return sentences
