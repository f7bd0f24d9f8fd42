"""A topology as a live Mininet network with Open vSwitch, checked against its spec before use.

Addresses, qdiscs, sysctls and offloads are set in batches and read back.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from testbed.guest import netlink, shaping, switches
from testbed.guest.namespaces import (
    HOST_SYSCTLS,
    ROUTER_SYSCTLS,
    get_sysctl,
    has_sysctl,
    network_namespace,
    prepare_switches,
    set_if_known,
)
from testbed.guest.netlink import InterfaceSetting, set_mtu, set_offloads
from testbed.guest.programs import QdiscReader, run
from topologies.addresses import PREFIX, address_of, interfaces_of, neighbours, routes
from topologies.disciplines import discipline
from topologies.errors import TcplabError
from topologies.notation import json_value
from topologies.spec import ETHERNET, Channel, Port, TopologySpec
from topologies.units import Packets, Rate, Size

try:
    from testbed.guest import nodes
except ImportError:  # no Mininet: reported when a network is built, not when this is imported
    nodes = None  # type: ignore[assignment]

_INITIAL = re.compile(r" initcwnd \d+")


@dataclass
class LiveNetwork:
    """A running network. `settings` is what was asked for and found of every interface.

    With `has_lines` a shaped port is a line (testbed.guest.shaping), with `bridges` switches are
    bridges. `rewindings` are the requests that rewind the chance of each shaped port, by node; None
    for a kernel that cannot. Old kernels have `shared_sysctls` once for all hosts, and no
    `absent_sysctls`.
    """

    topology: TopologySpec
    mininet: Any
    has_lines: bool = False
    bridges: bool = False
    settings: list[InterfaceSetting] = field(default_factory=list)
    rewindings: dict[str, list[netlink.NetlinkRequest | None]] = field(default_factory=dict)
    shared_sysctls: set[str] = field(default_factory=set)
    absent_sysctls: set[str] = field(default_factory=set)
    _found: dict[tuple[str, str], str] = field(default_factory=dict)
    _windows: set[str] = field(default_factory=set)
    _own_settings: int = 0
    _readers: dict[tuple[str, bool], QdiscReader] = field(default_factory=dict)
    _hooked: set[str] = field(default_factory=set)
    _policers: dict[str, tuple[Rate, Size] | None] = field(default_factory=dict)

    def pid(self, node: str) -> int:
        """Return the process whose network namespace the node lives in."""
        return int(self.mininet.get(node).pid)

    def start(
        self, node: str, command: list[str], output: Path, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a program on a node with stdout and stderr in `output`."""
        with output.open("ab") as file, network_namespace(self.pid(node)):
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": file}
            streams |= {"stderr": subprocess.STDOUT, "env": os.environ | environment}
            return subprocess.Popen(command, start_new_session=True, **streams)

    def output(self, node: str, command: list[str], text: str = "") -> str:
        """Return the output of a command that must succeed on a node. Raises CommandError."""
        with network_namespace(self.pid(node)):
            return run(command, text)

    def batch(self, node: str, command: list[str], lines: Iterable[str]) -> None:
        """Give tc(8) or ip(8) lines on a node. Raises CommandError."""
        self.output(node, [*command, "-batch", "-"], "\n".join(lines))

    def set_sysctls(self, node: str, values: dict[str, str]) -> dict[str, str]:
        """Set sysctls in the node's own namespace and return them as read back.

        One that the kernel has only once is set for all. Raises TcplabError on a difference, and
        for an absent one that is not the baseline's.
        """
        with network_namespace(self.pid(node)):
            for name in values.keys() - HOST_SYSCTLS.keys():
                if has_sysctl(name):
                    self._found.setdefault((node, name), get_sysctl(name))
            found = {name: set_if_known(node, name, value) for name, value in values.items()}
        for name in values:
            if found[name] is None:
                # In our own namespace, which in a guest is the first.
                found[name] = actual = set_if_known("all hosts", name, values[name])
                if actual is None and HOST_SYSCTLS.get(name) != values[name]:
                    problem = f"This kernel has no {name}, which was to be {values[name]}."
                    remedy = "Leave the setting out, or choose a kernel that has it (--kernel)."
                    raise TcplabError(problem, remedy)
                (self.absent_sysctls if actual is None else self.shared_sysctls).add(name)
        return {name: actual for name, actual in found.items() if actual is not None}

    def set_initial_window(self, host: str, window: Packets | None) -> list[str]:
        """Set initcwnd of all routes of a host, or the kernel's own; the routes as read back."""
        show, asked = ["ip", "route", "show"], f" initcwnd {window}" if window else ""
        lines = (_INITIAL.sub("", line.strip()) for line in self.output(host, show).splitlines())
        self._windows.add(host)
        self.batch(host, ["ip"], (f"route change {line}{asked}" for line in lines))
        return [line.strip() for line in self.output(host, show).splitlines()]

    def restore(self) -> None:
        """Take away what an experiment set beyond the network itself, before the next one."""
        shaped = {node: [name for name, _ in ports] for node, ports in self._shaped().items()}
        for each in self.topology.reordering:
            shaped.setdefault(each.host, []).append(f"{each.host}-eth0")
        for node, names in shaped.items():
            with network_namespace(self.pid(node)):
                netlink.apply(map(netlink.without_qdiscs, dict.fromkeys(names)))
        for port in self.topology.ports:
            if self._policers.pop(port.name, None):
                self.batch(self.namespace_of(port), ["tc"], [shaping.without_policer(port.name)])
        for host in self._windows:
            self.set_initial_window(host, None)
        for (node, name), value in self._found.items():
            self.set_sysctls(node, {name: value})
        del self.settings[self._own_settings :]

    def counters(self, node: str) -> dict[str, int]:
        """Return the node's own TCP, UDP and IP counters, named as nstat(8) names them."""
        counters: dict[str, int] = {}
        for table in ("snmp", "netstat"):
            lines = Path(f"/proc/{self.pid(node)}/net/{table}").read_text().splitlines()
            for names, values in zip(lines[::2], lines[1::2], strict=True):
                prefix = names.split(":")[0]
                pairs = zip(names.split()[1:], values.split()[1:], strict=True)
                counters |= {prefix + name: int(value) for name, value in pairs}
        return counters

    def qdiscs(self) -> dict[str, list[dict[str, Any]]]:
        """Return what `tc -s -j qdisc show` prints for every port that has a channel."""
        found = [row for node in self._shaped() for row in self._qdisc_rows(node)]
        names = [port.name for port in self.topology.ports if port.channel]
        return {name: [row for row in found if row["dev"] == name] for name in names}

    def waiting_packets(self) -> int:
        """Return how many packets are in the delay lines and queues of all shaped ports."""
        rows = chain.from_iterable(self.qdiscs().values())
        return sum(int(row["qlen"]) for row in rows if row.get("root"))

    def namespace_of(self, port: Port) -> str:
        """Return a node in the namespace of a port; all switches share one."""
        switches = self.topology.named("switch")
        return switches[0] if port.node in switches else port.node

    def hook(self, port: Port) -> None:
        """Let filters see what leaves a port."""
        if port.name not in self._hooked:
            self._hooked.add(port.name)
            self.batch(self.namespace_of(port), ["tc"], shaping.hook_commands(port.name))

    def _police(self, node: str, shaped: list[tuple[str, Channel]]) -> None:
        """Give ports the policers of their channels, with a full bucket, where they differ."""
        for name, channel in shaped:
            asked = (channel.policer, channel.policer_burst) if channel.policer.base else None
            if asked == (found := self._policers.get(name)):
                continue
            self.hook(self.topology.port(name))
            lines = [shaping.without_policer(name)] if found else []
            self.batch(node, ["tc"], [*lines, *shaping.policer_commands(name, channel)])
            self._policers[name] = asked
            if asked:
                show = ["tc", "filter", "show", "dev", name, "egress", "chain", "1"]
                self.settings += shaping.compare_policer(name, channel, self.output(node, show))

    def _shaped(self) -> dict[str, list[tuple[str, Channel]]]:
        """Return the ports that have channels, by a node of each namespace."""
        shaped: dict[str, list[tuple[str, Channel]]] = {}
        for port in self.topology.ports:
            if port.channel:
                shaped.setdefault(self.namespace_of(port), []).append((port.name, port.channel))
        return shaped

    def _qdisc_rows(self, node: str) -> list[dict[str, Any]]:
        channels = [port.channel for port in self.topology.ports if port.channel]
        managed = {discipline(channel.discipline) for channel in channels}
        with network_namespace(self.pid(node)):
            is_detailed = any(channel.settings for channel in channels)
            if (node, is_detailed) not in self._readers:
                options = ("-s", "-d") if is_detailed else ("-s",)
                self._readers[node, is_detailed] = QdiscReader(options)
            text = self._readers[node, is_detailed].show()
            return shaping.qdisc_rows(text, {each.kind for each in managed if each.attributes})

    def close(self) -> None:
        """End the programs that were asked for qdiscs."""
        for reader in self._readers.values():
            reader.close()

    def shape(self) -> None:
        """Give every port its channel, and check what the kernel made of it."""
        for node, shaped in self._shaped().items():
            self._set_channels(node, shaped)
            with network_namespace(self.pid(node)):
                self.rewindings[node] = netlink.rewindings([name for name, _ in shaped])

    def reshape(self, switch: str) -> None:
        """Give the ports of a switch their channels again: it lost them when it was stopped."""
        ports = [port for port in self.topology.ports_of[switch] if port.channel]
        held = {row["dev"] for row in self._qdisc_rows(switch) if row["handle"] == "1:"}
        with network_namespace(self.pid(switch)):
            netlink.apply(netlink.without_qdiscs(p.name) for p in ports if p.name in held)
        self._set_channels(switch, [(p.name, p.channel) for p in ports if p.channel])

    def _set_channels(
        self, node: str, shaped: list[tuple[str, Channel]], change: bool = False
    ) -> None:
        """Make or change qdiscs in a namespace: by tc, or by netlink those that tc may not know."""
        of_host = self.topology.kind(node) == "host"
        has_buffers = of_host and self.topology.segmentation == "on"
        frame = self.topology.mtu.base + shaping.FRAME - ETHERNET.base  # a full one, as tc counts
        frame = shaping.buffer(frame) if has_buffers else frame
        is_line = self.has_lines and not has_buffers
        made = (shaping.commands(name, each, frame, is_line, of_host) for name, each in shaped)
        lines = list(chain.from_iterable(made))
        if change:  # the queue comes last: tbf sets the limit of a FIFO behind it to its own
            lines = [line.replace("qdisc add", "qdisc change", 1) for line in lines]
        self.batch(node, ["tc"], lines)
        if any(discipline(channel.discipline).attributes for _, channel in shaped):
            with network_namespace(self.pid(node)):
                requests = (shaping.request(name, channel, change) for name, channel in shaped)
                netlink.apply(request for request in requests if request)
        self._police(node, shaped)
        rows = self._qdisc_rows(node)
        for name, channel in shaped:
            self.settings += shaping.compare(name, channel, rows, frame, of_host)

    def change(self, name: str, channel: Channel) -> list[dict[str, Any]]:
        """Give port `name` another channel, and check it. Its qdiscs as they were just before."""
        node = self.namespace_of(self.topology.port(name))
        before = [row for row in self._qdisc_rows(node) if row["dev"] == name]
        self._set_channels(node, [(name, channel)], change=True)
        return before

    @property
    def can_rewind(self) -> bool:
        """Return whether every shaped port can meet the same chance again."""
        return all(all(requests) for requests in self.rewindings.values())

    def rewind(self) -> None:
        """Rewind the chance of all delay lines, if their kernel can: the same draws follow."""
        if not self.can_rewind:
            return
        for node, requests in self.rewindings.items():
            with network_namespace(self.pid(node)):
                netlink.apply(request for request in requests if request)

    def reorder(self) -> None:
        """Give reordering hosts their qdiscs and filter, and check what the kernel made of them."""
        for reordering in self.topology.reordering:
            host, name = reordering.host, f"{reordering.host}-eth0"
            peer = address_of(self.topology, reordering.peer)
            self.batch(host, ["tc"], shaping.reordering_commands(name, peer, reordering))
            filters = json_value(self.output(host, ["tc", "-j", "filter", "show", "dev", name]))
            rows = self._qdisc_rows(host)
            self.settings += shaping.compare_reordering(name, peer, reordering, rows, filters)

    def reorderings(self) -> dict[str, list[dict[str, Any]]]:
        """Return what `tc -s -j qdisc show` prints for the port of every host that reorders."""
        hosts = {f"{each.host}-eth0": each.host for each in self.topology.reordering}
        rows = {name: self._qdisc_rows(host) for name, host in hosts.items()}
        return {name: [row for row in rows[name] if row["dev"] == name] for name in hosts}

    def configure(self) -> None:
        """Set sysctls, addresses, routes and neighbours of hosts and routers, and all offloads."""
        for node in self.topology.named("host") + self.topology.named("router"):
            # Before the interfaces are up: IPv6 would announce itself there.
            is_host = self.topology.kind(node) == "host"
            self.set_sysctls(node, HOST_SYSCTLS if is_host else ROUTER_SYSCTLS)
            with network_namespace(self.pid(node)):
                netlink.apply(addressing(self.topology, node))
        for port in self.topology.ports:
            with network_namespace(self.pid(port.node)):
                if self.topology.mtu != ETHERNET:
                    self.settings.append(set_mtu(port.name, self.topology.mtu))
                self.settings += set_offloads(port.name, self.topology.segmentation == "on")
        self._own_settings = len(self.settings)
        self._found.clear()  # to restore is to have the network itself again


