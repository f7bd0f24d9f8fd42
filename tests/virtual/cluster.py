"""A cluster on one machine, for test_cluster.py: each member in a network namespace of its own.

Runs as root of a user and network namespace: `unshare --user --map-root-user --net python
cluster.py ...`. Prints the sweep folder's path, or the error's text.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from dask.distributed import Client

from experiments.sweep.definition import SweepDefinition, plan
from experiments.sweep.results import GridSweep
from experiments.sweep.run import PointRunner, carry_out
from testbed.engine.certificates import FOLDER, certificates, make_certificates
from testbed.engine.cluster import cluster_engine, security
from testbed.lab.ready import lab
from topologies.errors import TcplabError

SCHEDULER, PORT = "10.9.0.2", 8786
ADDRESS = f"tls://{SCHEDULER}:{PORT}"
TCPLAB = [sys.executable, "-m", "experiments.cli.main"]
TUNNEL = Path(__file__).with_name("tunnel.py").resolve()
_NUMBERS = count()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def namespace(number: int) -> Iterator[list[str]]:
    """A network namespace at 10.9.0.NUMBER on the bridge; gives the words in front of a command."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as holder:
        try:
            inside = ["nsenter", "--target", str(holder.pid), "--net"]
            own = Path("/proc/self/ns/net").readlink()
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                time.sleep(0.01)
            ip(
                "link",
                "add",
                f"v{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                str(holder.pid),
            )
            ip("link", "set", f"v{number}", "master", "br0", "up")
            for words in (
                "link set lo up",
                f"address add 10.9.0.{number}/24 dev eth0",
                "link set eth0 up",
            ):
                subprocess.run([*inside, "ip", *words.split()], check=True)
            yield inside
        finally:
            holder.kill()


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the folder of its log, which takes what it prints."""
    own = {"env": os.environ | environment, "cwd": log.parent, "start_new_session": True}
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, **own) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


class Killer:
    """A Watch that kills a worker as soon as two points have ended."""

    def __init__(self, victim: subprocess.Popen[bytes] | None) -> None:
        self.victim = victim
        self.count = 0

    def wanted(self, points: int, reused: int) -> None:
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
    """`workers`: "good", "killed" halfway, or "foreign", with another cache that has no lab.

    Or all "tunnelled": then the scheduler and the workers listen on loopback only.
    """
    ready, logs = lab(), out / "logs"
    logs.mkdir(parents=True)
    os.environ[FOLDER] = str(out / "certificates")
    make_certificates(out / "certificates")
    _make_bridge()
    with ExitStack() as stack:
        inside = stack.enter_context(namespace(2))
        tunnels = Tunnels(stack, inside, logs) if "tunnelled" in workers else None
        host = ["--host", SCHEDULER] if tunnels is None else []
        stack.enter_context(running([*inside, *TCPLAB, "scheduler", *host], logs / "scheduler"))
        address = tunnels.to_scheduler([]) if tunnels else ADDRESS
        numbered = enumerate(workers, 3)
        started = [_worker(stack, number, kind, logs, tunnels) for number, kind in numbered]
        victim = started[workers.index("killed")] if "killed" in workers else None
        _wait_for_all(address, len(workers))
        definition = SweepDefinition(
            "sack", (("duration", ("3s",)), ("loss", ("1%", "5%"))), (1, 2, 3, 4)
        )
        runner = PointRunner(ready, partial(cluster_engine, address, ready), "a cluster")
        print(carry_out(GridSweep(plan(definition)), out, runner, Killer(victim)))


def _make_bridge() -> None:
    ip("link", "set", "lo", "up")
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    ip("address", "add", "10.9.0.1/24", "dev", "br0")


@dataclass
class Tunnels:
    """What ssh -L and -R would do between the scheduler's machine and the others."""

    stack: ExitStack
    scheduler: list[str]
    logs: Path

    def to_scheduler(self, machine: list[str]) -> str:
        """The scheduler's address on a machine (ssh -L)."""
        self._hand_on(machine, self.scheduler, PORT)
        return f"tls://127.0.0.1:{PORT}"

    def back(self, machine: list[str], port: int) -> None:
        """The worker's port on the scheduler's machine (ssh -R)."""
        self._hand_on(self.scheduler, machine, port)

    def _hand_on(self, listening: list[str], target: list[str], port: int) -> None:
        middle = f"tunnel-{next(_NUMBERS)}"
        for inside, words in ((target, [middle, str(port)]), (listening, [str(port), middle])):
            command = [*inside, sys.executable, str(TUNNEL), *words]
            self.stack.enter_context(running(command, self.logs / f"{middle}-{words[0]}.log"))


def _wait_for_all(address: str, workers: int) -> None:
    """Which of them comes first depends on the machine's load, and is not what is tested."""
    with Client(address, timeout=300, security=security()) as client:
        client.wait_for_workers(workers, timeout=300)


def _worker(
    stack: ExitStack, number: int, kind: str, logs: Path, tunnels: Tunnels | None
) -> subprocess.Popen[bytes]:
    inside = stack.enter_context(namespace(number))
    command, elsewhere = [*TCPLAB, "worker", ADDRESS, "--slots", "1"], {}
    if tunnels:
        port = 40_000 + number
        tunnels.back(inside, port)
        command[-3:] = [tunnels.to_scheduler(inside), "--slots", "1", "--port", str(port)]
    elif kind == "foreign":  # Dask's own: ours would build the lab
        command = [sys.executable, "-m", "distributed.cli.dask_worker", ADDRESS]
        command += ["--nthreads", "1", "--no-nanny", "--local-directory", str(logs)]
        command += certificates().options()
        elsewhere = {"TCPLAB_CACHE": str(logs / "nothing")}
    return stack.enter_context(running([*inside, *command], logs / f"worker-{number}", **elsewhere))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except TcplabError as error:
        print(f"Error: {error}")
