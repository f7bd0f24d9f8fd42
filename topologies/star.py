"""Three hosts around a router: two senders can meet at the port of the third."""

from __future__ import annotations

from topologies.spec import Channel, Link, Node, TopologySpec

DIAGRAM = """\
            top
             ‖
left ===== center ===== right
   the channel leaves the router towards each host"""


def star(channel: Channel) -> TopologySpec:
    """left, right and top around the router center, whose three ports carry `channel`."""
    hosts = ("left", "right", "top")
    nodes = (*(Node(name, "host") for name in hosts), Node("center", "router"))
    return TopologySpec("star", nodes, tuple(Link("center", name, rightward=channel) for name in hosts), DIAGRAM)
