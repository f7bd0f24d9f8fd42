"""A student's run repeated: its measures and digests, remembered by what the run is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.harness.definition.grid import Combination
from experiments.harness.sweep.point import Origin, Point, Record, origin
from experiments.harness.sweep.point_store import PointStore
from experiments.harness.sweep.running_points import PointRunner, Watch, run_points
from labs.measuring.repeating import carry, carry_kept
from testbed.engine.tasks import Task

_MEASURES = "labs.measuring.lab_measures"


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
        self.watch.note(
            f"Captures differ in {len(again):,} runs: these are repeated once more, to say where."
        )
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
    """A folder's name for what a spec asks."""
    return hashlib.sha256(repr(data).encode()).hexdigest()[:24]
