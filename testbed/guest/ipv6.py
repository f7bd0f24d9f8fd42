"""IPv6 of hosts and routers, with fixed addresses and neighbours and without announcements.

Studies have IPv4 alone (HOST_SYSCTLS of testbed.guest.namespaces). Programs of the user's get both.
"""

from __future__ import annotations

import time

from testbed.guest.namespaces import network_namespace, set_sysctl
from testbed.guest.network import LiveNetwork
from topologies.addresses import IPV6_PREFIX, interfaces, ipv6_of, neighbours, routes

_ALL = "net.ipv6.conf.all."
_QUIET = {  # no address of its own making, no question whether an address is taken
    "addr_gen_mode": "1",
    "accept_dad": "0",
    "accept_ra": "0",
    "router_solicitations": "0",
    "keep_addr_on_down": "1",
}
_SETTLES = 3.0  # seconds: reports of multicast groups (RFC 3810) are over before the captures


def add_ipv6(live: LiveNetwork) -> None:
    """Give every interface of hosts and routers its IPv6 address. Raises TcplabError."""
    for kind in ("host", "router"):
        for node in live.topology.named(kind):
            _enable(live, node, kind == "router")
            set_ipv6(live, node)
    time.sleep(_SETTLES)


def set_ipv6(live: LiveNetwork, node: str) -> None:
    """Set addresses, neighbours and routes, also those that a node still has."""
    live.batch(node, ["ip", "-6"], _lines(live, node))


def _enable(live: LiveNetwork, node: str, forwards: bool) -> None:
    with network_namespace(live.pid(node)):
        if forwards:
            set_sysctl(f"{_ALL}forwarding", "1")
        for port in live.topology.ports_of[node]:
            for name, value in {**_QUIET, "disable_ipv6": "0"}.items():
                set_sysctl(f"net.ipv6.conf.{port.name}.{name}", value)


def _lines(live: LiveNetwork, node: str) -> list[str]:
    lines = []
    for interface in interfaces(live.topology):
        name = interface.port.name
        if interface.port.node == node:
            lines += [
                f"address replace {ipv6_of(interface.address)}/{IPV6_PREFIX} dev {name} nodad"
            ]
            lines += [
                f"neighbour replace {ipv6_of(other)} lladdr {mac} dev {name} nud permanent"
                for other, mac in neighbours(live.topology, interface)
            ]
    return lines + [
        f"route replace {ipv6_of(route.network.partition('/')[0])}/{IPV6_PREFIX}"
        f" via {ipv6_of(route.gateway)} dev {route.interface}"
        for route in routes(live.topology, node)
    ]
