"""Captures of a run and of its repetition, byte by byte, and where they begin to differ.

Either may be a stranger's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from topologies.foundation import untrusted

_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
}  # what tcpdump writes on x86-64


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

    @property
    def sentence(self) -> str:
        """Where and how it differs, without a full stop."""
        if not self.packet:
            return f"{self.file}: {self.what}"
        return (
            f"{self.file} differs from packet {self.packet:,} on, {self.seconds:.3f} s after its"
            f" first: {self.what}"
        )


def differences(reference: str, handed_in: str, names: list[str]) -> list[dict[str, Any]]:
    """The captures among `names` that differ, each with its first difference.

    Both folders hold these below raw/.
    """
    differing = []
    for name in names:
        reference_bytes = untrusted.content(Path(reference), name)
        if difference := _difference(name, reference_bytes, content_if_any(handed_in, name)):
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


def content_if_any(folder: str, name: str) -> bytes | None:
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
