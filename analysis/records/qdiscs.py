"""qdiscs.json and reordering.json: what `tc -s -j qdisc` said of ports, before and after."""

from __future__ import annotations

from dataclasses import dataclass
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
        dropped = max(self._grown(port, _RATE, "drops"), self._grown(port, _QUEUE, "drops"))
        lost = self._grown(port, _LINE, "drops") - dropped
        return PortLoss(port, lost, dropped, self._grown(port, _LINE, "packets"))

    def managed_drops(self, port: str) -> float:
        """Packets that active queue management dropped although there was room.

        tc counts all drops of cake together, so they all count here.
        """
        queue = next((row for row in self.after.get(port, ()) if row.handle == _QUEUE), None)
        counters = of_kind(queue.kind).early_drops if queue else ()
        drops = [self._grown(port, _QUEUE, counter) for counter in counters]
        return sum(drops[:1]) - sum(drops[1:])

    def carried(self, port: str) -> float:
        """Bytes that passed a port during the trial."""
        return self._grown(port, _LINE, "bytes")

    def host_drops(self, port: str) -> float:
        """Packets that netem on a host's own port dropped during the trial (reordering.json)."""
        return self._grown(port, _OF_HOST, "drops")

    def _grown(self, port: str, handle: str, counter: str) -> float:
        before, after = (
            sum(getattr(row, counter) or 0.0 for row in rows.get(port, ()) if row.handle == handle)
            for rows in (self.before, self.after)
        )
        return after - before
