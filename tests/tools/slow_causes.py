"""Verdicts of analyze compared with the known cause of slowness, from three places.

    .venv/bin/python -m tests.tools.slow_causes --each 10 --seed 1

One guest of the lab kernel makes all transfers of a cause: a drawn network, congestion control and
pattern of the application for each. The captures of both hosts and of the router between are
judged, and the matrix is printed by place.
"""

import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from analysis import flows
from analysis.analyze.causes import Cause
from analysis.analyze.facts import ConnectionFacts
from analysis.analyze.listed import of_reading
from analysis.analyze.verdict import verdict
from experiments.programs.links import Direction, NetworkLink, channel
from experiments.programs.network import Network
from experiments.programs.start import network
from tests.tools.slow_scenarios import SCENARIOS, TO_RECEIVER, TO_SENDER, Transfer, drawn
from topologies.faults import Spot
from topologies.shapes import chain

_PROGRAM = Path(__file__).with_name("programs") / "slow_transfer.py"
_FAST = {"bandwidth": "500mbit", "queue": "10000", "loss": "0%", "jitter": "0ms"}
_MIDDLE = "r1-eth1"
_BATCH = 5  # transfers of a guest, whose memory holds their captures
PLACES = {"sender": "h2-eth0", "middle": _MIDDLE, "receiver": "h1-eth0"}


def _ports(running: Network, names: tuple[str, ...]) -> NetworkLink:
    ports = tuple(port for port in running.topology.ports if port.name in names)
    spots = tuple(Spot(port.name) for port in ports)
    return NetworkLink(running, Direction(spots, ports), Direction(()))


def _shape(running: Network, wanted: Transfer) -> None:
    """Divide the path at the capture in the middle."""
    delay = float(wanted.link["delay"][:-2])
    parts = [f"{delay * part:.3f}ms" for part in (wanted.near, 1 - wanted.near)]
    narrow = {"loss": "0%", "jitter": "0ms", **wanted.link}
    for port, part, is_narrow in zip(
        TO_RECEIVER, parts, (wanted.before, not wanted.before), strict=True
    ):
        values = narrow if is_narrow else _FAST
        _ports(running, (port,)).change(**{**values, "delay": part})
    for port, part in zip(TO_SENDER, reversed(parts), strict=True):
        values = {**_FAST, "bandwidth": wanted.link["bandwidth"], "delay": part}
        _ports(running, (port,)).change(**values)


@contextmanager
def _policed(running: Network, wanted: Transfer) -> Iterator[None]:
    """Drop what exceeds the token bucket, where packets enter the slowest link's router."""
    if not wanted.policer:
        yield
        return
    name, (rate, burst) = "r2-eth1" if wanted.before else "r1-eth1", wanted.policer
    police = f"police rate {rate}bit burst {burst}b conform-exceed drop"
    add, drop = "tc qdisc add dev", f"tc filter add dev {name} ingress matchall action {police}"
    _in_router(running, name, f"{add} {name} ingress && {drop}")
    yield
    _in_router(running, name, f"tc qdisc del dev {name} ingress")


def _in_router(running: Network, interface: str, command: str) -> None:
    """Let h2 enter the router's namespace: programs start in hosts only."""
    enter = f"nsenter -n -t ${{each#/proc/}} /bin/sh -c '{command}'"
    found = f"grep -q {interface}: $each/net/dev && exec {enter}"
    running.h2.run(["/bin/sh", "-c", f"for each in /proc/[0-9]*; do {found}; done"])


def transfer(running: Network, wanted: Transfer, port: int) -> None:
    """Let h2 serve h1 once."""
    _shape(running, wanted)
    words = [f"{name}={value}" for name, value in wanted.server.items()]
    words += [f"port={port}", f"control={wanted.control}"]
    server = None
    if wanted.server:
        server = running.h2.start([sys.executable, _PROGRAM, "serve", *words], port=port)
    told = {"port": port, "bytes": wanted.server.get("bytes", 0), **wanted.client}
    words = [f"{name}={value}" for name, value in told.items()]
    if wanted.down:
        broken = _ports(running, wanted.lost or (*TO_RECEIVER, *TO_SENDER))
        broken.down(at=wanted.down[0], for_=wanted.down[1])
    setting = f"echo {int(wanted.scaled)} > /proc/sys/net/ipv4/tcp_window_scaling"
    running.h1.run(["/bin/sh", "-c", setting])
    with _policed(running, wanted):
        running.h1.start([sys.executable, _PROGRAM, "ask", *words]).wait("10min")
    if server:
        server.signal("SIGTERM")
    running.sleep("100s" if wanted.down and wanted.down[1] == 100 else "3s")


def judged(cause: Cause, each: int, seed: int) -> Iterator[tuple[str, ConnectionFacts]]:
    """Yield the connections of a cause and their place, but for captures behind a SYN's loss."""
    for first in range(0, each, _BATCH):
        yield from _of_guest(cause, min(_BATCH, each - first), Random(f"{cause} {seed} {first}"))


def _of_guest(cause: Cause, count: int, draw: Random) -> Iterator[tuple[str, ConnectionFacts]]:
    shape, seed = chain(2, channel(delay="1ms")), draw.randrange(1, 10**6)
    with (
        tempfile.TemporaryDirectory() as folder,
        network(shape, seed=seed, out=Path(folder) / "run", captures=(_MIDDLE,)) as running,
    ):
        for number in range(count):
            transfer(running, drawn(cause, draw), 2000 + number)
        running.order("packets")
        for place, interface in PLACES.items():
            read = flows.read(running.out / f"{interface}.pcap", packets=True)
            for facts in of_reading(read).facts():
                if cause != Cause.LOST_SYN or facts.row["syns_a2b"] + facts.row["syns_b2a"] > 2:
                    yield place, facts


def main(each: int, seed: int, causes: str, show: bool) -> None:
    """Print a line per cause and place: how many verdicts are right, and what the others are."""
    wanted = [Cause(word) for word in causes.split(",")] if causes else list(SCENARIOS)
    for cause in wanted:
        found: dict[str, Counter[str]] = {place: Counter() for place in PLACES}
        for place, facts in judged(cause, each, seed):
            said = verdict(facts)
            found[place][said.cause] += 1
            if show and said.cause != cause:
                print(f"  {place} {facts.number}: {said.sentence}")
        for place, counts in found.items():
            others = ", ".join(f"{name} {n}" for name, n in counts.most_common() if name != cause)
            right = f"{counts[cause]} of {counts.total()}"
            print(f"{cause:20} {place:9} {right:10} {others}", flush=True)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--causes", default="")
    parser.add_argument("--show", action="store_true")
    main(**vars(parser.parse_args()))
