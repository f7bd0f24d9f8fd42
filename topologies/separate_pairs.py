"""Pairs of hosts that share only a switch: several paths measured in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from topologies.foundation.errors import UsageError
from topologies.topology_spec import Channel, Link, Node, TopologySpec

DIAGRAM = """\
h1 ---+      +=== r1
h2 ---+- s1 -+=== r2
hn ---+      +=== rn
each pair has a channel of its own towards r,
and a way back of its own"""
MOST_PATHS = 40


def separate_pairs(channels: Sequence[Channel], back: Sequence[Channel]) -> TopologySpec:
    """Hosts h1..hn and r1..rn around the switch s1: hi reaches ri over `channels[i - 1]`.

    `back` are the channels towards h1..hn, as many. No pair waits for another: every channel
    leaves s1 towards one host. Raises UsageError for another number.
    """
    if not 1 <= len(channels) <= MOST_PATHS or len(back) != len(channels):
        raise UsageError(
            f"{len(channels)} pairs with {len(back)} ways back are not possible.",
            f"Choose 1 to {MOST_PATHS} pairs, each with its way back.",
        )
    numbers = range(1, len(channels) + 1)
    hosts = [f"{side}{number}" for side in "hr" for number in numbers]
    left = (Link(f"h{number}", "s1", None, back[number - 1]) for number in numbers)
    right = (Link("s1", f"r{number}", channels[number - 1]) for number in numbers)
    nodes = (*(Node(name, "host") for name in hosts), Node("s1", "switch"))
    return TopologySpec("separate_pairs", nodes, (*left, *right), DIAGRAM)
