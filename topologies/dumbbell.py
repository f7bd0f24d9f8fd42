"""Several senders and receivers that share one bottleneck between two switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from topologies.foundation.units import Duration
from topologies.topology_spec import FASTEST, Channel, Link, Node, TopologySpec, require_number

DIAGRAM = """\
h1 ---+                        +--- r1
h2 ---+--- s1 =========== s2 --+--- r2
hn ---+     the channel,       +--- rn
            both ways"""
MOST_PAIRS = 200
_CABLE = Channel(FASTEST)


def dumbbell(pairs: int, channel: Channel, farther: Sequence[Duration] = ()) -> TopologySpec:
    """`pairs` hosts h1..hn on the left, as many r1..rn on the right; all flows cross s1-s2.

    Packets to each receiver take longer by its part of `farther`, and so do its round trips.

    Examples:
        >>> from topologies.foundation.units import Duration, Rate
        >>> link = Channel(Rate.parse("10mbit"), Duration.parse("40ms"))
        >>> [node.name for node in dumbbell(1, link).nodes]
        ['h1', 'r1', 's1', 's2']
    """
    require_number("dumbbell", pairs, "pairs", MOST_PAIRS)
    left = [f"h{number}" for number in range(1, pairs + 1)]
    right = [f"r{number}" for number in range(1, pairs + 1)]
    hosts = (Node(name, "host") for name in left + right)
    nodes = (*hosts, Node("s1", "switch"), Node("s2", "switch"))
    delays = [*farther, *[Duration(0)] * pairs]
    cables = tuple(Link(name, "s1") for name in left) + tuple(
        Link("s2", name, replace(_CABLE, delay=delay) if delay.base else None)
        for name, delay in zip(right, delays, strict=False)
    )
    return TopologySpec("dumbbell", nodes, (*cables, Link("s1", "s2", channel, channel)), DIAGRAM)
