"""A cluster on one machine, for test_cluster.py: a scheduler and workers, each in a network namespace of its own.

Runs as root of a user and network namespace: `unshare --user --map-root-user --net python cluster.py ...`. Prints the
sweep folder's path, or the error's text.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from dask.distributed import Client

from experiments.sweep.carry import carry_out
from experiments.sweep.definition import Sweep
from experiments.sweep.plan import plan
from experiments.sweep.run import Way
from testbed.engine.engine import cluster_engine
from testbed.lab import lab
from topologies.errors import TcplabError

SCHEDULER = "10.9.0.2"
ADDRESS = f"tcp://{SCHEDULER}:8786"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def namespace(number: int) -> Iterator[list[str]]:
    """A network namespace at 10.9.0.NUMBER on the bridge; gives what starts a command in it."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as holder:
        try:
            inside = ["nsenter", "--target", str(holder.pid), "--net"]
            own = Path("/proc/self/ns/net").readlink()
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                time.sleep(0.01)
            ip("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            ip("link", "set", f"v{number}", "master", "br0", "up")
            for words in ("link set lo up", f"address add 10.9.0.{number}/24 dev eth0", "link set eth0 up"):
                subprocess.run([*inside, "ip", *words.split()], check=True)
            yield inside
        finally:
            holder.kill()


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command, stdout=said, stderr=said, env=os.environ | environment, start_new_session=True
        ) as one,
    ):
        try:
            yield one
        finally:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)


class Killer:
    """A Watch that kills a worker as soon as two points have ended."""

    def __init__(self, victim: subprocess.Popen[bytes] | None) -> None:
        self.victim = victim
        self.count = 0

    def wanted(self, points: int, known: int) -> None:
        pass

    def running(self, key: str, phase: str, elapsed: float) -> None:
        pass

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)

    def ended(self, point: object, record: object) -> None:
        self.count += 1
        if self.count == 2 and self.victim:
            os.killpg(self.victim.pid, signal.SIGKILL)


def main(out: Path, workers: list[str]) -> None:
    """`workers`: "good", "killed" halfway, or "foreign" with another cache, in which there is no lab."""
    ready, logs = lab(), out / "logs"
    logs.mkdir(parents=True)
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    ip("address", "add", "10.9.0.1/24", "dev", "br0")
    with ExitStack() as stack:
        inside = stack.enter_context(namespace(2))
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", SCHEDULER, "--no-dashboard"]
        stack.enter_context(running([*inside, *dask], logs / "scheduler"))
        started = [_worker(stack, number, kind, logs) for number, kind in enumerate(workers, 3)]
        victim = next((one for one, kind in zip(started, workers, strict=True) if kind == "killed"), None)
        _wait_for_all(len(workers))
        asked = Sweep("sack", (("duration", ("3s",)), ("loss", ("1%", "5%"))), (1, 2, 3, 4))
        way = Way(ready, partial(cluster_engine, ADDRESS, ready), "a cluster")
        print(carry_out(plan(asked), out, way, Killer(victim)))


def _wait_for_all(workers: int) -> None:
    """Which of them comes first is a matter of the machine's load, and not what is tested."""
    with Client(ADDRESS) as client:
        client.wait_for_workers(workers, timeout=60)


def _worker(stack: ExitStack, number: int, kind: str, logs: Path) -> subprocess.Popen[bytes]:
    inside = stack.enter_context(namespace(number))
    command = [sys.executable, "-m", "distributed.cli.dask_worker", ADDRESS, "--nthreads", "1", "--no-nanny",
               "--no-dashboard", "--memory-limit", "0", "--local-directory", str(logs)]  # fmt: skip
    elsewhere = {"TCPLAB_CACHE": str(logs / "nothing")} if kind == "foreign" else {}
    return stack.enter_context(running([*inside, *command], logs / f"worker-{number}", **elsewhere))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except TcplabError as error:
        print(f"Error: {error}")
