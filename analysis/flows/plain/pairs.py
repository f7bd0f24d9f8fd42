"""Which ends talk to each other, and through which networks.

Ends in two networks (VLANs, tunnels) are two pairs. But the two directions of a pair may pass
different ones: the first packet of a direction that none was seen of belongs to the pair of its own
network, and if there is none, to the newest pair of these ends that lacks this direction.
"""

from __future__ import annotations

from dataclasses import dataclass

ADDRESSED = 36
"""Octets of two addresses and two ports, before the four of the network."""


@dataclass(slots=True)
class EndsPair:
    """The ends and the network as in the first packet; whether the other direction was seen."""

    ends: bytes
    number: int
    answered: bool = False


class EndsPairs:
    """All pairs of ends."""

    def __init__(self) -> None:
        self._directed: dict[bytes, bytes] = {}
        """By ends and network, as in a packet: the ends with the pair's number instead."""
        self._first: dict[bytes, EndsPair] = {}
        """By ends and network, as in a pair's first packet."""
        self._newest: dict[bytes, EndsPair] = {}
        """By the ends alone, as in a packet of the direction that the newest pair may lack."""
        self.networks: dict[int, int] = {}
        """By the pair's number, the network of its first packet."""
        self._count = 0

    def find(self, ends: bytes) -> bytes:
        """The ends, with the number of their pair instead of the network's."""
        return self._directed.get(ends) or self._look_up(ends)

    def keep(self, numbers: set[int]) -> None:
        """Forgets all pairs but those with these numbers."""
        self.networks = {number: self.networks[number] for number in numbers}
        self._first = {ends: pair for ends, pair in self._first.items() if pair.number in numbers}
        self._newest = {ends: pair for ends, pair in self._newest.items() if pair.number in numbers}
        self._directed = {
            ends: made
            for ends, made in self._directed.items()
            if int.from_bytes(made[ADDRESSED:], "big") in numbers
        }

    def _look_up(self, ends: bytes) -> bytes:
        opposite, addressed = turned(ends), ends[:ADDRESSED]
        pair = self._first.get(opposite)
        if pair is None or pair.answered:
            pair = self._newest.get(addressed)
        if pair is None or pair.answered:
            pair = EndsPair(ends, self._count)
            self._count += 1
            self.networks[pair.number] = int.from_bytes(ends[ADDRESSED:], "big")
            self._first[ends] = pair
            self._newest.pop(addressed, None)
            if opposite != ends:
                self._newest[opposite[:ADDRESSED]] = pair
        else:
            pair.answered = True
        made = addressed + pair.number.to_bytes(4, "big")
        self._directed[ends] = made
        return made


def turned(ends: bytes) -> bytes:
    """The ends of a packet that goes the other way."""
    return ends[16:32] + ends[:16] + ends[34:36] + ends[32:34] + ends[ADDRESSED:]
