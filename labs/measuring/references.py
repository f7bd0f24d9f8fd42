"""Repeated runs of students: carried out in limited processes, and cached by their content.

A module that was handed in is code of the guest, so the guest's folder is untrusted too: even its
progress is read in a limited process (labs.measuring.contained).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from msgspec import Struct, to_builtins

from experiments.harness.definition.grid import Combination
from experiments.harness.running.seed import carry_seed, limits_for
from experiments.harness.sweep.measure import carry_point
from experiments.harness.sweep.point import Origin, Point, Record, origin
from experiments.harness.sweep.store import PointStore
from experiments.harness.sweep.workers import PointRunner, Watch, run_points
from experiments.spec import ExperimentSpec
from labs.measuring.contained import Allowance, contained_as
from labs.measuring.measures import measured
from testbed.engine.tasks import Task
from testbed.host.scratch import scratch
from testbed.jobs.following import Progress
from testbed.lab.ready import Lab
from testbed.virtual.sandbox import MEMORY_FOLDER, own_folders
from topologies.foundation.data import from_data
from topologies.foundation.errors import TcplabError

_READING = 600.0
"""Seconds on top of the run's: to measure its files, and to build its module, for the first of
which a slow machine prepares the kernel's tree for minutes."""
_MORE = 2 << 30  # bytes of address space on top of the guest's memory


class CarriedRecord(Struct):
    """A record of a run of a lab, as it has to come out of its process."""

    status: Literal["complete", "unproved", "failed"]
    problem: str
    log: str
    rows: list[dict[str, Any]]
    warnings: list[str]
    usage: dict[str, int | float] = {}
    values: dict[str, dict[str, int | float]] = {}
    files: dict[str, str] = {}


def carry(data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    """Run a point and measure it; its files go."""
    empty: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    with scratch() as folder:
        try:
            words = (str(folder), data, seed, wall_seconds, lab)
            allowance = _allowance(data, wall_seconds)
            record = contained_as(
                CarriedRecord, _carried, *words, allowance=allowance, tell=progress
            )
            carried: Record = to_builtins(record)
            return empty | carried
        except TcplabError as error:
            return empty | {"problem": str(error)}


def carry_kept(
    raw: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> None:
    """Run a point and leave its raw files in the empty folder `raw`."""
    words = (raw, data, seed, wall_seconds, lab)
    allowance = _allowance(data, wall_seconds)
    contained_as(NoneType, _kept, *words, allowance=allowance, tell=progress)


def _allowance(data: Any, wall_seconds: float) -> Allowance:
    limits = limits_for(from_data(ExperimentSpec, data), wall_seconds)
    # Without namespaces the guest's memory is a file that counts.
    file = max(Allowance.file, own_folders(limits)[MEMORY_FOLDER])
    return Allowance(wall_seconds + _READING, (limits.memory_mib << 20) + _MORE, file)


def _kept(
    raw: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> None:
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    carry_seed(spec, seed, Path(raw), limits_for(spec, wall_seconds), lab, progress)


def _carried(
    folder: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress
) -> Record:
    raw = Path(folder) / "raw" / f"seed-{seed}"
    raw.mkdir(parents=True)
    return carry_point(raw, data, seed, wall_seconds, lab, progress, measured)


_MEASURES = "labs.measuring.measures"


@dataclass
class References:
    """The repeated runs of a class. `ask` for them all, then look them up."""

    way: PointRunner
    memory: PointStore
    watch: Watch
    records: dict[str, Record] = field(default_factory=dict)

    @cached_property
    def source(self) -> Origin:
        return origin(self.way.lab, _MEASURES)

    def point(self, combination: Combination, seed: int) -> Point:
        return self.source.point(combination, seed)

    def ask(self, points: Iterable[Point]) -> None:
        """Run what is not known."""
        wanted = {point.key: point for point in points}
        self.records |= self.memory.done(wanted)
        self.watch.wanted(len(wanted), len(wanted.keys() & self.records.keys()))
        missing = [point for key, point in wanted.items() if key not in self.records]
        for point, record in run_points(missing, self.way, self.memory, self.watch, carry):
            self.records[point.key] = record

    def keep(self, points: Iterable[Point], folder: Path) -> dict[str, str]:
        """Run these again and keep their files below `folder`, for a comparison of packets.

        Return the problem of each point that could not be repeated, by its key.
        """
        again = {point.key: point for point in points}
        if not again:
            return {}
        differing = f"Captures differ in {len(again):,} runs"
        self.watch.note(f"{differing}: these are repeated once more, to say where.")
        self.watch.wanted(len(self.records) + len(again), len(self.records))
        lost: dict[str, str] = {}
        with self.way.engine(self.watch) as engine:
            tasks = (self._kept(key, point, folder) for key, point in again.items())
            for done in engine.run(tasks):
                key = done.key.removeprefix("kept-")
                if done.error is not None:
                    lost[key] = str(done.error) or type(done.error).__name__
                status, problem = ("failed", lost[key]) if key in lost else ("complete", "")
                self.watch.ended(again[key], {"status": status, "problem": problem, "rows": []})
        return lost

    def _kept(self, key: str, point: Point, folder: Path) -> Task:
        data = point.combination.data
        raw = folder / place_of(data) / "raw" / f"seed-{point.seed}"
        raw.mkdir(parents=True)
        return Task(f"kept-{key}", carry_kept, (str(raw), data, point.seed, self.way.wall_seconds))


def place_of(data: Any) -> str:
    """Return a folder's name for what a spec asks."""
    return hashlib.sha256(repr(data).encode()).hexdigest()[:24]
