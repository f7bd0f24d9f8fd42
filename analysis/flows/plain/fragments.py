"""Puts fragments of IP packets together (RFC 791, RFC 8200, section 4.5).

As Linux does, a packet is given up if fragments overlap (RFC 5722), after 30 seconds, or, the
oldest first, if all that wait take more than 4 MiB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Any

from analysis.flows.plain.ip_layer import FragmentPart, IpLayer
from analysis.flows.plain.networks import Path

_PATIENCE = 30_000_000_000
"""Nanoseconds for which the fragments of a packet wait for each other."""
_MOST = 4 << 20
_OVERHEAD = 256
"""What a fragment takes beside its octets."""
_LONGEST = 65535
"""The longest payload: the field for the length has 16 bits."""


class WaitingFragments:
    """The fragments of one packet."""

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.records = self.size = 0
        """Records of this packet so far, copies of fragments included; and their memory."""
        self._header: bytearray | None = None
        """The header of the whole packet, from the first fragment."""
        self._offsets: list[int] = []
        self._pieces: list[tuple[int, bytes]] = []
        """Of each fragment, by offset: its length, and what was captured of it."""
        self._present = 0
        self._total: int | None = None
        self._congested = False
        self._spoilt = False
        """Fragments overlapped, or cannot belong together: the packet is never whole."""

    def take(self, packet: bytes, layer: IpLayer, part: FragmentPart) -> int:
        """The memory that the fragment takes."""
        self.records += 1
        length = layer.end - layer.start
        end = part.offset + length
        if self._spoilt or self._has(part.offset, end):
            return self._grow(0)
        if self._contradicts(part, length):
            self._spoilt = True
            self._offsets, self._pieces = [], []
            return self._grow(0)
        self._congested |= (packet[1] >> (0 if packet[0] >> 4 == 4 else 4)) & 3 == 3
        if part.offset == 0:
            self._header = bytearray(packet[: part.header])
            self._header[part.names_next] = layer.protocol
        if not part.has_more:
            self._total = end
        octets = packet[layer.start : layer.end]
        self._present += length
        at = bisect_right(self._offsets, part.offset)
        self._offsets.insert(at, part.offset)
        self._pieces.insert(at, (length, octets))
        return self._grow(len(octets))

    def _grow(self, octets: int) -> int:
        self.size += _OVERHEAD + octets
        return _OVERHEAD + octets

    def _has(self, begin: int, end: int) -> bool:
        """Whether a fragment holds all of it: a copy, as from a mirror port."""
        at = bisect_right(self._offsets, begin) - 1
        return at >= 0 and begin < end <= self._end(at)

    def _contradicts(self, part: FragmentPart, length: int) -> bool:
        end, at = part.offset + length, bisect_right(self._offsets, part.offset)
        before = self._end(at - 1) if at else 0
        last = self._end(-1) if self._offsets else 0
        return (
            length == 0
            or end > _LONGEST
            or (part.has_more and length % 8 != 0)
            or before > part.offset
            or (at < len(self._offsets) and self._offsets[at] < end)
            or (self._total is not None and (end > self._total or not part.has_more))
            or (not part.has_more and last > end)
        )

    def _end(self, place: int) -> int:
        return self._offsets[place] + self._pieces[place][0]

    def is_whole(self) -> bool:
        return not self._spoilt and self._header is not None and self._total == self._present

    def whole(self) -> bytes | None:
        """The packet, up to the first octet that was not captured; None if it is too long."""
        assert self._header is not None
        packet, is_four = self._header, self._header[0] >> 4 == 4
        length = (len(packet) if is_four else len(packet) - 40) + self._present
        if length > _LONGEST:
            return None
        at = 2 if is_four else 4
        packet[at : at + 2] = length.to_bytes(2, "big")
        if is_four:
            packet[6:8] = bytes(2)
        if self._congested:
            packet[1] |= 3 if is_four else 0x30
        for size, octets in self._pieces:
            packet += octets
            if len(octets) < size:
                break
        return bytes(packet)


class FragmentStore:
    """All packets that wait for fragments."""

    def __init__(self) -> None:
        self._waiting: dict[Any, WaitingFragments] = {}
        self._order: deque[tuple[int, Any]] = deque()
        """The keys, the oldest first, with the time of their beginning."""
        self._size = 0
        self.joined = 0
        """Records that are part of a packet which another record made whole."""

    def join(
        self, time: int, packet: bytes, layer: IpLayer, part: FragmentPart, path: Path
    ) -> bytes | None:
        """Takes a fragment; the whole packet if this was the last that lacked."""
        self._forget(time)
        # In IPv6 the protocol does not count.
        protocol = layer.protocol if packet[0] >> 4 == 4 else 0
        key = (part.identification, protocol, layer.source, layer.destination, path)
        if key not in self._waiting:
            self._waiting[key] = WaitingFragments(time)
            self._order.append((time, key))
        waiting = self._waiting[key]
        self._size += waiting.take(packet, layer, part)
        if not waiting.is_whole():
            while self._size > _MOST:
                self._drop_oldest()
            return None
        del self._waiting[key]
        self._size -= waiting.size
        self.joined += waiting.records - 1
        return waiting.whole()

    def _forget(self, time: int) -> None:
        """Gives up what has waited too long."""
        while self._order and time - self._order[0][0] > _PATIENCE:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        begun, key = self._order.popleft()
        # The key may have been completed, and come again since.
        if key in self._waiting and self._waiting[key].begun == begun:
            self._size -= self._waiting.pop(key).size
