"""Jobs for the guest that are no experiments. Each is `perform({"job": NAME, ...}, job)`."""

import ctypes
import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

from testbed.guest.job_entry import JobContext


def perform(data: Any, job: JobContext) -> None:
    globals()[data["job"]](data, job)


def spin(_data: Any, _job: JobContext) -> None:
    """A loop without a system call freezes virtual time."""
    while True:
        pass


def loaders(_data: Any, job: JobContext) -> None:
    """Who loaded some modules: Python's own, Mininet's, ours, and a library."""
    import zlib

    import mininet.net

    import testbed.guest.network

    modules = (json, mininet.net, testbed.guest.network, zlib)
    rows = [f"{each.__name__} {type(each.__spec__.loader).__name__}\n" for each in modules]
    (job.work / "loaders.txt").write_text("".join(rows))
    job.deliver("loaders.txt")


def ask_for_nothing(_data: Any, job: JobContext) -> None:
    job.attached("nothing")


def fail(_data: Any, _job: JobContext) -> None:
    raise ValueError("this job fails on purpose")


def masked(data: Any, job: JobContext) -> None:
    """An experiment whose programs see other features of the processor (glibc's tunables)."""
    from experiments.flows.procedure import perform as experiment

    os.environ["GLIBC_TUNABLES"] = data["mask"]
    experiment(data["spec"], job)


def switch_off(_data: Any, _job: JobContext) -> None:
    """The guest ends in the middle of its job."""
    Path("/dev/kmsg").write_text("<2>somebody pulled the plug\n")
    ctypes.CDLL(None).reboot(0x4321FEDC)  # RB_POWER_OFF, reboot(2)


def look_around(_data: Any, job: JobContext) -> None:
    """What a guest can see and do: for the test that it is nothing of the host."""
    surroundings = {
        "links": sorted(os.listdir("/sys/class/net")),
        "delivery": sorted(os.listdir("/lab")),
        "mounts": [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()],
        "environment": dict(os.environ),
        "root_is_writable": _writable("/usr/marker"),
        "host_root": _mount_of_host_root(),
    }
    (job.work / "seen.json").write_text(json.dumps(surroundings))
    job.deliver("seen.json")


def attack(data: Any, job: JobContext) -> None:
    """Load the module `attack`, which makes attack number `which`, and unload it."""
    file = job.work / "attack.ko"
    file.write_bytes(job.attached(file.name))
    subprocess.run(["insmod", str(file), f"which={data['which']}"], check=True)
    subprocess.run(["rmmod", "attack"], check=True)


def _writable(path: str) -> bool:
    try:
        Path(path).write_text("x")
    except OSError:
        return False
    return True


def _mount_of_host_root() -> list[str]:
    """Even root of the guest, mounting the folder above its own by hostfs, must see the sandbox."""
    os.makedirs("/tmp/host")
    subprocess.run(["mount", "-t", "hostfs", "none", "/tmp/host", "-o", "/../../"], check=False)
    return sorted(os.listdir("/tmp/host"))


def compare_with_ss(_data: Any, job: JobContext) -> None:
    """One connection on the loopback, as our sampler and `ss -tin` see it at the same moment."""
    import socket

    from testbed.guest.socket_sampling import tcp_sockets

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
    (job.work / "both.json").write_text(json.dumps({"ours": tcp_sockets(), "ss": text}))
    job.deliver("both.json")
