"""Two hosts and a switch whose ports carry the link: the smallest network for TCP."""

from __future__ import annotations

from topologies.topology_spec import Channel, Link, Node, TopologySpec

DIAGRAM = """\
h1 ------------- s1 ============= h2
    plain cable      the channel, both ways
                     (towards h1 on s1-eth1, towards h2 on s1-eth2)"""


def two_hosts(channel: Channel, back: Channel | None = None) -> TopologySpec:
    """h1 - s1 - h2, with `channel` towards h2, and `back` (or the same) towards h1.

    The round trip takes the delays of both.

    Examples:
        >>> from topologies.foundation.units import Duration, Rate
        >>> link = Channel(Rate.parse("10mbit"), Duration.parse("40ms"))
        >>> [node.name for node in two_hosts(link).nodes]
        ['h1', 'h2', 's1']
    """
    nodes = (Node("h1", "host"), Node("h2", "host"), Node("s1", "switch"))
    links = (Link("h1", "s1", leftward=back or channel), Link("s1", "h2", rightward=channel))
    return TopologySpec("two_hosts", nodes, links, DIAGRAM)
