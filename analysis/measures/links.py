"""Ports with a channel, the packets that passed them, and how long a lone one takes."""

from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from analysis.flows.sightings import Truths, Whole
from topologies.spec import SHORTEST_DELAY, Channel, Port

Lengths = TypeVar("Lengths", int, npt.NDArray[np.int64])  # the length of a packet, or those of many
FRAME_HEADER = 14  # bytes of Ethernet before IP, which a link carries too


def channels(ports: tuple[Port, ...]) -> list[Channel]:
    return [port.channel for port in ports if port.channel]


def delay_of(channel: Channel) -> int:
    """Nanoseconds of a channel's delay line."""
    return max(channel.delay, SHORTEST_DELAY).base


def carried(channel: Channel, length: Lengths) -> Lengths:
    """Nanoseconds for which a packet of `length` bytes occupies the link."""
    return length * 8 * 10**9 // channel.bandwidth.base


def lone(ports: tuple[Port, ...], length: Lengths) -> Lengths:
    """Nanoseconds that a packet of `length` bytes takes over these ports if it never waits."""
    passing = 0 * length
    for channel in channels(ports):
        passing = passing + delay_of(channel) + carried(channel, length)
    return passing


@dataclass(frozen=True)
class PortTraffic:
    """Packets through `ports` in the order of sending; `came` is ns since 1970, or -1."""

    ports: tuple[Port, ...]
    sent: Whole
    length: Whole
    came: Whole

    @property
    def alone(self) -> bool:
        """True if this is the only shaped port on the way, so that all its packets are seen."""
        return len(self.ports) == 1

    @property
    def arrived(self) -> Truths:
        return self.came >= 0

    @property
    def delay(self) -> Whole:
        """Nanoseconds from end to end of each packet that arrived."""
        delays: Whole = (self.came - self.sent)[self.arrived]
        return delays

    @property
    def wait(self) -> Whole:
        """Nanoseconds beyond a lone packet's, in queues or by a delay that varies."""
        waits: Whole = self.delay - lone(self.ports, self.length[self.arrived])
        return waits

    def only(self, chosen: Truths | Whole) -> Self:
        columns = {name: getattr(self, name)[chosen] for name in ("sent", "length", "came")}
        return replace(self, **columns)

    def within(self, since: int, until: int) -> Self:
        """Return the packets that were sent in a time, in ns since 1970."""
        return self.only((self.sent >= since) & (self.sent < until))

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return all packets through some ports, in the order in which they were sent."""
        columns = ([getattr(part, name) for part in parts] for name in ("sent", "length", "came"))
        joined = cls(parts[0].ports, *map(np.concatenate, columns))
        return joined.only(np.argsort(joined.sent, kind="stable"))
