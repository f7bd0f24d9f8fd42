"""Mininet's command line for a network that this package shapes and addresses itself.

Some of its commands look for programs that the image lacks, or change links.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import mininet.net
from mininet.cli import CLI

from testbed.guest import netlink, nodes
from testbed.guest.namespaces import network_namespace
from testbed.guest.network import LiveNetwork, addressing
from topologies.errors import TcplabError

PLACE = Path("/run/typed")  # a folder of programs that the commands need, for what the system lacks
_STANDING_IN = {
    "killall": 'exec pkill -x "$@"',  # `iperf` ends servers with it
    "python": 'exec python3 "$@"',
    "telnet": 'exec inetutils-telnet "$@"',
}
_TRIALS = 50  # of a client, each of a tenth of a second and more
_HISTORIES = ("NSTAT", "IFSTAT", "RTACCT")
"""Programs of iproute2 that subtract what they showed last; hosts share /tmp, where that is."""


def prepare_programs() -> None:
    """Make the programs that are missing; what is started from now on finds them."""
    PLACE.mkdir(exist_ok=True)
    for name, command in _STANDING_IN.items():
        if not shutil.which(name):
            (PLACE / name).write_text(f"#!/bin/sh\n{command}\n")
            (PLACE / name).chmod(0o755)
    os.environ["PATH"] += f":{PLACE}"

    def wait_for_iperf(client: Any, server: str, port: int) -> bool:
        command = f"iperf -p {port} -n 1K -c {server}"
        return any("/sec" in client.cmd(command) for _ in range(_TRIALS))

    mininet.net.waitListening = wait_for_iperf


class ShapedCLI(CLI):  # type: ignore[misc]  # Mininet has no types
    """Mininet's commands, which keep links and addresses as specified, and show errors."""

    # Otherwise it keeps a history in root's home, where nothing of a run may stay.
    readlineInited = True

    def __init__(self, live: LiveNetwork) -> None:
        self._live = live
        for host in live.mininet.hosts:
            for interface in host.intfList():
                interface.updateIP()  # by which names of hosts become their addresses
            files = (f"{each}_HISTORY=/tmp/.{each.lower()}.{host.name}" for each in _HISTORIES)
            host.cmd(f"export {' '.join(files)}")
        super().__init__(live.mininet)

    def onecmd(self, line: str) -> Any:
        try:
            return super().onecmd(line)
        except TcplabError as error:
            print(f"*** Error: {error.problem} {error.remedy}")
        except Exception as error:  # of any kind: Mininet raises Exception itself
            print(f"*** Error: {line.split()[0]}: {error or type(error).__name__}.")
        for node in self._live.mininet.values():
            while node.waiting:
                node.sendInt()
                node.waitOutput()
        return None

    def default(self, line: str) -> None:
        if line.split()[1:] in (["exit"], ["logout"]):  # without its shell a node cannot be used
            print("*** A node has no end of its own: exit alone ends the network.")
        else:
            super().default(line)

    def do_switch(self, line: str) -> None:
        super().do_switch(line)
        name, *action = line.split() or [""]
        if action == ["start"] and name in self._live.topology.named("switch"):
            nodes.forward(self._live.topology)
            self._live.reshape(name)

    def do_link(self, line: str) -> None:
        super().do_link(line)
        *ends, status = line.split() or [""]
        if status == "up":  # an interface that was down has lost neighbours and routes
            for node in ends:
                if node in self._live.mininet and node not in self._live.topology.named("switch"):
                    with network_namespace(self._live.pid(node)):
                        netlink.apply(addressing(self._live.topology, node))
