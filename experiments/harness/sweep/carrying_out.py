"""A plan carried out: unknown points go to the engine, all results into one folder of the store."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from analysis.statistics.paired_tests import precision
from experiments.harness.definition.grid import Combination
from experiments.harness.running.lab import for_page, lab_facts
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep.ended_points import EndedPoints
from experiments.harness.sweep.plan import Plan
from experiments.harness.sweep.point import Point, origin
from experiments.harness.sweep.point_store import PointStore, results
from experiments.harness.sweep.running_points import PointRunner, Watch, run_points
from experiments.harness.sweep.writing_results import write_results

FOLDER = "sweeps"
_BATCH = 10  # seeds between two looks at the intervals, if --until decides


@dataclass
class _Progress:
    """How far a plan is: the points by their keys, and which of them ended."""

    plan: Plan
    points: dict[str, Point] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    reused: int = 0

    def in_order(self, memory: PointStore) -> EndedPoints:
        """By combination and seed, whatever the order in which the points ended."""
        place = {id(combination): index for index, combination in enumerate(self.plan.combinations)}
        ended = [self.points[key] for key in self.ended]
        ended.sort(key=lambda point: (place[id(point.combination)], point.seed))
        return EndedPoints(memory, ended)


def carry_out(plan: Plan, out: Path, way: PointRunner, watch: Watch) -> Path:
    """Run what is not known, and return the finished folder.

    It holds rows.csv and sweep.json.

    Raises TcplabError if nothing can be run or written. What was run is kept in any case: the
    same plan goes on.
    """
    progress = _Progress(plan)
    with results(out) as memory:
        write = partial(_write, progress, way, memory)
        with result_folder(out / FOLDER, plan.named.name, write) as run:
            _fill(plan, way, memory, progress, watch)
    return run.place


def _write(
    progress: _Progress, way: PointRunner, memory: PointStore, run: RunFolder, timing: Facts
) -> dict[str, Any]:
    """The files of a sweep, and its manifest."""
    plan, ended = progress.plan, progress.in_order(memory)
    facts = {**timing, "workers": way.workers}
    of_page = {"id": run.identifier, **for_page(way.lab), **facts}
    write_results(run.folder, plan, ended, len(progress.points), progress.reused, of_page)
    return {
        "kind": "sweep",
        "experiment": plan.named.name,
        "claim": plan.named.claim,
        **lab_facts(way.lab),
        **facts,
        "seeds": sorted({point.seed for point in progress.points.values()}),
        "virtual_seconds": round(ended.usage["clock_seconds"], 3),
    }


def _fill(
    plan: Plan, way: PointRunner, memory: PointStore, progress: _Progress, watch: Watch
) -> None:
    """Round by round until no combination needs another seed.

    The engine starts with the first point to run.
    """
    source, metric = origin(way.lab), _MetricValues(plan.sweep.metric)
    seeds = iter(plan.sweep.seeds)
    open_combinations = list(plan.combinations)
    batch = _BATCH if plan.sweep.until else len(plan.sweep.seeds)
    while open_combinations and (chosen := list(islice(seeds, batch))):
        points = [
            source.point(combination, seed) for seed in chosen for combination in open_combinations
        ]
        _carry(points, way, memory, progress, watch)
        if plan.sweep.until is None:
            return
        metric.add(EndedPoints(memory, points))
        open_combinations = [
            combination
            for combination in open_combinations
            if metric.width(combination) > plan.sweep.until
        ]


def _carry(
    points: Sequence[Point],
    way: PointRunner,
    memory: PointStore,
    progress: _Progress,
    watch: Watch,
) -> None:
    """Run those of the points that are not known."""
    progress.points |= {point.key: point for point in points}
    known = set() if way.force else memory.known(point.key for point in points)
    progress.ended |= known
    progress.reused += len(known)
    watch.wanted(len(progress.points), progress.reused)
    missing = [point for point in points if point.key not in known]
    for point, _ in run_points(missing, way, memory, watch):
        progress.ended.add(point.key)


@dataclass
class _MetricValues:
    """What decides on another round: a metric's value in each run, by combination and condition."""

    metric: str
    of_runs: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, points: EndedPoints) -> None:
        """The mean over the flows of each of these runs."""
        for point, record in points:
            for condition in point.combination.spec.conditions:
                rows = (row for row in record["rows"] if row["condition"] == condition.name)
                values = [row[self.metric] for row in rows]
                if values and None not in values:
                    self.of_runs[id(point.combination), condition.name].append(fmean(values))

    def width(self, combination: Combination) -> float:
        """The widest interval of a condition's median, as a share of it; infinite if unknown."""
        widths = (
            precision(self.of_runs[id(combination), condition.name])
            for condition in combination.spec.conditions
        )
        return max(math.inf if width is None else width for width in widths)
