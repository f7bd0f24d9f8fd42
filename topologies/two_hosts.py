"""Two hosts: by a switch whose ports carry the link, or by two uplinks, as a telephone has."""

from __future__ import annotations

from topologies.topology_spec import Channel, Link, Node, TopologySpec

DIAGRAM = """\
h1 ------------- s1 ============= h2
    plain cable      the channel, both ways
                     (towards h1 on s1-eth1, towards h2 on s1-eth2)"""

TWO_PATHS = """\
   ------ s1 ======
h1     the first     r1 ------ h2
   ------ s2 ======
      the second
           both ways on each"""


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


def two_paths(first: Channel, second: Channel) -> TopologySpec:
    """h1 - s1 - r1 - h2 by `first` and h1 - s2 - r1 - h2 by `second`, each both ways.

    h1 sends by the first (h1-eth0) while that has a carrier, else by the second (h1-eth1).

    Examples:
        >>> from topologies.foundation.units import Duration, Rate
        >>> link = Channel(Rate.parse("10mbit"), Duration.parse("40ms"))
        >>> [port.name for port in two_paths(link, link).ports_of["h1"]]
        ['h1-eth0', 'h1-eth1']
    """
    hosts = (Node("h1", "host"), Node("h2", "host"), Node("r1", "router"))
    nodes = (*hosts, Node("s1", "switch"), Node("s2", "switch"))
    cables = (Link("h1", "s1"), Link("h1", "s2"), Link("r1", "h2"))
    uplinks = (Link("s1", "r1", first, first), Link("s2", "r1", second, second))
    return TopologySpec("two_paths", nodes, (*cables, *uplinks), TWO_PATHS)
