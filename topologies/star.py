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
    hosts = ("left", "right", "top")
    nodes = (*(Node(name, "host") for name in hosts), Node("center", "router"))
    channels = {
        "left": channel,
        "right": towards_others or channel,
        "top": towards_others or channel,
    }
    return TopologySpec(
        "star", nodes, tuple(Link("center", name, channels[name]) for name in hosts), DIAGRAM
    )
