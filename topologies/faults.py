"""Faults of a direction: the packets that they hit; the first that hits one decides on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from topologies.addresses import packed
from topologies.errors import UsageError, named
from topologies.spec import LONGEST_DELAY, MOST_PACKETS, TopologySpec, read_words, within
from topologies.units import WHOLE, Duration, Packets, Share, Size

FaultKind = Literal["drop", "delay", "reorder", "stall", "duplicate", "corrupt", "reset", "refuse"]
"""They are lost; held for `delay`; held until `behind` more have passed; held until the fault ends,
and go on in order; pass twice; get a wrong bit behind IP's header; become a RST to each end, if
they are of TCP; are lost, and their sender gets `answer`."""
Protocol = Literal["tcp", "udp", "icmp"]
Flag = Literal["SYN", "ACK", "FIN", "RST", "PSH", "data"]
Answer = Literal["closed", "host", "network", "prohibited", "too big"]
"""A RST or ICMP's port unreachable, ICMP's host or network unreachable, administratively
prohibited, or packet too big with `larger` as MTU."""
PROTOCOLS: dict[Protocol, tuple[int, ...]] = {"tcp": (6,), "udp": (17,), "icmp": (1, 58)}
FLAGS: dict[Flag, int] = {"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "data": 0}
_MOST_PORT, _LARGEST = 0xFFFF, Size(65575)  # a packet of IPv6 at most, with its header


@dataclass(frozen=True)
class Fault:
    """The effect on packets that match all fields. Raises UsageError for an impossible one.

    `ports` and `addresses` are of either end. `flag` is one of TCP, or "data" for payload. A packet
    is `larger` or `smaller` than bytes of IP. Of those that match, the fault hits the `nth` and the
    following up to `count`, each with the chance `share`.
    """

    kind: FaultKind
    protocol: Protocol | None = None
    ports: tuple[int, ...] = ()
    addresses: tuple[str, ...] = ()
    flag: Flag | None = None
    larger: Size = Size(0)
    smaller: Size = _LARGEST
    nth: Packets = Packets(1)
    count: Packets = MOST_PACKETS
    share: Share = WHOLE
    delay: Duration = Duration(0)
    behind: Packets = Packets(1)
    answer: Answer = "closed"

    def __post_init__(self) -> None:
        read_words(self, "fault")
        for address in self.addresses:
            try:
                packed(address)
            except (OSError, ValueError):
                problem = f"'{address[:40]}' is no address."
                raise UsageError(problem, "Write one such as 10.0.0.2.") from None
        if wrong := [port for port in self.ports if not 0 < port <= _MOST_PORT]:
            raise UsageError(f"{wrong[0]} is no port.", f"Choose one from 1 to {_MOST_PORT}.")
        within("size", self.larger, Size(0), _LARGEST)
        within("size", self.smaller, Size(1), _LARGEST)
        within("nth", self.nth, Packets(1), MOST_PACKETS)
        within("count", self.count, Packets(1), MOST_PACKETS)
        within("share", self.share, Share(1), WHOLE)
        within("number of packets to wait for", self.behind, Packets(1), MOST_PACKETS)
        least = Duration(1) if self.kind == "delay" else Duration(0)
        within("delay", self.delay, least, LONGEST_DELAY)


@dataclass(frozen=True)
class Spot:
    """A port of a switch or router, and the hosts whose packets are meant there; all if empty."""

    port: str
    sources: tuple[str, ...] = ()


def spots(topology: TopologySpec, source: str, target: str) -> tuple[Spot, ...]:
    """Return where packets pass from a node to its neighbour, or from a host to another.

    What a host sends is hit behind its neighbour, since its own port is in front of its capture.
    Raises UsageError.
    """
    known = {node.name: node for node in topology.nodes}
    for name in (source, target):
        named(f"Topology {topology.name} has no node", name, known)
    hosts = topology.named("host")
    if source in hosts and target in hosts and source != target:
        ports = [port for port in topology.ports if port.peer == target]
        found = [Spot(port.name, (source,)) for port in ports if port.node not in hosts]
    else:
        ports = [port for port in topology.ports_of[source] if port.peer == target]
        found = [Spot(port.name) for port in ports if source not in hosts]
        if source in hosts and target not in hosts and ports:
            onward = [port for port in topology.ports_of[target] if port.peer != source]
            found = [Spot(port.name, (source,)) for port in onward]
    if not found:
        problem = f"No link with a switch or a router leads from {source} to {target}."
        raise UsageError(problem, "Name two hosts, or two neighbours of which one is no host.")
    return tuple(found)


def partition(topology: TopologySpec, groups: Iterable[Iterable[str]]) -> tuple[Spot, ...]:
    """Return where packets pass from a host of a group to one of another. Raises UsageError."""
    sets = [frozenset(group) for group in groups]
    everyone = [host for group in sets for host in group]
    hosts = {name: name for name in topology.named("host")}
    for host in everyone:
        named(f"Topology {topology.name} has no host", host, hosts)
    if len(sets) < 2 or not all(sets) or len(everyone) > len(set(everyone)):
        problem = "A partition has two or more groups of different hosts."
        raise UsageError(problem, 'Write partition({"h1"}, {"h2", "h3"}).')
    ports = [port for port in topology.ports if port.node not in hosts]
    others = [(group, tuple(sorted(set(everyone) - group))) for group in sets]
    return tuple(Spot(p.name, rest) for group, rest in others for p in ports if p.peer in group)
