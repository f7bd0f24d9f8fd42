"""Addresses, routes and neighbours of a topology: a pure function of its spec.

Every set of interfaces that switches connect is a segment, 10.<segment>.0.0/16. Neighbours are
filled in because ARP would double the first handshake's round trip.
"""

from collections import deque
from dataclasses import dataclass
from functools import cache

from topologies.spec import Port, TopologySpec

PREFIX = 16
IPV6_PREFIX = 64


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
        addressed.append(
            Interface(port, f"10.{segment}.{number >> 8}.{number & 255}", mac, segment)
        )
    return tuple(addressed)


def ipv6_of(address: str) -> str:
    """Return the IPv6 address of an interface or a segment, given its IPv4 address.

    >>> ipv6_of("10.2.0.1")
    'fd00:0:0:2::1'
    """
    _ten, segment, high, low = map(int, address.split("."))
    return f"fd00:0:0:{segment:x}::{high << 8 | low:x}"


def address_of(topology: TopologySpec, host: str) -> str:
    """Return the address of a host's first interface."""
    return next(
        interface.address for interface in interfaces(topology) if interface.port.node == host
    )


def neighbours(topology: TopologySpec, interface: Interface) -> tuple[tuple[str, str], ...]:
    """(address, MAC) of every other interface in the same segment."""
    return tuple(
        (other.address, other.mac)
        for other in interfaces(topology)
        if other.segment == interface.segment and other != interface
    )


def forwarding(topology: TopologySpec, switch: str) -> tuple[tuple[str, str], ...]:
    """Return (MAC, port of the switch) of every interface, if the switch has a choice."""
    macs = {interface.port.name: interface.mac for interface in interfaces(topology)}
    ports = topology.ports_of[switch]
    return tuple(
        (macs[name], port.name)
        for port in ports
        if len(ports) > 2
        for name in sorted(_joined(topology, topology.far_end(port), without=switch))
        if name in macs
    )


def routes(topology: TopologySpec, node: str) -> tuple[Route, ...]:
    """Return the shortest routes of a host or router to the segments that it is not part of."""
    own = _segments_of(topology, node)
    return _routes(topology, own, own)


def spare_routes(topology: TopologySpec, host: str) -> tuple[tuple[Route, ...], ...]:
    """Return the routes over each interface of a host after its first."""
    own = _segments_of(topology, host)
    return tuple(_routes(topology, own, dict([spare])) for spare in [*own.items()][1:])


def _segments_of(topology: TopologySpec, node: str) -> dict[int, Interface]:
    found = (interface for interface in interfaces(topology) if interface.port.node == node)
    return {interface.segment: interface for interface in found}


def _routes(
    topology: TopologySpec, own: dict[int, Interface], way: dict[int, Interface]
) -> tuple[Route, ...]:
    """Return the routes over the interfaces `way` of a node with the interfaces `own`."""
    others = {interface.segment for interface in interfaces(topology)} - own.keys()
    hops = ((target, _next_hop(topology, way, target)) for target in sorted(others))
    return tuple(
        Route(f"10.{target}.0.0/{PREFIX}", hop.address, way[hop.segment].port.name)
        for target, hop in hops
        if hop
    )


def _next_hop(topology: TopologySpec, own: dict[int, Interface], target: int) -> Interface | None:
    """Breadth first over segments: the neighbouring router's interface that leads to `target`."""
    forwarding = [
        interface
        for interface in interfaces(topology)
        if topology.kind(interface.port.node) == "router"
    ]
    via: dict[int, Interface | None] = dict.fromkeys(own)
    queue = deque(own)
    while queue:
        segment = queue.popleft()
        for entry in (interface for interface in forwarding if interface.segment == segment):
            for onward in forwarding:
                if onward.port.node == entry.port.node and onward.segment not in via:
                    via[onward.segment] = via[segment] or entry
                    queue.append(onward.segment)
    return via.get(target)


def _segments(topology: TopologySpec) -> dict[str, int]:
    """Interface name to segment number, counted in the order of the links."""
    numbers: dict[str, int] = {}
    for port in topology.ports:
        if port.name not in numbers:
            members = _joined(topology, port)
            number = len(set(numbers.values()))
            numbers.update(dict.fromkeys(members, number))
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
