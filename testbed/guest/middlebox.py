"""Networks of users' programs: IPv6, pulled cables, translated addresses, a slow loopback.

Studies have IPv4 alone; programs get both, with fixed addresses and neighbours. A pulled cable is
its other end taken down, so the host's interface has no carrier, and a host with several sends by
the next one, whose routes have a higher metric.

A router translates a host's address to one of the segment behind each other port (tc-nat(8)). Ports
stay as they are; hosts that share an outer address send from blocks of ports, by which the router
finds the host of an answer, as carriers do (RFC 7422, RFC 7597).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from testbed.guest import netlink, shaping
from testbed.guest.namespaces import network_namespace, set_sysctl
from testbed.guest.network import LiveNetwork, addressing
from topologies import addresses
from topologies.addresses import IPV6_PREFIX, Interface, interfaces_of, ipv6_of
from topologies.errors import UsageError
from topologies.spec import Channel

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
            with network_namespace(live.pid(node)):
                if kind == "router":
                    set_sysctl(f"{_ALL}forwarding", "1")
                for port in live.topology.ports_of[node]:
                    for name, value in {**_QUIET, "disable_ipv6": "0"}.items():
                        set_sysctl(f"net.ipv6.conf.{port.name}.{name}", value)
            set_ipv6(live, node)
    time.sleep(_SETTLES)


def set_ipv6(live: LiveNetwork, node: str) -> None:
    """Set addresses, neighbours and routes, also those that a node still has."""
    requests: list[netlink.NetlinkRequest] = []
    with network_namespace(live.pid(node)):
        for interface in interfaces_of(live.topology, node):
            name = interface.port.name
            pairs = addresses.neighbours(live.topology, interface)
            requests += [netlink.address(name, ipv6_of(interface.address), IPV6_PREFIX)]
            requests += netlink.neighbours(name, ((ipv6_of(at), mac) for at, mac in pairs))
        requests += (
            netlink.route(_ipv6_network(route.network), ipv6_of(route.gateway))
            for route in addresses.routes(live.topology, node)
        )
        netlink.apply(requests)


def _ipv6_network(network: str) -> str:
    if network == addresses.EVERYWHERE:
        return "::/0"
    return f"{ipv6_of(network.partition('/')[0])}/{IPV6_PREFIX}"


_METRIC = 2000  # of the second interface; those of IPv6's routes are 1024
_OUTER = 200  # third number of outer addresses: 10.SEGMENT.200.NUMBER
_FIRST_PORT, _BLOCK, _BLOCKS = 0x8000, 0x1000, 8  # of hosts that share an outer address


def add_spare_routes(live: LiveNetwork) -> None:
    """Give hosts with several interfaces the routes over the others. Raises TcplabError."""
    for host in live.topology.named("host"):
        ways = addresses.spare_routes(live.topology, host)
        if not ways:
            continue
        names = ["all", *(port.name for port in live.topology.ports_of[host])]
        of_each = [f"net.{family}.conf.{name}" for family in ("ipv4", "ipv6") for name in names]
        live.set_sysctls(host, {f"{each}.ignore_routes_with_linkdown": "1" for each in of_each})
        spares = [
            (route, f"dev {route.interface} metric {_METRIC + number}")
            for number, way in enumerate(ways)
            for route in way
        ]
        for option, network, gateway in (("-4", str, str), ("-6", _ipv6_network, ipv6_of)):
            lines = [
                f"route add {network(route.network)} via {gateway(route.gateway)} {way}"
                for route, way in spares
            ]
            live.batch(host, ["ip", option], lines)


def set_carrier(live: LiveNetwork, interface: str, up: bool) -> None:
    """Plug the cable of a host's interface in, or pull it. Raises TcplabError."""
    far = live.topology.far_end(live.topology.port(interface))
    with network_namespace(live.pid(far.node)):
        netlink.apply([netlink.up(far.name, up)])
        if up and live.topology.kind(far.node) == "router":  # which forgot its neighbours
            netlink.apply(addressing(live.topology, far.node))
            set_ipv6(live, far.node)


def shape_loopback(live: LiveNetwork, host: str, channel: Channel) -> None:
    """Give a host's loopback the channel, and packets as on a cable. Raises TcplabError."""
    with network_namespace(live.pid(host)):
        netlink.set_mtu("lo", live.topology.mtu)
        netlink.set_offloads("lo")
    lines = shaping.commands("lo", channel, is_line=live.has_lines)
    lines[0] = lines[0].replace("qdisc add", "qdisc replace")
    live.batch(host, ["tc"], lines)


@dataclass
class Translations:
    """The hosts whose addresses routers translate, with the outer ports and addresses so far."""

    live: LiveNetwork
    ports: dict[str, set[str]] = field(default_factory=dict)
    count: int = 0

    def renew(self, router: str, hosts: Sequence[str]) -> str:
        """Translate the hosts to a new address behind each outer port; return the first."""
        topology = self.live.topology
        if router not in topology.named("router"):
            raise UsageError(f"{router} is no router.", "Choose a chain or another shape with one.")
        inner = {topology.path(router, host)[0] for host in hosts}
        mine = interfaces_of(topology, router)
        outer = [interface for interface in mine if interface.port not in inner]
        if not outer or len(hosts) > _BLOCKS:
            problem = f"{router} cannot translate {', '.join(hosts)} to one address."
            raise UsageError(problem, f"Name at most {_BLOCKS} hosts, and leave a port outside.")
        self.count += 1
        first, *_ = [self._translate(interface, hosts) for interface in outer]
        return first

    def _translate(self, outer: Interface, hosts: Sequence[str]) -> str:
        start = ".".join(outer.address.split(".")[:2])
        public = f"{start}.{_OUTER}.{self.count}"
        # The other nodes of the segment get a permanent neighbour for the address.
        for other in addresses.interfaces(self.live.topology):
            if other.segment == outer.segment and other != outer:
                line = f"{public} lladdr {outer.mac} dev {other.port.name} nud permanent"
                self.live.output(other.port.node, ["ip", "neighbour", "replace", *line.split()])
        self.ports.setdefault(outer.port.name, set())
        self.live.hook(outer.port)
        lines: list[str] = []
        for number, host in enumerate(hosts):
            block = ""
            if len(hosts) > 1:
                first = _FIRST_PORT + number * _BLOCK
                block = f" match ip dport {first} {0x10000 - _BLOCK:#x}"
                ports = f"{first} {first + _BLOCK - 1}"
                self.live.set_sysctls(host, {"net.ipv4.ip_local_port_range": ports})
            lines += self._rules(outer, host, public, block)
        self.live.batch(outer.port.node, ["tc"], lines)
        return public

    def _rules(self, outer: Interface, host: str, public: str, block: str) -> Iterator[str]:
        address = addresses.address_of(self.live.topology, host)
        known = self.ports[outer.port.name]
        preference = 1 + self.live.topology.named("host").index(host)
        rules = {
            "egress": f"match ip src {address}/32 action nat egress {address}/32 {public}",
            "ingress": f"match ip dst {public}/32{block} action nat ingress {public}/32 {address}",
        }
        for way, rule in rules.items():
            chain = " chain 1" if way == "egress" else ""
            place = f"dev {outer.port.name} {way}{chain} protocol ip pref {preference}"
            if host in known:
                yield f"filter del {place}"
            yield f"filter add {place} u32 {rule}"
        known.add(host)
