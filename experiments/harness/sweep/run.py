"""Sweeps carried out: unknown points go to the engine, all results into one folder of the store."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from analysis.statistics.paired_tests import precision
from experiments.harness.definition.grid import Combination
from experiments.harness.running.lab import for_page, lab_facts
from experiments.harness.running.seed import needed_mib
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep.measure import carry_captured, carry_rows
from experiments.harness.sweep.plan import Plan
from experiments.harness.sweep.point import CAPTURES, ROWS, Point, Record, origin
from experiments.harness.sweep.results import write_results
from experiments.harness.sweep.store import PointStore, results
from experiments.harness.sweep.table import EndedPoints
from experiments.spec import ExperimentSpec
from testbed.engine.certificates import require_tls
from testbed.engine.tasks import Done, Engine, Listener, Task, local_engine, require_cluster_extra
from testbed.host.capacity import guests_at_once
from testbed.lab.ready import Lab

FOLDER = "sweeps"
_BATCH = 10  # seeds between two looks at the intervals, if --until decides
_CARRIES = {ROWS: carry_rows, CAPTURES: carry_captured}


class Watch(Listener, Protocol):
    """A listener to the progress of a sweep."""

    def wanted(self, points: int, reused: int) -> None:
        """Hear that `points` are wanted now, of which `reused` were known already."""

    def ended(self, point: Point, record: Record) -> None:
        """Hear that a point has been run."""


@dataclass(frozen=True)
class PointRunner:
    """The way to workers. `engine` opens an engine; it is called only if a point has to be run.

    `slots` guests run in parallel; a cluster has None.
    """

    lab: Lab
    engine: Callable[[Listener], AbstractContextManager[Engine]]
    workers: str
    wall_seconds: float = 600.0
    force: bool = False
    slots: int | None = None


def carry_out(plan: Plan, out: Path, way: PointRunner, watch: Watch) -> Path:
    """Run the points that are not known yet, and return the finished folder.

    It holds rows.csv and sweep.json. Raises TcplabError if a point cannot be run or a file cannot
    be written. Finished points are kept in any case: the same plan continues.
    """
    with results(out) as memory:
        sweep = _SweepRun(plan, way, memory, watch)
        with result_folder(out / FOLDER, plan.named.name, sweep.write) as run:
            sweep.fill()
    return run.place


@dataclass
class _SweepRun:
    """A plan on its way: the points by their keys, and which of them ended."""

    plan: Plan
    way: PointRunner
    memory: PointStore
    watch: Watch
    points: dict[str, Point] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    reused: int = 0

    def fill(self) -> None:
        """Run batches of seeds until no combination needs another seed."""
        sweep, source = self.plan.sweep, origin(self.way.lab)
        widths, seeds = _IntervalWidths(sweep.metric), iter(sweep.seeds)
        open_combinations = list(self.plan.combinations)
        batch = _BATCH if sweep.until else len(sweep.seeds)
        while open_combinations and (chosen := list(islice(seeds, batch))):
            points = [
                source.point(combination, seed)
                for seed in chosen
                for combination in open_combinations
            ]
            self._run(points)
            if sweep.until is None:
                return
            widths.add(EndedPoints(self.memory, points))
            open_combinations = [
                combination
                for combination in open_combinations
                if widths.widest(combination) > sweep.until
            ]

    def _run(self, points: Sequence[Point]) -> None:
        """Run the points that are not known."""
        self.points |= {point.key: point for point in points}
        keys = (point.key for point in points)
        known = set() if self.way.force else self.memory.known(keys)
        self.ended |= known
        self.reused += len(known)
        self.watch.wanted(len(self.points), self.reused)
        missing = [point for point in points if point.key not in known]
        for point, _ in run_points(missing, self.way, self.memory, self.watch):
            self.ended.add(point.key)

    def write(self, run: RunFolder, timing: Facts) -> dict[str, Any]:
        """Write the files of the sweep, and return its manifest."""
        plan, lab = self.plan, self.way.lab
        # By combination and seed, whatever the order in which the points ended.
        place = {id(combination): index for index, combination in enumerate(plan.combinations)}
        points = [self.points[key] for key in self.ended]
        points.sort(key=lambda point: (place[id(point.combination)], point.seed))
        ended = EndedPoints(self.memory, points)
        facts = {**timing, "workers": self.way.workers}
        of_page = {"id": run.identifier, **for_page(lab), **facts}
        write_results(run.folder, plan, ended, len(self.points), self.reused, of_page)
        return {
            "kind": "sweep",
            "experiment": plan.named.name,
            "claim": plan.named.claim,
            **lab_facts(lab),
            **facts,
            "seeds": sorted({point.seed for point in self.points.values()}),
            "virtual_seconds": round(ended.usage["clock_seconds"], 3),
        }


@dataclass
class _IntervalWidths:
    """Intervals that decide on another batch: values of a metric by combination and condition."""

    metric: str
    of_runs: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, points: EndedPoints) -> None:
        """Add the mean over the flows of each of these runs."""
        for point, record in points:
            for condition in point.combination.spec.conditions:
                rows = (row for row in record["rows"] if row["condition"] == condition.name)
                values = [row[self.metric] for row in rows]
                if values and None not in values:
                    self.of_runs[id(point.combination), condition.name].append(fmean(values))

    def widest(self, combination: Combination) -> float:
        """Return the widest interval as a share of its median; infinite if one is unknown."""
        widths = (
            precision(self.of_runs[id(combination), condition.name])
            for condition in combination.spec.conditions
        )
        return max(math.inf if width is None else width for width in widths)


def way_to_workers(
    ready: Lab,
    specs: Iterable[ExperimentSpec],
    workers: int | None = None,
    scheduler: str | None = None,
) -> PointRunner:
    """Return the way to guests of this machine, or through a scheduler to those of a cluster.

    `workers` guests run in parallel on this machine, by default as many as it has room for. Raises
    UsageError if the scheduler's address is not tls://.
    """
    if scheduler:
        require_tls(scheduler)
        require_cluster_extra()
        from testbed.engine.cluster import cluster_engine  # late: only a cluster needs Dask

        return PointRunner(ready, partial(cluster_engine, scheduler, ready), f"cluster {scheduler}")
    slots = guests_at_once(max(map(needed_mib, specs)), workers)
    return PointRunner(
        ready, partial(local_engine, ready, slots), f"{slots} on this machine", slots=slots
    )


def run_points(
    points: Sequence[Point],
    way: PointRunner,
    memory: PointStore,
    watch: Watch,
    carry: Callable[..., Record] | None = None,
) -> Iterator[tuple[Point, Record]]:
    """Run these points, in about this order; each record is stored and then yielded.

    The engine starts with the first point. A worker calls `carry(data, seed, wall_seconds, lab,
    progress)` for a point.
    """
    if not points:
        return
    by_key = {point.key: point for point in points}
    with way.engine(watch) as engine:
        for done in engine.run(_task(point, way, carry) for point in by_key.values()):
            point, record = by_key[done.key], done.value if done.error is None else _broken(done)
            memory.add(point.combination.spec.name, point, record)
            watch.ended(point, record)
            yield point, record


def known_and_run(
    points: Sequence[Point], way: PointRunner, memory: PointStore, watch: Watch
) -> Iterator[tuple[Point, Record]]:
    """Yield each point's record: first those that are known, then the others as they are run."""
    known = memory.done(point.key for point in points)
    watch.wanted(len(points), len(known))
    yield from ((point, known[point.key]) for point in points if point.key in known)
    missing = [point for point in points if point.key not in known]
    yield from run_points(missing, way, memory, watch)


def _task(point: Point, way: PointRunner, carry: Callable[..., Record] | None) -> Task:
    carry = carry or _CARRIES[point.origin.measures]
    return Task(point.key, carry, (point.combination.data, point.seed, way.wall_seconds))


def _broken(done: Done) -> Record:
    """The record of a point without one, such as a point whose worker was lost three times."""
    problem = f"{type(done.error).__name__}: {done.error}"
    return {"status": "failed", "problem": problem, "log": done.trace, "rows": [], "warnings": []}
