"""Switches: an Open vSwitch for one run, or bridges of a kernel without Open vSwitch.

It starts in separate network and mount namespaces; its files vanish with the run. A bridge
(brctl(8)) learns ports from first packets, and forgets none here.
"""

import fcntl
import hashlib
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from select import select

from testbed.guest import netlink
from testbed.guest.namespaces import network_namespace
from testbed.guest.programs import run, wait_for
from topologies.addresses import address_of
from topologies.errors import TcplabError
from topologies.spec import TopologySpec

_RUN = Path("/run/openvswitch")  # where ovs-vsctl, and so Mininet, looks for the database
_DAEMONS = ("ovsdb-server", "ovs-vswitchd")
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
# Seconds of uptime. Before 10, ovs-vswitchd counts no CPU, takes no handler thread and drops all
# upcalls.
_SETTLED = 11.0
# ms that a flow which nobody uses stays decided (usually 10 s), and between two looks whether the
# decisions are still right (usually half a second): they are, since nothing is configured anew.
_A_DAY = 24 * 3600 * 1000
_ROW = "6f1c1f4e-0000-4000-8000-000000000001"  # any identifier would do


def start_open_vswitch() -> None:
    """Start Open vSwitch, which ends with the namespaces of the run; `/run` must be private."""
    if not _SCHEMA.exists():
        problem = "Open vSwitch is not installed."
        raise TcplabError(problem, "Install it: sudo apt-get install openvswitch-switch")
    time.sleep(max(0.0, _SETTLED - time.clock_gettime(time.CLOCK_BOOTTIME)))
    _RUN.mkdir(parents=True, exist_ok=True)
    database, control = _RUN / "conf.db", _RUN / "db.sock"
    # The row that `ovs-vsctl init` makes, with settings, as a transaction.
    rests = [[name, str(_A_DAY)] for name in ("max-idle", "max-revalidator")]
    row = {"Open_vSwitch": {_ROW: {"other_config": ["map", rests]}}}
    database.write_bytes(_record(_SCHEMA.read_text()) + _record(json.dumps(row)))
    _start(_DAEMONS[0], str(database), f"--remote=punix:{control}")
    _start(_DAEMONS[1], f"unix:{control}")


def stop_open_vswitch() -> None:
    """Stop its daemons for good: they wake up at times that depend on the past."""
    for daemon in _DAEMONS:
        os.kill(int((_RUN / f"{daemon}.pid").read_text()), signal.SIGSTOP)


def _record(content: str) -> bytes:
    """Return a record of a database's file (ovsdb(5)): `ovsdb-tool create` takes 30 ms here."""
    data = content.encode() + b"\n"
    digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return f"OVSDB JSON {len(data)} {digest}\n".encode() + data


def _start(daemon: str, *arguments: str) -> None:
    """Start a daemon; it returns when it is ready to serve (ovs-vswitchd(8), --detach)."""
    files = [f"--pidfile={_RUN / daemon}.pid", f"--log-file={_RUN / daemon}.log"]
    run([daemon, *arguments, "--detach", "--no-chdir", *files])


_READY = 10.0  # seconds until a datagram crosses the network, which nothing delays yet
_LOOK = 0.01  # seconds that it may take


def send_first_packet(
    topology: TopologySpec, pid: Callable[[str], int], source: str, target: str
) -> None:
    """Send a datagram between hosts of a network that is not shaped yet. Raises TcplabError.

    The switches' daemon decides on a first packet, which takes 5 us; the kernel switches later
    ones. `pid` gives a process of a node's namespace.
    """
    with network_namespace(pid(target)):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with network_namespace(pid(source)):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.bind((address_of(topology, target), 0))
        sender.connect(receiver.getsockname())

        def arrives() -> bool:  # a cable drops what comes too early
            sender.send(b"")
            return bool(select([receiver], [], [], _LOOK)[0])

        wait_for(f"a datagram from {source} to {target}", arrives, _READY)


_ADD_BRIDGE, _ADD_PORT = 0x89A0, 0x89A2  # SIOCBRADDBR, SIOCBRADDIF
_PORT = struct.Struct("16si20x")  # struct ifreq with an interface's number
# Hundredths of a second: until a port sends at all, and until what was learned is forgotten.
_SETTINGS = {"forward_delay": 0, "ageing_time": 24 * 3600 * 100}


def make_bridge(name: str, ports: list[str]) -> None:
    """Make a bridge of these interfaces, and take it up. Raises OSError, TcplabError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _ADD_BRIDGE, name.encode() + b"\0")
        for setting, value in _SETTINGS.items():
            Path(f"/sys/class/net/{name}/bridge/{setting}").write_text(str(value))
        for port in ports:
            request = _PORT.pack(name.encode(), socket.if_nametoindex(port))
            fcntl.ioctl(control, _ADD_PORT, request)
    netlink.apply([netlink.up(name)])
