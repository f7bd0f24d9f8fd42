"""Segmentation offloads, off and read back.

With them "100 packets" are 100 super-packets and one loss draw takes forty segments. The kernel is asked
through SIOCETHTOOL (include/uapi/linux/ethtool.h), as ethtool(8) does, without a process for each interface.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from testbed.inside.shaping import Setting
from topologies.errors import TcplabError

_SIOCETHTOOL = 0x8946
_FEATURES = {  # name as ethtool -k prints it: (get, set)
    "tcp-segmentation-offload": (0x1E, 0x1F),
    "generic-segmentation-offload": (0x23, 0x24),
    "generic-receive-offload": (0x2B, 0x2C),
}


def turn_off(interface: str) -> list[Setting]:
    """Turn all offloads of an interface in the thread's namespace off. Raises TcplabError where one stays on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for get, put in _FEATURES.values():
            if _feature(control, interface, get):
                _feature(control, interface, put)
        return [_checked(interface, name, _feature(control, interface, get)) for name, (get, _) in _FEATURES.items()]


def _feature(control: socket.socket, interface: str, command: int) -> int:
    value = ctypes.create_string_buffer(struct.pack("=II", command, 0), 8)
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
    fcntl.ioctl(control, _SIOCETHTOOL, request)
    return int(struct.unpack("=II", value.raw)[1])


def _checked(interface: str, name: str, value: int) -> Setting:
    if value:
        raise TcplabError(f"{interface}: {name} was to be off, the kernel keeps it on.", "Use a veth interface.")
    return Setting(interface, name, "off", "off")
