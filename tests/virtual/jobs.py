"""Jobs for the guest that are no experiments. Each is `perform({"job": NAME, ...}, room)`."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

from testbed.inside.room import Room


def perform(data: Any, room: Room) -> None:
    globals()[data["job"]](data, room)


def spin(_data: Any, _room: Room) -> None:
    """A loop without a system call freezes virtual time."""
    while True:
        pass


def fail(_data: Any, _room: Room) -> None:
    raise ValueError("this job fails on purpose")


def masked(data: Any, room: Room) -> None:
    """An experiment whose programs believe that the processor has other features (glibc's tunables)."""
    from experiments.procedure import perform as experiment

    os.environ["GLIBC_TUNABLES"] = data["mask"]
    experiment(data["spec"], room)


def switch_off(_data: Any, _room: Room) -> None:
    """The guest ends in the middle of its job."""
    Path("/dev/kmsg").write_text("<2>somebody pulled the plug\n")
    ctypes.CDLL(None).reboot(0x4321FEDC)  # RB_POWER_OFF, reboot(2)


def look_around(_data: Any, room: Room) -> None:
    """What a guest can see and do: for the test that it is nothing of the host."""
    found = {
        "links": sorted(os.listdir("/sys/class/net")),
        "delivery": sorted(os.listdir("/lab")),
        "mounts": [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()],
        "environment": dict(os.environ),
        "root_is_writable": _writable("/usr/marker"),
        "host_root": _mount_of_host_root(),
    }
    (room.work / "seen.json").write_text(json.dumps(found))
    os.symlink("/etc/passwd", room.delivery / "link")
    room.deliver("seen.json")


def _writable(path: str) -> bool:
    try:
        Path(path).write_text("x")
    except OSError:
        return False
    return True


def _mount_of_host_root() -> list[str]:
    """Even root of the guest, mounting what lies above its own folder by hostfs, must see the sandbox only."""
    os.makedirs("/tmp/host")
    subprocess.run(["mount", "-t", "hostfs", "none", "/tmp/host", "-o", "/../../"], check=False)
    return sorted(os.listdir("/tmp/host"))


def compare_with_ss(_data: Any, room: Room) -> None:
    """One connection on the loopback; what our sampler and `ss -tin` say of it at the same moment."""
    import socket

    from testbed.inside.sockets import tcp_sockets

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "5ms"], check=True)
    server = socket.create_server(("127.0.0.1", 5001))
    client = socket.create_connection(("127.0.0.1", 5001))
    accepted, _ = server.accept()
    client.sendall(b"x" * 100_000)
    thread = threading.Thread(target=lambda: accepted.recv(200_000, socket.MSG_WAITALL))
    thread.start()
    client.shutdown(socket.SHUT_WR)
    thread.join()
    text = subprocess.run(["ss", "-tinH"], capture_output=True, text=True, check=True).stdout
    (room.work / "both.json").write_text(json.dumps({"ours": tcp_sockets(), "ss": text}))
    room.deliver("both.json")


def run_natively_inside(data: Any, room: Room) -> None:
    """The native testbed, as root of the guest's kernel: it has netem and Open vSwitch, which this machine may lack.

    First killed at each of `moments` (seconds), then to its end.
    """
    _checkout(data["code"])
    (room.work / "native").mkdir()
    Path("/tmp/spec.json").write_text(json.dumps(data["spec"]))
    before = _machine()
    killed = {str(moment): _native(f"/tmp/killed-{moment}", kill_after=moment) for moment in data["moments"]}
    ended = _native(str(room.work / "native"))
    (room.work / "native" / "machine.json").write_text(json.dumps({"before": before, **killed, "ended": ended}))
    room.deliver("native")


def load_natively_inside(data: Any, room: Room) -> None:
    """An experiment with a module on the native testbed; afterwards what the kernel has of modules."""
    _checkout(data["code"])
    Path("/tmp/spec.json").write_text(json.dumps(data["spec"]))
    Path("/tmp/exp.ko").write_bytes(room.attached("exp.ko"))
    _native(str(room.work / "native"), files="{'exp.ko': Path('/tmp/exp.ko').read_bytes()}")
    (room.work / "native" / "modules.txt").write_text(Path("/proc/modules").read_text())
    room.deliver("native")


def _checkout(code: dict[str, str]) -> None:
    with zipfile.ZipFile(sys.argv[0]) as archive:
        archive.extractall("/tmp/checkout")
    for name, text in code.items():
        Path("/tmp/checkout", name).write_text(text)


def _native(out: str, kill_after: float | None = None, files: str = "{}") -> dict[str, Any]:
    """The machine after a native run in a process of its own, which SIGKILL may end."""
    os.makedirs(out, exist_ok=True)
    program = (
        "import json; from pathlib import Path; from testbed.native import run_natively; "
        "spec = json.loads(Path('/tmp/spec.json').read_text()); "
        f"run_natively('experiments.procedure', spec, Path('{out}'), print, files={files})"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd="/tmp/checkout", stdout=subprocess.DEVNULL)
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    status = process.wait()
    assert (status == 0) == (kill_after is None), f"the native run ended with {status}"
    time.sleep(1)  # what the kernel still takes down; nothing outside could be waited for
    return _machine()


def _machine() -> dict[str, Any]:
    """What a native run must leave as it was."""
    commands = {
        "namespaces": ["lsns", "-n", "-o", "TYPE"],
        "bridges": ["ovs-vsctl", "list-br"],
        "qdiscs": ["tc", "qdisc", "show"],
    }
    said = {
        name: subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for name, words in commands.items()
    }
    programs = sorted(text for entry in Path("/proc").glob("[0-9]*/cmdline") if (text := entry.read_text()))
    links, files = sorted(os.listdir("/sys/class/net")), sorted(os.listdir("/run"))
    return {
        **said,
        "links": links,
        "files": files,
        "programs": programs,
        "sack": Path("/proc/sys/net/ipv4/tcp_sack").read_text(),
    }
