"""An Open vSwitch of our own: database and switch daemon, whose files vanish with the run.

Both testbeds start it in a network and mount namespace of their own, in which no other bridge is
seen.
"""

from __future__ import annotations

import time
from pathlib import Path

from testbed.guest.programs import run, wait_for
from topologies.errors import TcplabError

_RUN = Path("/run/openvswitch")  # where ovs-vsctl, and so Mininet, looks for the database
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
# Seconds of uptime. Before 10, ovs-vswitchd counts no CPU, takes no handler thread and drops all
# upcalls.
_SETTLED = 11.0
# ms that a flow which nobody uses stays decided (usually 10 s), and between two looks whether the
# decisions are still right (usually half a second): they are, since nothing is configured anew.
_A_DAY = 24 * 3600 * 1000


def start_open_vswitch() -> None:
    """Start Open vSwitch, which ends with the guest or with the namespaces of the run.

    `/run` must be ours alone.
    """
    if not _SCHEMA.exists():
        raise TcplabError(
            "Open vSwitch is not installed.", "Install it: sudo apt-get install openvswitch-switch"
        )
    wait_for(
        "the kernel to settle",
        lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > _SETTLED,
        _SETTLED + 1,
        0.5,
    )
    _RUN.mkdir(parents=True, exist_ok=True)
    database, control = _RUN / "conf.db", _RUN / "db.sock"
    run(["ovsdb-tool", "create", str(database), str(_SCHEMA)])
    _start("ovsdb-server", str(database), f"--remote=punix:{control}")
    rests = [f"other_config:{name}={_A_DAY}" for name in ("max-idle", "max-revalidator")]
    run(["ovs-vsctl", "--no-wait", "init", "--", "set", "Open_vSwitch", ".", *rests])
    _start("ovs-vswitchd", f"unix:{control}")


def _start(daemon: str, *arguments: str) -> None:
    """Start a daemon; it returns when it is ready to serve (ovs-vswitchd(8), --detach)."""
    options = [
        f"--pidfile={_RUN / daemon}.pid",
        "--detach",
        "--no-chdir",
        f"--log-file={_RUN / daemon}.log",
    ]
    run([daemon, *arguments, *options])
