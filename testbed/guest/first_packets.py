"""The first packet of a way through switches, sent before anything is measured.

It is decided by the switches' daemon, which takes 5 us of the guest's time; what follows is
switched by the kernel. That of a flow shall not be the first.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from select import select

from testbed.guest.namespaces import network_namespace
from testbed.guest.programs import wait_for
from topologies.addresses import address_of
from topologies.topology_spec import TopologySpec

_READY = 10.0  # seconds until a datagram crosses the network, which nothing delays yet
_LOOK = 0.01  # seconds that it may take


def send(topology: TopologySpec, pid: Callable[[str], int], source: str, target: str) -> None:
    """Have a datagram go from one host to another, in a network that is not shaped yet.

    `pid` gives a process of a node's namespace. Raises TcplabError if none arrives.
    """
    with network_namespace(pid(target)):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with network_namespace(pid(source)):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.bind((address_of(topology, target), 0))
        sender.connect(receiver.getsockname())
        wait_for(
            f"a datagram from {source} to {target}", lambda: _arrives(sender, receiver), _READY
        )


def _arrives(sender: socket.socket, receiver: socket.socket) -> bool:
    """Whether a datagram arrives at once: a cable that was just laid drops what comes too early."""
    sender.send(b"")
    return bool(select([receiver], [], [], _LOOK)[0])
