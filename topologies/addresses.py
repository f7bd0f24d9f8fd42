"""Addresses, routes and neighbours of a topology: a pure function of its spec.

What switches connect is a segment, 10.<segment>.0.0/16, after 256 of them 11.0.0.0/16 and so on.
Neighbours are filled in because ARP would double the first round trip.
"""

import socket
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

from topologies.spec import Port, TopologySpec

PREFIX = 16
IPV6_PREFIX = 64
EVERYWHERE = "0.0.0.0/0"
_FIRST = 10
_MOST_ROUTES = 256  # of a host with one way; one for all of a larger network replaces them


@dataclass(frozen=True)
class Interface:
    """An interface of a host or router, and the number of the segment that it is in."""

    port: Port
    address: str
    mac: str
    segment: int


@dataclass(frozen=True)
class Route:
    network: str
    gateway: str
    interface: str


@cache
def interfaces(topology: TopologySpec) -> tuple[Interface, ...]:
    """Return all interfaces that carry an address, in the order of the links."""
    addressed: list[Interface] = []
    sizes: dict[int, int] = {}
    segments = _segments(topology)
    for port in topology.ports:
        if topology.kind(port.node) == "switch":
            continue
        segment = segments[port.name]
        number = sizes[segment] = sizes.get(segment, 0) + 1
        index = len(addressed) + 1
        mac = f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}"
        address = f"{_start(segment)}.{number >> 8}.{number & 255}"
        addressed.append(Interface(port, address, mac, segment))
    return tuple(addressed)


def _start(segment: int) -> str:
    """Return the first two numbers of a segment's addresses."""
    return f"{_FIRST + (segment >> 8)}.{segment & 255}"


@cache
def interfaces_of(topology: TopologySpec, node: str) -> Sequence[Interface]:
    """Return the interfaces of a host or router; none of a switch."""
    return [each for each in interfaces(topology) if each.port.node == node]


@cache
def _by_segment(topology: TopologySpec) -> dict[int, list[Interface]]:
    found: dict[int, list[Interface]] = {}
    for interface in interfaces(topology):
        found.setdefault(interface.segment, []).append(interface)
    return found


def ipv6_of(address: str) -> str:
    """Return the IPv6 address of an interface or a segment, given its IPv4 address.

    >>> ipv6_of("10.2.0.1")
    'fd00:0:0:2::1'
    """
    first, second, high, low = map(int, address.split("."))
    return f"fd00:0:0:{first - _FIRST << 8 | second:x}::{high << 8 | low:x}"


def packed(address: str) -> bytes:
    """Return an address of either family as bytes. Raises OSError."""
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def address_of(topology: TopologySpec, host: str) -> str:
    """Return the address of a host's first interface."""
    return interfaces_of(topology, host)[0].address


def neighbours(topology: TopologySpec, interface: Interface) -> tuple[tuple[str, str], ...]:
    """(address, MAC) of every other interface in the same segment."""
    others = _by_segment(topology)[interface.segment]
    return tuple((each.address, each.mac) for each in others if each is not interface)


def forwarding(topology: TopologySpec, switch: str) -> tuple[tuple[str, str], ...]:
    """Return (MAC, port of the switch) of every interface, if the switch has a choice."""
    macs = {interface.port.name: interface.mac for interface in interfaces(topology)}
    ports = topology.ports_of[switch] if len(topology.ports_of[switch]) > 2 else []
    joined = {port: _joined(topology, topology.far_end(port), without=switch) for port in ports}
    pairs = ((name, port.name) for port, names in joined.items() for name in sorted(names))
    return tuple((macs[name], port) for name, port in pairs if name in macs)


def routes(topology: TopologySpec, node: str) -> tuple[Route, ...]:
    """Return the shortest routes of a host or router to the segments that it is not part of."""
    own = {interface.segment: interface for interface in interfaces_of(topology, node)}
    return _routes(topology, own, own)


def spare_routes(topology: TopologySpec, host: str) -> tuple[tuple[Route, ...], ...]:
    """Return the routes over each interface of a host after its first."""
    own = {interface.segment: interface for interface in interfaces_of(topology, host)}
    return tuple(_routes(topology, own, dict([spare])) for spare in [*own.items()][1:])


def _routes(
    topology: TopologySpec, own: dict[int, Interface], way: dict[int, Interface]
) -> tuple[Route, ...]:
    """Return the routes over the interfaces `way` of a node with the interfaces `own`."""
    others = _by_segment(topology).keys() - own.keys()
    via = _next_hops(topology, tuple(way))
    hops = ((target, via.get(target)) for target in sorted(others))
    found = tuple(
        Route(f"{_start(target)}.0.0/{PREFIX}", hop.address, way[hop.segment].port.name)
        for target, hop in hops
        if hop
    )
    ways = {(route.gateway, route.interface) for route in found}
    if len(found) > _MOST_ROUTES and len(ways) == 1:
        return (replace(found[0], network=EVERYWHERE),)
    return found


@cache
def _next_hops(topology: TopologySpec, own: tuple[int, ...]) -> dict[int, Interface | None]:
    """Breadth first over segments: the neighbouring router's interface that leads to each."""
    kinds = topology.kind
    via: dict[int, Interface | None] = dict.fromkeys(own)
    queue, entered = deque(own), set[str]()
    while queue:
        segment = queue.popleft()
        for entry in _by_segment(topology)[segment]:
            if kinds(entry.port.node) != "router" or entry.port.node in entered:
                continue
            entered.add(entry.port.node)
            for onward in interfaces_of(topology, entry.port.node):
                if onward.segment not in via:
                    via[onward.segment] = via[segment] or entry
                    queue.append(onward.segment)
    return via


def _segments(topology: TopologySpec) -> dict[str, int]:
    """Interface name to segment number, counted in the order of the links."""
    numbers: dict[str, int] = {}
    segments = count()
    for port in topology.ports:
        if port.name not in numbers:
            numbers.update(dict.fromkeys(_joined(topology, port), next(segments)))
    return numbers


def _joined(topology: TopologySpec, port: Port, without: str = "") -> set[str]:
    """Return the names of all interfaces on the Ethernet of `port`, `without` those of a node."""
    members: set[str] = set()
    waiting = [port]
    while waiting:
        current = waiting.pop()
        if current.name not in members and current.node != without:
            members.add(current.name)
            waiting.append(topology.far_end(current))
            if topology.kind(current.node) == "switch":
                waiting += topology.ports_of[current.node]
    return members
