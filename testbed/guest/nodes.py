"""Mininet's classes without a shell for every node and a process for every setting.

A host is one process that holds its namespace. What Mininet types runs as a process of its own,
whose failure is an error. Cables and switch ports are made in one batch each.
"""

import os
import shlex
import socket
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import chain
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Host, OVSBridge

from testbed.guest import netlink
from testbed.guest.programs import run
from testbed.guest.switches import make_bridge
from topologies.addresses import forwarding, interfaces
from topologies.errors import TcplabError
from topologies.spec import TopologySpec


class QuietHost(Host):  # type: ignore[misc]  # Mininet has no types
    """A host or router: namespaces (network, mount) held by a process that ends with this one."""

    @classmethod
    def setup(cls) -> None:
        """Skip: Mininet would ask with two processes for its programs."""

    def startShell(self, mnopts: str | None = None) -> None:
        """Start the process whose namespaces the node lives in. Raises TcplabError."""
        command = ["mnexec", mnopts or "-dnp", "cat"]
        self.holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout is not None
        # mnexec -p prints its process number once the namespaces are there.
        if not self.holder.stdout.readline():
            problem = f"{self.name}: mnexec made no namespace."
            raise TcplabError(problem, "Its own message is in job.log.")
        self.holder.stdout.close()
        self.pid = self.holder.pid

    def cmd(self, *words: object, **_options: object) -> str:
        return run(["mnexec", "-a", str(self.pid), "sh", "-c", " ".join(map(str, words))])

    def terminate(self) -> None:
        self.holder.communicate()


class QuietSwitch(OVSBridge):  # type: ignore[misc]
    """A switch of Open vSwitch in the namespace of our own process."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, batch=True, **options)
        self.inNamespace = False

    @classmethod
    def setup(cls) -> None:
        """Skip: Mininet would ask with five processes for the running Open vSwitch."""

    @classmethod
    def isOldOVS(cls) -> bool:
        return False

    def startShell(self, mnopts: str | None = None) -> None:
        self.pid = os.getpid()
        # Until its making is over: Mininet would take lo of the common namespace up by a process.
        self.inNamespace = True

    def cmd(self, *words: object, **_options: object) -> str:
        return run(["sh", "-c", " ".join(map(str, words))])

    def terminate(self) -> None:
        """Skip: no process is held."""

    @classmethod
    def batchStartup(cls, switches: Any, **_options: object) -> Any:
        """Make all bridges and ports in as few ovs-vsctl as the longest command line allows."""
        return super().batchStartup(switches, run=lambda command, shell: run(shlex.split(command)))

    @classmethod
    def batchShutdown(cls, switches: Any, **_options: object) -> Any:
        removals = (["--", "--if-exists", "del-br", switch.name] for switch in switches)
        run(["ovs-vsctl", *chain.from_iterable(removals)])
        return switches


class BridgeSwitch(QuietSwitch):
    """A switch that is a bridge of the kernel's own, where that has no Open vSwitch."""

    @classmethod
    def batchStartup(cls, switches: Any, **_options: object) -> Any:
        for switch in switches:
            make_bridge(switch.name, [end.name for end in switch.intfList() if end.link])
        return switches

    @classmethod
    def batchShutdown(cls, switches: Any, **_options: object) -> Any:
        _remove(switch.name for switch in switches)
        return switches


class ShellSwitch(QuietSwitch):
    """A switch with the shell that Mininet's own switches have, for commands that are typed."""

    startShell, cmd, terminate = OVSBridge.startShell, OVSBridge.cmd, OVSBridge.terminate


class QuietInterface(Intf):  # type: ignore[misc]
    """An interface that is configured in a batch with all others of its node."""

    def config(self, **_parameters: object) -> dict[str, object]:
        return {}


class QuietCable(Link):  # type: ignore[misc]
    """A veth pair that `lay` makes together with all others."""

    @classmethod
    def makeIntfPair(cls, *_arguments: object, **_options: object) -> None:
        """See `lay`."""

    def request(self) -> netlink.NetlinkRequest:
        """Return the pair, each end in its node's namespace with its address."""
        ends = ((end.name, end.mac, end.node.pid) for end in (self.intf1, self.intf2))
        return netlink.cable(*ends)


def empty_network(shells: bool = False, bridges: bool = False) -> Any:
    """Return a Mininet of nodes with `shells`, or with `bridges` for switches, yet to be made."""
    quiet = BridgeSwitch if bridges else QuietSwitch
    # Skips Mininet.init, which sets resource limits and sysctls of the machine.
    Mininet.inited = True
    host, switch = (Host, ShellSwitch) if shells else (QuietHost, quiet)
    options = {"link": QuietCable, "intf": QuietInterface, "controller": None, "build": False}
    mininet = Mininet(switch=switch, host=host, **options)
    mininet.built = True  # skips an `ifconfig lo up` for every host
    return mininet


def assemble(mininet: Any, topology: TopologySpec) -> None:
    for number, node in enumerate(topology.nodes, 1):
        if node.kind == "switch":
            mininet.addSwitch(node.name, dpid=f"{number:x}")
        else:
            mininet.addHost(node.name, ip=None)
    macs = {interface.port.name: interface.mac for interface in interfaces(topology)}
    ports = topology.ports
    for left, right in zip(ports[::2], ports[1::2], strict=True):
        ends = {"intfName1": left.name, "intfName2": right.name}
        known = {"addr1": macs.get(left.name), "addr2": macs.get(right.name)}
        ends |= {option: mac for option, mac in known.items() if mac}
        mininet.addLink(left.node, right.node, **ends)


def lay(mininet: Any) -> None:
    """Make all cables at once, and take the switches' ends up. Raises TcplabError."""
    netlink.apply(cable.request() for cable in mininet.links)
    ends = [end.name for switch in mininet.switches for end in switch.intfList() if end.link]
    netlink.apply(netlink.up(name) for name in ["lo", *ends])


def forward(topology: TopologySpec) -> None:
    """Tell each switch that has a choice who is behind its ports: a silent host, too."""
    for switch in topology.named("switch"):
        rows = forwarding(topology, switch)
        if flows := "".join(f'dl_dst={mac},actions=output:"{port}"\n' for mac, port in rows):
            run(["ovs-ofctl", "add-flows", switch, "-"], flows)


def take_down(mininet: Any) -> None:
    """Remove switches, cables and hosts, whatever was made of them. Raises CommandError."""
    present = {name for _index, name in socket.if_nameindex()}
    ends = chain.from_iterable(switch.intfList() for switch in mininet.switches)
    # The other cables vanish with their hosts' namespaces.
    cables = {end.link: end.name for end in ends if end.name in present and end.link}
    with ExitStack() as stack:
        for host in mininet.hosts:
            stack.callback(host.terminate)
        stack.callback(_remove, cables.values())
        if mininet.switches:
            stack.callback(mininet.switch.batchShutdown, mininet.switches)


def _remove(interfaces: Iterable[str]) -> None:
    run(["ip", "-batch", "-"], "\n".join(f"link del {name}" for name in interfaces))
