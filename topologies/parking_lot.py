"""A long flow through several bottlenecks, each shared with a short flow of its own."""

from __future__ import annotations

from itertools import pairwise

from topologies.topology_spec import Channel, Link, Node, TopologySpec, require_number

DIAGRAM = """\
      a1      a2      an
       |       |       |
h1 -- r1 ==== r2 ==== rn ==== rm -- h2        (m = n + 1)
               |       |       |
              b1      b2      bn
   the channel, both ways, between routers; a1 sends to b1 over the first hop, and so on"""
MOST_HOPS = 50


def parking_lot(hops: int, channel: Channel) -> TopologySpec:
    """h1 to h2 crosses `hops` channels; a<i> to b<i> crosses the i-th alone."""
    require_number("parking lot", hops, "hops", MOST_HOPS)
    row = [f"r{number}" for number in range(1, hops + 2)]
    sides = [(f"a{number}", f"b{number}") for number in range(1, hops + 1)]
    hosts = ("h1", "h2", *(name for side in sides for name in side))
    nodes = (*(Node(name, "host") for name in hosts), *(Node(name, "router") for name in row))
    trunk = tuple(Link(left, right, channel, channel) for left, right in pairwise(row))
    ends = (Link("h1", row[0]), Link(row[-1], "h2"))
    cross = tuple(
        link
        for (sender, receiver), (left, right) in zip(sides, pairwise(row), strict=True)
        for link in (Link(sender, left), Link(right, receiver))
    )
    return TopologySpec("parking_lot", nodes, ends + trunk + cross, DIAGRAM)
