"""Switches that are bridges of the kernel (brctl(8)), for kernels without Open vSwitch.

A bridge learns who is behind which port from what comes, and sends what is for a stranger to all
ports. So it knows the ends of a flow from their first packets (testbed.guest.openvswitch), and
here it never forgets. It has no spanning tree: no topology has a ring of switches.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from pathlib import Path

from testbed.guest import rtnetlink

_ADD_BRIDGE, _ADD_PORT = 0x89A0, 0x89A2  # SIOCBRADDBR, SIOCBRADDIF
_PORT = struct.Struct("16si20x")  # struct ifreq with an interface's number
# Hundredths of a second: until a port sends at all, and until what was learned is forgotten.
_SETTINGS = {"forward_delay": 0, "ageing_time": 24 * 3600 * 100}


def make_bridge(name: str, ports: list[str]) -> None:
    """Make a bridge of these interfaces in the thread's namespace, and take it up.

    Raises OSError if the kernel has no bridges, TcplabError if it cannot be taken up.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _ADD_BRIDGE, name.encode() + b"\0")
        for setting, value in _SETTINGS.items():
            Path(f"/sys/class/net/{name}/bridge/{setting}").write_text(str(value))
        for port in ports:
            request = _PORT.pack(name.encode(), socket.if_nametoindex(port))
            fcntl.ioctl(control, _ADD_PORT, request)
    rtnetlink.apply([rtnetlink.up(name)])
