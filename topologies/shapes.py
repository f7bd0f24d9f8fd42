"""Usual topologies: two hosts, a row of routers, dumbbell, parking lot, separate pairs, star."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from topologies.errors import UsageError
from topologies.spec import FASTEST, Channel, Link, Node, TopologySpec, require_number
from topologies.units import Duration

TWO_HOSTS_DIAGRAM = """\
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
        >>> from topologies.units import Duration, Rate
        >>> link = Channel(Rate.parse("10mbit"), Duration.parse("40ms"))
        >>> [node.name for node in two_hosts(link).nodes]
        ['h1', 'h2', 's1']
    """
    nodes = (Node("h1", "host"), Node("h2", "host"), Node("s1", "switch"))
    links = (Link("h1", "s1", leftward=back or channel), Link("s1", "h2", rightward=channel))
    return TopologySpec("two_hosts", nodes, links, TWO_HOSTS_DIAGRAM)


def two_paths(first: Channel, second: Channel) -> TopologySpec:
    """h1 - s1 - r1 - h2 by `first` and h1 - s2 - r1 - h2 by `second`, each both ways.

    h1 sends by the first (h1-eth0) while that has a carrier, else by the second (h1-eth1).
    """
    hosts = (Node("h1", "host"), Node("h2", "host"), Node("r1", "router"))
    nodes = (*hosts, Node("s1", "switch"), Node("s2", "switch"))
    cables = (Link("h1", "s1"), Link("h1", "s2"), Link("r1", "h2"))
    uplinks = (Link("s1", "r1", first, first), Link("s2", "r1", second, second))
    return TopologySpec("two_paths", nodes, (*cables, *uplinks), TWO_PATHS)


CHAIN_DIAGRAM = """\
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
    return TopologySpec("chain", nodes, (ends[0], *inner, ends[1]), CHAIN_DIAGRAM)


DUMBBELL_DIAGRAM = """\
h1 ---+                        +--- r1
h2 ---+--- s1 =========== s2 --+--- r2
hn ---+     the channel,       +--- rn
            both ways"""
MOST_PAIRS = 200
_CABLE = Channel(FASTEST)


def dumbbell(pairs: int, channel: Channel, farther: Sequence[Duration] = ()) -> TopologySpec:
    """`pairs` hosts h1..hn on the left, as many r1..rn on the right; all flows cross s1-s2.

    Packets to each receiver take longer by its part of `farther`, and so do its round trips.
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
    trunk = Link("s1", "s2", channel, channel)
    return TopologySpec("dumbbell", nodes, (*cables, trunk), DUMBBELL_DIAGRAM)


PARKING_LOT_DIAGRAM = """\
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
    return TopologySpec("parking_lot", nodes, ends + trunk + cross, PARKING_LOT_DIAGRAM)


SEPARATE_PAIRS_DIAGRAM = """\
h1 ---+      +=== r1
h2 ---+- s1 -+=== r2
hn ---+      +=== rn
each pair has a channel of its own towards r,
and a way back of its own"""
MOST_PATHS = 40


def separate_pairs(channels: Sequence[Channel], back: Sequence[Channel]) -> TopologySpec:
    """Hosts h1..hn and r1..rn around the switch s1: hi reaches ri over `channels[i - 1]`.

    `back` are the channels towards h1..hn. Raises UsageError for another number.
    """
    if not 1 <= len(channels) <= MOST_PATHS or len(back) != len(channels):
        problem = f"{len(channels)} pairs with {len(back)} ways back are not possible."
        raise UsageError(problem, f"Choose 1 to {MOST_PATHS} pairs, each with its way back.")
    numbers = range(1, len(channels) + 1)
    hosts = [f"{side}{number}" for side in "hr" for number in numbers]
    left = (Link(f"h{number}", "s1", None, back[number - 1]) for number in numbers)
    right = (Link("s1", f"r{number}", channels[number - 1]) for number in numbers)
    nodes = (*(Node(name, "host") for name in hosts), Node("s1", "switch"))
    return TopologySpec("separate_pairs", nodes, (*left, *right), SEPARATE_PAIRS_DIAGRAM)


STAR_DIAGRAM = """\
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
    return TopologySpec("star", nodes, links, STAR_DIAGRAM)
