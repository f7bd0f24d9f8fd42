"""MTU and segmentation offloads of an interface: set and read back.

The MTU goes through SIOCSIFMTU (netdevice(7)), the offloads through SIOCETHTOOL
(include/uapi/linux/ethtool.h) as in ethtool(8), without a process for each interface. With
offloads on, "100 packets" are 100 super-packets, and one random loss takes forty segments.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import socket
import struct

from testbed.guest.shaping import InterfaceSetting
from topologies.foundation.errors import TcplabError
from topologies.foundation.units import Size

_GET_MTU, _SET_MTU = 0x8921, 0x8922
_MTU_REQUEST = struct.Struct("16si20x")
_SIOCETHTOOL = 0x8946
_FEATURES = {  # name as ethtool -k prints it: (get, set)
    "tcp-segmentation-offload": (0x1E, 0x1F),
    "generic-segmentation-offload": (0x23, 0x24),
    "generic-receive-offload": (0x2B, 0x2C),
}


def set_offloads(interface: str, on: bool = False) -> list[InterfaceSetting]:
    """Turn all offloads of an interface in the thread's namespace off, or on.

    Raises TcplabError if one differs afterwards.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for get, put in _FEATURES.values():
            if bool(_feature(control, interface, get)) != on:
                _feature(control, interface, put, on)
        states = {
            name: bool(_feature(control, interface, get)) for name, (get, _) in _FEATURES.items()
        }
    return [_checked(interface, name, on, value) for name, value in states.items()]


def _feature(control: socket.socket, interface: str, command: int, on: bool = False) -> int:
    """Get or set one. What an interface does not know, as veth before Linux 2.6.39, is off."""
    value = ctypes.create_string_buffer(struct.pack("=II", command, on), 8)
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
    try:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return 0
    return int(struct.unpack("=II", value.raw)[1])


def _checked(interface: str, name: str, on: bool, is_on: bool) -> InterfaceSetting:
    asked, has = ("on" if value else "off" for value in (on, is_on))
    if asked != has:
        raise TcplabError(
            f"{interface}: {name} was to be {asked}, the kernel keeps it {has}.",
            "Use a veth interface.",
        )
    return InterfaceSetting(interface, name, asked, has)


def set_mtu(interface: str, mtu: Size) -> InterfaceSetting:
    """Give an interface of the thread's namespace its MTU in bytes.

    Raises TcplabError if the kernel has another afterwards.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SET_MTU, _MTU_REQUEST.pack(interface.encode(), mtu.base))
        except OSError as error:
            raise TcplabError(
                f"{interface}: no MTU of {mtu.base}: {error.strerror}.", "Choose a smaller one."
            ) from error
        actual = _MTU_REQUEST.unpack(
            fcntl.ioctl(control, _GET_MTU, _MTU_REQUEST.pack(interface.encode(), 0))
        )[1]
    if actual != mtu.base:
        problem = f"{interface}: an MTU of {mtu.base} was asked for, the kernel has {actual}."
        raise TcplabError(problem, "Choose another.")
    return InterfaceSetting(interface, "mtu", str(mtu.base), str(actual))
