"""What runs cost on this machine: virtual seconds per CPU second and CPU microseconds per packet.

Absolute figures belong to the machine and the moment; compare figures of one printed table.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from experiments import sack
from experiments.harness.running.seed import PROCEDURE
from experiments.spec import Condition, ExperimentSpec, Flow
from testbed.jobs.following import Limits, Progress, Usage
from testbed.lab.ready import Lab, lab
from testbed.native.run import obstacles, run_natively
from testbed.virtual.run import run_in_guest
from topologies.foundation.data import to_data
from topologies.foundation.units import Duration, Packets, Rate
from topologies.topology_spec import Channel
from topologies.two_hosts import two_hosts

_LIMITS = Limits(wall_seconds=900)
_PACKETS = re.compile(r"(\d+) packets captured")


@dataclass(frozen=True)
class WorkloadCost:
    """One workload: seconds until its network stood, and what the whole took.

    `packets` are those that reached the receiver.
    """

    workload: str
    startup_seconds: float
    usage: Usage
    packets: int

    @property
    def beyond_startup(self) -> float:
        return self.usage.wall_seconds - self.startup_seconds


def sack_study() -> ExperimentSpec:
    """The SACK study with its usual parameters: two runs of 20 s over a slow link."""
    return sack.experiment(sack.SackParameters())


def workloads() -> dict[str, ExperimentSpec]:
    """The SACK study as it is, and 100 Mbit/s for 20 s with and without a capture at both ends."""
    link = two_hosts(Channel(Rate.parse("100mbit"), Duration.parse("10ms"), queue=Packets(200)))
    flow = Flow("flow1", "h1", "h2", Duration.parse("20s"))
    fast = ExperimentSpec(
        "fast", "", link, (flow,), (Condition("only", "only"),), ("h1-eth0", "h2-eth0")
    )
    return {"sack: two runs of 20 s": sack_study(), "100 Mbit/s for 20 s": fast}


def measure(times: int, tell: Callable[[str], None]) -> list[WorkloadCost]:
    """Each workload `times` times on each testbed there is; the run with the median wall time."""
    ready = lab()
    costs = []
    for name, spec in workloads().items():
        tell(f"{name}, virtual")
        runs = [_once(name, spec, ready) for _ in range(times)]
        costs.append(sorted(runs, key=lambda cost: cost.usage.wall_seconds)[times // 2])
    if not obstacles():
        tell("sack, native")
        costs.append(_once("sack natively, in real time", sack_study(), None))
    return costs


def _once(name: str, spec: ExperimentSpec, ready: Lab | None) -> WorkloadCost:
    started, stood = time.monotonic(), [0.0]
    first = spec.conditions[0].label

    def progress(phase: str, _elapsed: float) -> None:
        if phase == first and not stood[0]:
            stood[0] = time.monotonic() - started

    with tempfile.TemporaryDirectory() as folder:
        usage = _run(spec, ready, Path(folder), progress)
        outputs = [file.read_text() for file in Path(folder).glob("*/h2-eth0.tcpdump.txt")]
    return WorkloadCost(
        name,
        stood[0],
        usage,
        sum(int(count) for text in outputs for count in _PACKETS.findall(text)),
    )


def _run(spec: ExperimentSpec, ready: Lab | None, out: Path, progress: Progress) -> Usage:
    if ready is None:
        return run_natively(PROCEDURE, to_data(spec), out, progress, _LIMITS)
    return run_in_guest(ready, PROCEDURE, to_data(spec), 1, out, progress, _LIMITS)


def table(costs: list[WorkloadCost]) -> Table:
    """The costs for a terminal, a column for each workload."""
    costs_table = Table("", *(cost.workload for cost in costs))
    rows: dict[str, Callable[[WorkloadCost], str]] = {
        "start-up (boot, Open vSwitch, Mininet), wall s": lambda cost: (
            f"{cost.startup_seconds:.2f}"
        ),
        "all that follows, wall s": lambda cost: f"{cost.beyond_startup:.2f}",
        "CPU s in all": lambda cost: f"{cost.usage.cpu_seconds:.2f}",
        "seconds of its own clock": lambda cost: f"{cost.usage.clock_seconds:.1f}",
        "of its own clock in a CPU second, s": lambda cost: (
            f"{cost.usage.clock_seconds / cost.usage.cpu_seconds:.1f}"
        ),
        "packets at the receiver": lambda cost: f"{cost.packets:,}",
        "CPU us a packet": lambda cost: f"{cost.usage.cpu_seconds / cost.packets * 1e6:.1f}",
        "memory, MB": lambda cost: f"{cost.usage.memory / 1e6:.0f}",
    }
    for name, figure in rows.items():
        costs_table.add_row(name, *(figure(cost) for cost in costs))
    return costs_table
