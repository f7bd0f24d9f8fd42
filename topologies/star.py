"""Three hosts around a router: two senders can meet at the port of the third."""

from __future__ import annotations

from topologies.topology_spec import Channel, Link, Node, TopologySpec

DIAGRAM = """\
            top
             ‖
left ===== center ===== right
   the channel leaves the router towards each host"""


def star(channel: Channel, towards_others: Channel | None = None) -> TopologySpec:
    """Return the router center with left (behind `channel`), right and top."""
    other = towards_others or channel
    channels = {"left": channel, "right": other, "top": other}
    nodes = (*(Node(name, "host") for name in channels), Node("center", "router"))
    links = tuple(Link("center", name, each) for name, each in channels.items())
    return TopologySpec("star", nodes, links, DIAGRAM)
