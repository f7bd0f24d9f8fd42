"""The largest packet of an interface, set and read back through SIOCSIFMTU (netdevice(7))."""

from __future__ import annotations

import fcntl
import socket
import struct

from testbed.guest.shaping import InterfaceSetting
from topologies.errors import TcplabError
from topologies.units import Size

_GET, _SET = 0x8921, 0x8922
_LAYOUT = struct.Struct("16si20x")


def set_mtu(interface: str, mtu: Size) -> InterfaceSetting:
    """Give an interface of the thread's namespace its MTU in bytes.

    Raises TcplabError if the kernel has another afterwards.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SET, _LAYOUT.pack(interface.encode(), mtu.base))
        except OSError as error:
            raise TcplabError(
                f"{interface}: no MTU of {mtu.base}: {error.strerror}.", "Choose a smaller one."
            ) from error
        actual = _LAYOUT.unpack(fcntl.ioctl(control, _GET, _LAYOUT.pack(interface.encode(), 0)))[1]
    if actual != mtu.base:
        problem = f"{interface}: an MTU of {mtu.base} was asked for, the kernel has {actual}."
        raise TcplabError(problem, "Choose another.")
    return InterfaceSetting(interface, "mtu", str(mtu.base), str(actual))
