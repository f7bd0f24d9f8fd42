"""qdiscs.json and reordering.json: what `tc -s -j qdisc` said of ports, before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from msgspec import Struct, field

from topologies.disciplines import of_kind

_LINE, _RATE, _QUEUE = "1:", "2:", "3:"
"""Handles of delay line, rate and queue."""
_OF_HOST = "10:"  # handle of netem on a host's own port


class Qdisc(Struct, frozen=True):
    """One queueing discipline with what it has counted; `options` as tc names them.

    `early` are red's own drops; `overlimit` (pie) and `drop_overlimit` (fq_codel) those of its
    `drops` for which it had no room.
    """

    kind: str = ""
    handle: str = ""
    bytes: float | None = None
    packets: float | None = None
    drops: float | None = None
    overlimits: float | None = None
    early: float | None = None
    overlimit: float | None = None
    drop_overlimit: float | None = None
    options: dict[str, Any] = field(default_factory=dict)


_Count = Callable[[Qdisc], float | None]


@dataclass(frozen=True)
class PortLoss:
    """The fate of the packets offered to a port, in packets.

    `lost` at random, `dropped` by a full queue, `passed` on.
    """

    port: str
    lost: float
    dropped: float
    passed: float

    @property
    def share(self) -> float:
        """The share of packets lost at random, 0 to 1."""
        offered = self.lost + self.dropped + self.passed
        return self.lost / offered if offered else 0.0


class QdiscsFile(Struct, frozen=True):
    """The disciplines of each port, before the trial and after it."""

    before: dict[str, tuple[Qdisc, ...]] = field(default_factory=dict)
    after: dict[str, tuple[Qdisc, ...]] = field(default_factory=dict)

    def data_port(self) -> PortLoss | None:
        """The port that carried most bytes, which is the one towards the receiver.

        None if nothing passed.
        """
        carried = {port: self.carried(port) for port in self.after}
        port = max(carried, key=lambda name: carried[name], default=None)
        return self.port_loss(port) if port is not None and carried[port] else None

    def port_loss(self, port: str) -> PortLoss:
        """Return the fate of packets at `port` during the trial."""
        # netem counts its child's drops among its own: the queue's are taken out again (tbf
        # passes on the queue's).
        dropped = max(self._grown(port, _RATE, _drops), self._grown(port, _QUEUE, _drops))
        lost = self._grown(port, _LINE, _drops) - dropped
        return PortLoss(port, lost, dropped, self._grown(port, _LINE, _packets))

    def managed_drops(self, port: str) -> float:
        """Packets that active queue management dropped although there was room.

        tc counts all drops of cake together, so they all count here.
        """
        queue = next((row for row in self.after.get(port, ()) if row.handle == _QUEUE), None)
        counters = of_kind(queue.kind).early_drops if queue else ()
        drops = [self._grown(port, _QUEUE, attrgetter(counter)) for counter in counters]
        return sum(drops[:1]) - sum(drops[1:])

    def carried(self, port: str) -> float:
        """Bytes that passed a port during the trial."""
        return self._grown(port, _LINE, _bytes)

    def host_drops(self, port: str) -> float:
        """Packets that netem on a host's own port dropped during the trial (reordering.json)."""
        return self._grown(port, _OF_HOST, _drops)

    def _grown(self, port: str, handle: str, count: _Count) -> float:
        return _total(self.after, port, handle, count) - _total(self.before, port, handle, count)


def _total(ports: dict[str, tuple[Qdisc, ...]], port: str, handle: str, count: _Count) -> float:
    return sum(count(qdisc) or 0.0 for qdisc in ports.get(port, ()) if qdisc.handle == handle)


def _bytes(qdisc: Qdisc) -> float | None:
    return qdisc.bytes


def _packets(qdisc: Qdisc) -> float | None:
    return qdisc.packets


def _drops(qdisc: Qdisc) -> float | None:
    return qdisc.drops
