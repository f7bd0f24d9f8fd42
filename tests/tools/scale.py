"""Growth of a guest's cost with its hosts, flows, rate and duration, and of two guests at once.

    .venv/bin/python -m tests.tools.scale --times 3

Each series changes one thing. The sizes of a series take turns, so that a change of the machine's
speed meets all of them, and the figure of a size is the median of its runs. No packets are
captured: captures cost by the packet.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from experiments import sack
from experiments.run.seed import PROCEDURE
from experiments.spec import Condition, ExperimentSpec, Flow
from testbed.host.supervise import Limits, Usage
from testbed.lab.ready import Lab, lab
from testbed.virtual.run import run_in_guest
from topologies.data import to_data
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate

_TICKS = os.sysconf("SC_CLK_TCK")
_WALL_SECONDS = 600.0
_LONG = 20.0  # seconds of wall time
_SHORTEST_QUEUE = 200  # packets
_QUEUE_OF_A_FLOW = 20  # packets: the first flight of every flow fits, so that all of them start
_QUEUE_OF_A_MBIT = 2  # packets: a round trip of 20 ms and more, so one flow can fill the link


@dataclass(frozen=True)
class NetworkSize:
    """A dumbbell of `hosts` hosts, with `flows` flows in turn over its pairs.

    The bottleneck has `rate` Mbit/s, and all flows send for `seconds`.
    """

    hosts: int = 2
    flows: int = 1
    rate: int = 10
    seconds: int = 1

    def spec(self) -> ExperimentSpec:
        pairs = self.hosts // 2
        queue = Packets(
            max(_SHORTEST_QUEUE, _QUEUE_OF_A_FLOW * self.flows, _QUEUE_OF_A_MBIT * self.rate)
        )
        topology = dumbbell(
            pairs, Channel(Rate(self.rate * 10**6), Duration.parse("10ms"), queue=queue)
        )
        flows = tuple(self._flow(number, pairs) for number in range(self.flows))
        return ExperimentSpec("scale", "", topology, flows, (Condition("only", "only"),))

    def _flow(self, number: int, pairs: int) -> Flow:
        pair, port = number % pairs + 1, 5001 + number // pairs
        return Flow(
            f"flow{number + 1}", f"h{pair}", f"r{pair}", Duration(self.seconds * 10**9), port=port
        )

    def memory_mib(self) -> int:
        """MiB for a guest, generously: one without memory stands still."""
        return 1024 + 2 * self.hosts + 3 * self.flows


@dataclass(frozen=True)
class SizeCost:
    """What one size took, in seconds, bytes and packets.

    `startup_` is until the network stood, `cpu` in all. `packets` are those that left the
    bottleneck, both ways; `results` the flows whose receiver has a result.
    """

    startup_cpu: float
    startup_wall: float
    cpu: float
    usage: Usage
    packets: int
    results: int

    @property
    def after_cpu(self) -> float:
        return self.cpu - self.startup_cpu

    @property
    def after_wall(self) -> float:
        return self.usage.wall_seconds - self.startup_wall


SERIES = {
    "hosts": [NetworkSize(hosts=number) for number in (2, 20, 50, 100, 200)],
    "flows": [
        NetworkSize(hosts=20, flows=number, rate=100, seconds=2) for number in (1, 10, 100, 1000)
    ],
    "rate": [NetworkSize(rate=number, seconds=10) for number in (1, 10, 100, 1000)],
    "seconds": [NetworkSize(seconds=number) for number in (1, 10, 100)],
}
"""The sizes of each series, by the field of NetworkSize that grows."""


def measured(sizes: list[NetworkSize], times: int, ready: Lab) -> list[SizeCost]:
    """Measure each size in turns; a size that takes long (_LONG) once. Return the medians."""
    rounds: list[list[SizeCost]] = [[] for _ in sizes]
    for _ in range(times):
        for size, readings in zip(sizes, rounds, strict=True):
            if not readings or readings[0].usage.wall_seconds < _LONG:
                readings.append(_read(size, ready))
    return [_median(readings) for readings in rounds]


def _median(readings: list[SizeCost]) -> SizeCost:
    return sorted(readings, key=lambda reading: reading.cpu)[len(readings) // 2]


def _read(shape: NetworkSize, ready: Lab) -> SizeCost:
    """What one guest cost.

    Start-up and the CPU in the end are read within a twentieth of a second.
    """
    begun = time.monotonic()
    seen: list[tuple[float, float]] = []  # CPU and wall seconds, from the moment the network stands

    def progress(phase: str, _elapsed: float) -> None:
        if phase == "only" and (cpu := _guest_cpu()):
            seen.append((cpu, time.monotonic() - begun))

    limits = Limits(_WALL_SECONDS, shape.memory_mib())
    with tempfile.TemporaryDirectory() as folder:
        usage = run_in_guest(
            ready, PROCEDURE, to_data(shape.spec()), 1, Path(folder), progress, limits
        )
        only = Path(folder) / "only"
        outputs = [file.read_text() for file in only.glob("*.server.txt")]
        results = sum("bits/sec" in text for text in outputs)
        return SizeCost(*seen[0], max(seen)[0], usage, _packets(only / "qdiscs.json"), results)


def _guest_cpu() -> float:
    """CPU seconds so far of the running processes that this thread has started: the guest."""
    return sum(_cpu(child) for child in Path("/proc/thread-self/children").read_text().split())


def _cpu(pid: str) -> float:
    """CPU seconds of a process, its descendants, and those they have waited for.

    Nanoseconds of the living (schedstat): the ticks of stat would hide up to 10 ms of each of
    hundreds of processes.
    """
    folder = Path("/proc", pid)
    try:
        own = int((folder / "schedstat").read_text().split()[0]) / 1e9
        waited_for = (folder / "stat").read_text().rpartition(")")[2].split()[13:15]
        children = (folder / "task" / pid / "children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # it ended between two looks
        return 0.0
    return (
        own
        + sum(int(ticks) for ticks in waited_for) / _TICKS
        + sum(_cpu(child) for child in children)
    )


def _packets(qdiscs: Path) -> int:
    readings = json.loads(qdiscs.read_text())
    sums = {
        when: sum(row["packets"] for rows in ports.values() for row in rows if row.get("root"))
        for when, ports in readings.items()
    }
    return int(sums["after"] - sums["before"])


def two_at_once(times: int, ready: Lab) -> float:
    """Return the median ratio of guests a second: two at once to one at a time.

    Each guest is pinned to a processor, so the ratio is that of two processors to one.
    """
    data = to_data(sack.experiment(sack.SackParameters()))
    return statistics.median(
        _seconds(data, 1, ready) / _seconds(data, 2, ready) for _ in range(times)
    )


def _seconds(data: object, at_once: int, ready: Lab) -> float:
    """Return the wall seconds of two guests, `at_once` at a time."""

    def run(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_in_guest(
                ready, PROCEDURE, data, seed, Path(folder), lambda _phase, _elapsed: None, Limits()
            )

    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(run, (1, 2)))
    return time.monotonic() - begun


def fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return (fixed cost, cost of one more) of the line with the least relative deviations.

    Costs span three orders of magnitude, and the smallest determine the fixed part.
    """
    weights = [1 / cost**2 for _, cost in points]
    total = sum(weights)
    middle = sum(w * size for w, (size, _) in zip(weights, points, strict=True)) / total
    height = sum(w * cost for w, (_, cost) in zip(weights, points, strict=True)) / total
    along = sum(w * (size - middle) ** 2 for w, (size, _) in zip(weights, points, strict=True))
    both = sum(
        w * (size - middle) * (cost - height)
        for w, (size, cost) in zip(weights, points, strict=True)
    )
    each = both / along
    return height - each * middle, each


def main(times: int) -> None:
    """Print each series and the growth of its CPU seconds."""
    ready = lab()
    for grows, sizes in SERIES.items():
        costs = measured(sizes, times, ready)
        for size, cost in zip(sizes, costs, strict=True):
            print(
                f"{grows} {getattr(size, grows)}: start-up {cost.startup_cpu:.2f} CPU s,", end=" "
            )
            print(
                f"then {cost.after_cpu:.2f}, wall {cost.startup_wall + cost.after_wall:.2f} s,",
                end=" ",
            )
            print(f"{cost.usage.memory / 1e6:.0f} MB, {cost.packets:,} packets,", end=" ")
            print(f"results of {cost.results} of {size.flows} flows")
        numbers = [float(getattr(size, grows)) for size in sizes]
        fixed, each = fit(list(zip(numbers, [cost.cpu for cost in costs], strict=True)))
        memory = fit(list(zip(numbers, [cost.usage.memory for cost in costs], strict=True)))[1]
        print(f"{grows}: {fixed:.3f} CPU s and {each:.6f} for each, {memory:,.0f} bytes for each")
    print(f"two guests at once: {two_at_once(times, ready):.2f} times as many runs a second")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    main(**vars(parser.parse_args()))
