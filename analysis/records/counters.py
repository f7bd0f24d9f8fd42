"""The kernel's own counters: nstat before and after a trial, and `tc -s -j qdisc` of the switch's
ports.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.jsonfile import Object, inner, number, objects

_LINE = "1:"  # handle of the delay line; 2: is the rate, 3: the queue


def growth(counters: Object, host: str) -> dict[str, float]:
    """Each nstat counter of `host`: its value after the trial less its value before."""
    before, after = inner(inner(counters, "before"), host), inner(inner(counters, "after"), host)
    values = ((name, number(after, name), number(before, name)) for name in after)
    return {name: last - (first or 0.0) for name, last, first in values if last is not None}


@dataclass(frozen=True)
class PortLoss:
    """What one port did to the packets offered to it: `lost` at random, `dropped` by a full queue,
    `passed` on.
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


def data_port(qdiscs: Object) -> PortLoss | None:
    """The port that carried most bytes, which is the one towards the receiver; None where nothing
    passed.
    """
    after = inner(qdiscs, "after")
    carried = {port: _grown(qdiscs, port, _LINE, "bytes") for port in after}
    port = max(carried, key=lambda name: carried[name], default=None)
    return port_loss(qdiscs, port) if port is not None and carried[port] else None


def port_loss(qdiscs: Object, port: str) -> PortLoss:
    """What `port` did to packets during the trial."""
    # netem counts its child's drops among its own: the queue's are taken out again (tbf passes on
    # the queue's).
    dropped = max(_grown(qdiscs, port, "2:", "drops"), _grown(qdiscs, port, "3:", "drops"))
    lost = _grown(qdiscs, port, _LINE, "drops") - dropped
    return PortLoss(port, lost, dropped, _grown(qdiscs, port, _LINE, "packets"))


def host_drops(readings: Object, port: str) -> float:
    """Packets that netem on a host's own port dropped during the trial (reordering.json)."""
    return _grown(readings, port, "10:", "drops")


def _grown(qdiscs: Object, port: str, handle: str, field: str) -> float:
    return _total(inner(qdiscs, "after"), port, handle, field) - _total(
        inner(qdiscs, "before"), port, handle, field
    )


def _total(ports: Object, port: str, handle: str, field: str) -> float:
    return sum(
        number(entry, field) or 0.0
        for entry in objects(ports, port)
        if entry.get("handle") == handle
    )
