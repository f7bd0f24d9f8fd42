"""qdiscs.json and reordering.json: what `tc -s -j qdisc` said of ports, before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

_LINE = "1:"  # handle of the delay line; 2: is the rate, 3: the queue
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
    """What one port did to the packets offered to it, in packets.

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
        """What `port` did to packets during the trial."""
        # netem counts its child's drops among its own: the queue's are taken out again (tbf
        # passes on the queue's).
        dropped = max(self._grown(port, "2:", _drops), self._grown(port, "3:", _drops))
        lost = self._grown(port, _LINE, _drops) - dropped
        return PortLoss(port, lost, dropped, self._grown(port, _LINE, _packets))

    def managed_drops(self, port: str) -> float:
        """Packets that active queue management dropped although there was room.

        tc does not tell them from others of cake: all of its drops are counted here.
        """
        queue = next((row for row in self.after.get(port, ()) if row.kind in _MANAGED), None)
        if queue is None:
            return 0.0
        counts = _MANAGED[queue.kind]
        drops = [self._grown(port, queue.handle, count) for count in counts]
        return drops[0] - sum(drops[1:])

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


_MANAGED: dict[str, tuple[_Count, ...]] = {
    "red": (lambda qdisc: qdisc.early,),
    "pie": (_drops, lambda qdisc: qdisc.overlimit),
    "fq_codel": (_drops, lambda qdisc: qdisc.drop_overlimit),
    "cake": (_drops,),
}
"""What each discipline counts: its own drops, and those among them for want of room."""
