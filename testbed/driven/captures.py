"""Captures of all interfaces of hosts, which can be read while they go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from testbed.guest.job_entry import JobContext
from testbed.guest.network import LiveNetwork
from testbed.guest.programs import wait_for

_START = 10.0  # seconds that tcpdump may take to start
_SLEEPS = "S"  # proc_pid_stat(5)
_TURNS = 100  # given to tcpdump at most


@contextmanager
def captured(
    live: LiveNetwork, job: JobContext, also: tuple[str, ...] = ()
) -> Iterator[dict[str, int]]:
    """Capture on each host, and on the interfaces `also`, until the block ends.

    Yields the process of each capture's file.
    """
    started = {}
    for port in live.topology.ports:
        if port.name in also or live.topology.kind(port.node) == "host":
            said = job.work / f"{port.name}.tcpdump.txt"
            command = f"tcpdump -Z root -n -p -i {port.name} -B 8192 --immediate-mode -U --nano -w"
            words = [*command.split(), str(job.work / f"{port.name}.pcap")]
            started[port.name] = live.start(port.node, words, said, job.patience)
            wait_for("tcpdump", partial(_is_ready, said), _START, 0.001)
    try:
        yield {f"{name}.pcap": process.pid for name, process in started.items()}
    finally:
        for process in started.values():
            process.send_signal(signal.SIGINT)
        for name, process in started.items():
            process.wait()
            job.deliver(f"{name}.pcap")


def _is_ready(said: Path) -> bool:
    return "listening on" in said.read_text()


def give_turns(pid: int) -> None:
    """Let a process run until it sleeps, which takes no time."""
    for _turn in range(_TURNS):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == _SLEEPS:
            return
        os.sched_yield()
