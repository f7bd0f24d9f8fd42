"""Sweeps carried out: unknown points go to the engine, all results into one folder of the store."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from analysis.measures.together import standing
from analysis.statistics.paired_tests import precision
from experiments.harness.definition.grid import Combination
from experiments.harness.running.lab import for_page, lab_facts
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep.plan import Plan
from experiments.harness.sweep.point import Origin, Point
from experiments.harness.sweep.results import write_results
from experiments.harness.sweep.store import PointStore, results
from experiments.harness.sweep.table import EndedPoints
from experiments.harness.sweep.workers import PointRunner, Watch, run_points

FOLDER = "sweeps"
_BATCH = 10  # seeds between two looks at the intervals, if --until decides


def carry_out(plan: Plan, out: Path, way: PointRunner, watch: Watch) -> Path:
    """Run the points that are not known yet, and return the finished folder.

    It holds rows.csv and sweep.json. Raises TcplabError if a point cannot be run or a file cannot
    be written. Finished points are kept in any case: the same plan continues.
    """
    with results(out) as memory:
        sweep = _SweepRun(plan, way, memory, watch, plan.origin(way.lab))
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
