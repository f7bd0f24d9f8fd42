"""Sweeps carried out: unknown points go to the engine, all results into one folder of the store.

Sweeps from Python.

The table of a sweep is a Polars frame, for who has it installed:

    import polars
    import tcplab

    grid = {"delay": ["10ms", "50ms"], "cc": ["cubic", "bbr"]}
    result = tcplab.sweep("cubic_vs_reno", grid, seeds=30)
    result.table.group_by("delay", "cc").agg(polars.col("goodput_kbit_s").median())
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from analysis.measures.selection import standing
from analysis.measures.sweep_folder import read_rows, read_sweep
from analysis.records.json_reader import Problems
from analysis.statistics.paired_tests import precision
from analysis.table import ColumnTable
from experiments.run.seed import needed_mib
from experiments.run.session import for_page, lab_facts
from experiments.run.store import Facts, RunFolder, result_folder
from experiments.spec import ExperimentSpec
from experiments.study.grid import Combination
from experiments.sweep.definition import Plan, from_mapping, plan
from experiments.sweep.point import (
    CAPTURES,
    ROWS,
    Origin,
    Point,
    Record,
    carry_captured,
    carry_rows,
)
from experiments.sweep.results import EndedPoints, write_results
from experiments.sweep.store import PointStore, results
from testbed.engine import Done, Engine, Listener, Task, local_engine, require_cluster_extra
from testbed.engine.certificates import require_tls
from testbed.host.processes import guests_at_once
from testbed.lab.ready import Lab, lab_for

if TYPE_CHECKING:
    import polars


_CARRIES = {ROWS: carry_rows, CAPTURES: carry_captured}


class Watch(Listener):
    """The progress of a sweep, which this class ignores; subclasses show it."""

    def wanted(self, points: int, reused: int) -> None:
        """Called when `points` are wanted, of which `reused` were known already."""

    def ended(self, point: Point, record: Record) -> None:
        """Called after each point."""


@dataclass(frozen=True)
class PointRunner:
    """Runs points on guests of this machine or of a cluster; each record is stored.

    `engine` opens an engine, which is called only if a point has to be run. `slots` guests run in
    parallel; a cluster has None.
    """

    lab: Lab
    engine: Callable[[Listener], AbstractContextManager[Engine]]
    workers: str
    wall_seconds: float = 600.0
    force: bool = False
    slots: int | None = None

    def run(
        self,
        points: Iterable[Point],
        store: PointStore,
        watch: Watch,
        carry: Callable[..., Record] | None = None,
    ) -> Iterator[tuple[Point, Record]]:
        """Run these points, in about this order, and yield each with its record.

        The engine starts with the first point. A worker calls `carry(data, seed, wall_seconds, lab,
        progress)` for a point.
        """
        by_key = {point.key: point for point in points}
        if not by_key:
            return
        with self.engine(watch) as engine:
            for done in engine.run(self._task(point, carry) for point in by_key.values()):
                point = by_key[done.key]
                record = done.value if done.error is None else _broken(done)
                store.add(point.combination.spec.name, point, record)
                watch.ended(point, record)
                yield point, record

    def run_missing(
        self, points: Sequence[Point], store: PointStore, watch: Watch
    ) -> Iterator[tuple[Point, Record]]:
        """Yield each point's record: first the known ones, then the others as they are run."""
        known = store.done(point.key for point in points)
        watch.wanted(len(points), len(known))
        yield from ((point, known[point.key]) for point in points if point.key in known)
        yield from self.run((point for point in points if point.key not in known), store, watch)

    def _task(self, point: Point, carry: Callable[..., Record] | None) -> Task:
        if metric := point.origin.metric:
            carry = partial(carry_rows, metric=metric)
        carry = carry or _CARRIES[point.origin.measures]
        return Task(point.key, carry, (point.combination.data, point.seed, self.wall_seconds))