@contextmanager
def network(topology: TopologySpec, **options: Any) -> Iterator[LiveNetwork]:
    """Provide the topology, shaped, with options of `cabled_network`. Raises TcplabError."""
    with cabled_network(topology, **options) as live:
        live.shape()
        live.reorder()
        yield live


@contextmanager
def cabled_network(
    topology: TopologySpec,
    *,
    disposable: bool = False,
    shells: bool = False,
    has_lines: bool = False,
    bridges: bool = False,
    ways: Iterable[tuple[str, str]] = (),
) -> Iterator[LiveNetwork]:
    """Provide the running topology without its channels, which may be unknown yet.

    Needs root, Open vSwitch and a namespace without interfaces of these names. A `disposable`
    network is left standing, to vanish with its namespaces. With `shells` commands can be typed
    into nodes. Along `ways`, pairs of hosts, the switches have decided what to do.
    """
    if nodes is None:
        problem = "Mininet is not installed for this Python."
        raise TcplabError(problem, "Install it: sudo apt-get install mininet")
    prepare_switches()
    live = LiveNetwork(topology, nodes.empty_network(shells, bridges), has_lines, bridges)
    try:
        nodes.assemble(live.mininet, topology)
        nodes.lay(live.mininet)
        live.mininet.start()
        if not bridges:  # which have learned it from the first packets
            nodes.forward(topology)
        live.configure()
        for source, target in ways:
            switches.send_first_packet(topology, live.pid, source, target)
        yield live
    finally:
        live.close()
        if not disposable:
            nodes.take_down(live.mininet)


def addressing(topology: TopologySpec, node: str) -> list[netlink.NetlinkRequest]:
    """Return a node's requests in order: up interfaces can have neighbours and routes."""
    requests = [netlink.up("lo")]
    for interface in interfaces_of(topology, node):
        name = interface.port.name
        requests += [netlink.up(name), netlink.address(name, interface.address, PREFIX)]
        requests += netlink.neighbours(name, neighbours(topology, interface))
    requests += (netlink.route(each.network, each.gateway) for each in routes(topology, node))
    return requests
