"""How the cost of a guest grows with its hosts, its flows, their rate and their duration.

Each series changes one thing. The sizes of a series take turns, so that a change of the machine's
speed meets all of them, and the figure of a size is the median of its runs. Nothing is captured:
captures cost by the packet.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from experiments.harness.bench.workloads import sack_study
from experiments.harness.running.seed import PROCEDURE
from experiments.spec import Condition, ExperimentSpec, Flow
from testbed.jobs.following import Limits, Usage
from testbed.lab.ready import Lab
from testbed.virtual.run import run_in_guest
from topologies.dumbbell import dumbbell
from topologies.foundation.data import to_data
from topologies.foundation.units import Duration, Packets, Rate
from topologies.topology_spec import Channel

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


@dataclass(frozen=True)
class GrowthSeries:
    """One thing that grows: the name of its field in NetworkSize, and all its sizes."""

    grows: str
    shapes: tuple[NetworkSize, ...]

    def sizes(self) -> list[int]:
        return [int(getattr(shape, self.grows)) for shape in self.shapes]


def all_series(quick: bool) -> tuple[GrowthSeries, ...]:
    """All series that are measured, or `quick` ones that take under a minute."""
    hosts = (2, 20, 50) if quick else (2, 20, 50, 100, 200)
    flows = (1, 10, 50) if quick else (1, 10, 100, 1000)
    rates = (1, 10, 100) if quick else (1, 10, 100, 1000)
    durations = (1, 10, 50) if quick else (1, 10, 100)
    return (
        GrowthSeries("hosts", tuple(NetworkSize(hosts=number) for number in hosts)),
        GrowthSeries(
            "flows",
            tuple(NetworkSize(hosts=20, flows=number, rate=100, seconds=2) for number in flows),
        ),
        GrowthSeries("rate", tuple(NetworkSize(rate=number, seconds=10) for number in rates)),
        GrowthSeries("seconds", tuple(NetworkSize(seconds=number) for number in durations)),
    )


def measured(
    series: GrowthSeries, times: int, ready: Lab, tell: Callable[[str], None]
) -> list[SizeCost]:
    """The median reading of every size. A size that takes long (_LONG) is measured once."""
    rounds: list[list[SizeCost]] = [[] for _shape in series.shapes]
    for turn in range(times):
        for shape, readings in zip(series.shapes, rounds, strict=True):
            if not readings or readings[0].usage.wall_seconds < _LONG:
                tell(f"{series.grows} {getattr(shape, series.grows)}, {turn + 1} of {times}")
                readings.append(_read(shape, ready))
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


def two_at_once(times: int, ready: Lab, tell: Callable[[str], None]) -> float:
    """How many times as many guests end in a second if two run at once as if one does.

    The median of `times`. Each guest is pinned to a processor of its own, so the ratio is that of
    two processors of this machine to one.
    """
    data = to_data(sack_study())
    ratios = []
    for turn in range(times):
        tell(f"one guest and two at once, {turn + 1} of {times}")
        ratios.append(_seconds(data, 1, ready) / _seconds(data, 2, ready))
    return statistics.median(ratios)


def _seconds(data: object, at_once: int, ready: Lab) -> float:
    """Wall seconds that two guests take, `at_once` at a time."""

    def run(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_in_guest(
                ready, PROCEDURE, data, seed, Path(folder), lambda _phase, _elapsed: None, Limits()
            )

    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(run, (1, 2)))
    return time.monotonic() - begun
