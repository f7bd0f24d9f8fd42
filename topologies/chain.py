"""Routers in a row between two hosts: what each hop adds."""

from __future__ import annotations

from itertools import pairwise

from topologies.topology_spec import Channel, Link, Node, TopologySpec, require_number

DIAGRAM = """\
h1 ------ r1 ====== r2 ====== rn ====== h2
  the channel, both ways, on every hop between routers and on the last cable to each host"""
MOST_ROUTERS = 60  # a packet leaves with a TTL of 64


def chain(routers: int, channel: Channel, back: Channel | None = None) -> TopologySpec:
    """h1 - r1 - ... - rn - h2, with `channel` towards h2 and `back` (or the same) towards h1."""
    require_number("chain", routers, "routers", MOST_ROUTERS)
    row = [f"r{number}" for number in range(1, routers + 1)]
    nodes = (Node("h1", "host"), *(Node(name, "router") for name in row), Node("h2", "host"))
    inner = tuple(Link(left, right, channel, back or channel) for left, right in pairwise(row))
    ends = Link("h1", row[0], leftward=back or channel), Link(row[-1], "h2", rightward=channel)
    return TopologySpec("chain", nodes, (ends[0], *inner, ends[1]), DIAGRAM)