def runner_for(
    ready: Lab,
    specs: Iterable[ExperimentSpec],
    workers: int | None = None,
    scheduler: str | None = None,
) -> PointRunner:
    """Return the runner on guests of this machine, or through a scheduler on those of a cluster.

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


def _broken(done: Done) -> Record:
    """Return the record of a point without one, such as after three lost workers."""
    problem = f"{type(done.error).__name__}: {done.error}"
    return {"status": "failed", "problem": problem, "log": done.trace, "rows": [], "warnings": []}


FOLDER = "sweeps"
_BATCH = 10  # seeds between two looks at the intervals, if --until decides


def carry_out(plan: Plan, out: Path, runner: PointRunner, watch: Watch) -> Path:
    """Run the points that are not known yet, and return the finished folder.

    It holds rows.csv and sweep.json. Raises TcplabError if a point cannot be run or a file cannot
    be written. Finished points are kept in any case: the same plan continues.
    """
    with results(out) as memory:
        sweep = _SweepRun(plan, runner, memory, watch, plan.origin(runner.lab))
        with result_folder(out / FOLDER, plan.named.name, sweep.write) as run:
            sweep.fill()
    return run.place


@dataclass
class _SweepRun:
    """A plan on its way: the points by their keys, and which of them ended."""

    plan: Plan
    runner: PointRunner
    memory: PointStore
    watch: Watch
    source: Origin
    points: dict[str, Point] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    reused: int = 0

    def fill(self) -> None:
        """Run batches of seeds until no combination needs another seed."""
        sweep, seeds = self.plan.sweep, iter(self.plan.sweep.seeds)
        widths = _IntervalWidths(sweep.metric, sweep.transport)
        open_combinations = list(self.plan.combinations)
        batch = _BATCH if sweep.until else len(sweep.seeds)
        while open_combinations and (chosen := list(islice(seeds, batch))):
            points = [
                self.source.point(combination, seed)
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
        known = set() if self.runner.force else self.memory.known(keys)
        self.ended |= known
        self.reused += len(known)
        self.watch.wanted(len(self.points), self.reused)
        missing = [point for point in points if point.key not in known]
        for point, _ in self.runner.run(missing, self.memory, self.watch):
            self.ended.add(point.key)

    def write(self, run: RunFolder, timing: Facts) -> dict[str, Any]:
        """Write the files of the sweep, and return its manifest."""
        plan, lab = self.plan, self.runner.lab
        # By combination and seed, whatever the order in which the points ended.
        place = {id(combination): index for index, combination in enumerate(plan.combinations)}
        points = [self.points[key] for key in self.ended]
        points.sort(key=lambda point: (place[id(point.combination)], point.seed))
        ended = EndedPoints(self.memory, points)
        facts = {**timing, "workers": self.runner.workers}
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
    transport: str
    of_runs: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, points: EndedPoints) -> None:
        """Add the mean over the flows of each of these runs."""
        for point, record in points:
            for condition in point.combination.spec.conditions:
                rows = [row for row in record["rows"] if row["condition"] == condition.name]
                values = [row[self.metric] for row in standing(rows, self.transport)]
                if values and None not in values:
                    self.of_runs[id(point.combination), condition.name].append(fmean(values))

    def widest(self, combination: Combination) -> float:
        """Return the widest interval as a share of its median; infinite if one is unknown."""
        widths = (
            precision(self.of_runs[id(combination), condition.name])
            for condition in combination.spec.conditions
        )
        return max(math.inf if width is None else width for width in widths)


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep: its folder, and the tidy table of docs/guides/sweeps.md."""

    folder: Path

    @cached_property
    def columns(self) -> ColumnTable:
        """The table as NumPy's arrays."""
        return read_rows(read_sweep(self.folder, Problems()))

    @cached_property
    def table(self) -> polars.DataFrame:
        """The table as a data frame of Polars. Raises UsageError if Polars is not installed."""
        return self.columns.to_polars()


def sweep(
    experiment: str,
    settings: Mapping[str, str | Sequence[str]] | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    out: Path | str = "runs",
    workers: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    watch: Watch | None = None,
    **more: Any,
) -> SweepResult:
    """Run a sweep; `until`, `metric` and `compare` are further arguments, as in a TOML file.

    Raises UsageError before the first run if a name or a combination is impossible.
    """
    content = {"experiment": experiment, "set": dict(settings or {}), "seeds": seeds, **more}
    planned, out = plan(from_mapping(content, "The sweep")), Path(out)
    ready = lab_for(spec.kernel for spec in planned.specs)
    runner = replace(runner_for(ready, planned.specs, workers, scheduler), force=force)
    folder = carry_out(planned, out, runner, watch or Watch())
    return SweepResult(folder)
