"""A plan carried out: unknown points go to the engine, all results into one folder of the store."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import testbed
from analysis.records.sweep_rows import write_rows
from analysis.statistics.paired_tests import precision
from experiments.definition.catalogue import part
from experiments.definition.grid import Combination
from experiments.running.session import for_page, hand_over, lab_facts
from experiments.running.store import new_run
from experiments.sweep import network_verdicts, point_warnings, row_table
from experiments.sweep.plan import Plan, described
from experiments.sweep.point import Point, Record, origin
from experiments.sweep.point_store import PointStore, results
from experiments.sweep.published_values import Cell, published_of
from experiments.sweep.running_points import PointRunner, Watch, run_points

FOLDER = "sweeps"
_BATCH = 10  # seeds between two looks at the intervals, if --until decides


@dataclass
class _Progress:
    """What is known so far, by key."""

    plan: Plan
    records: dict[str, Record] = field(default_factory=dict)
    points: dict[str, Point] = field(default_factory=dict)
    reused: int = 0

    def count(self, status: str) -> int:
        return sum(record["status"] == status for record in self.records.values())

    def total(self, name: str) -> float:
        return float(sum(record.get("usage", {}).get(name, 0) for record in self.records.values()))

    def runs(self) -> dict[int, list[list[Any]]]:
        """The rows of every run that is known, by the identity of its combination."""
        runs: dict[int, list[list[Any]]] = {
            id(combination): [] for combination in self.plan.combinations
        }
        for key, point in self.points.items():
            if key in self.records:
                runs[id(point.combination)].append(self.records[key]["rows"])
        return runs

    def in_order(self) -> Iterator[tuple[Point, Record]]:
        """By combination and seed, whatever the order in which the points ended."""
        place = {id(combination): index for index, combination in enumerate(self.plan.combinations)}
        measured = [point for key, point in self.points.items() if key in self.records]
        for point in sorted(measured, key=lambda point: (place[id(point.combination)], point.seed)):
            yield point, self.records[point.key]


def carry_out(plan: Plan, out: Path, way: PointRunner, watch: Watch) -> Path:
    """Run what is not known, and return the finished folder.

    It holds rows.csv and sweep.json.

    Raises TcplabError if nothing can be run or written. What was run is kept in any case: the
    same plan goes on.
    """
    begun, progress, status = time.monotonic(), _Progress(plan), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with results(out) as memory, new_run(out / FOLDER, plan.named.name) as run:
        try:
            _fill(plan, way, memory, progress, watch)
            status = "complete"
        finally:
            facts = {
                "tcplab": testbed.VERSION,
                "started": started,
                "workers": way.workers,
                "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
            }
            _write(run.folder, progress, {"id": run.identifier, **for_page(way.lab), **facts})
            folder = run.finish(
                {
                    "kind": "sweep",
                    "experiment": plan.named.name,
                    "claim": plan.named.claim,
                    **lab_facts(way.lab),
                    **facts,
                    "seeds": sorted({point.seed for point in progress.points.values()}),
                    "virtual_seconds": round(progress.total("clock_seconds"), 3),
                }
            )
            hand_over(folder)
    return folder


def _fill(
    plan: Plan, way: PointRunner, memory: PointStore, progress: _Progress, watch: Watch
) -> None:
    """Round by round until no combination needs another seed.

    The engine starts with the first point to run.
    """
    source = origin(way.lab)
    seeds = iter(plan.sweep.seeds)
    open_combinations = list(plan.combinations)
    batch = _BATCH if plan.sweep.until else len(plan.sweep.seeds)
    while open_combinations and (chosen := list(islice(seeds, batch))):
        points = [
            source.point(combination, seed) for seed in chosen for combination in open_combinations
        ]
        progress.points |= {point.key: point for point in points}
        reused = {} if way.force else memory.done(point.key for point in points)
        progress.records |= reused
        progress.reused += len(reused)
        watch.wanted(len(progress.points), progress.reused)
        missing = [point for point in points if point.key not in reused]
        for point, record in run_points(missing, way, memory, watch):
            progress.records[point.key] = record
        if plan.sweep.until is None:
            return
        runs = progress.runs()
        open_combinations = [
            combination
            for combination in open_combinations
            if _too_wide(plan, combination, runs[id(combination)])
        ]


def _too_wide(plan: Plan, combination: Combination, runs: list[list[Any]]) -> bool:
    """Whether the interval of a condition's median is wider than `until` allows."""
    widths = [
        precision(_values(runs, condition.name, plan.sweep.metric))
        for condition in combination.spec.conditions
    ]
    return any(width is None or width > (plan.sweep.until or 0) for width in widths)


def _values(runs: list[list[Any]], condition: str, metric: str) -> list[float]:
    """One value a run: the mean over its flows."""
    of_runs = ([row[metric] for row in rows if row["condition"] == condition] for rows in runs)
    return [fmean(values) for values in of_runs if values and None not in values]


def _write(folder: Path, progress: _Progress, facts: dict[str, Any]) -> None:
    plan = progress.plan
    ended = list(progress.in_order())
    proved = [(point, record) for point, record in ended if record["status"] == "complete"]
    write_rows(row_table.table(plan.factors, proved), folder)
    for point, record in ended:
        _keep_statistics(folder, plan, point, record)
    failures = [
        _failure(folder, plan, point, record)
        for point, record in ended
        if record["status"] != "complete"
    ]
    content = {
        "format": 1,
        **described(plan),
        **facts,
        "seeds": sorted({point.seed for point, _ in ended}),
        "failures": failures,
        "warnings": [
            *network_verdicts.warnings(ended),
            *point_warnings.warnings(ended),
        ],
        network_verdicts.NETWORK: network_verdicts.counted(record for _, record in ended),
        "points": {
            "wanted": len(progress.points),
            "done": progress.count("complete"),
            "reused": progress.reused,
            "failed": progress.count("failed"),
            "unproved": progress.count("unproved"),
        },
        "virtual_seconds": round(progress.total("clock_seconds"), 3),
        "cpu_seconds": round(progress.total("cpu_seconds"), 2),
        "published": published_of(_by_combination(plan, proved)),
    }
    (folder / "sweep.json").write_text(json.dumps(content, indent=1) + "\n")


def _by_combination(plan: Plan, proved: list[tuple[Point, Record]]) -> list[Cell]:
    cells: dict[int, Cell] = {
        id(combination): (combination.spec, {}) for combination in plan.combinations
    }
    for point, record in proved:
        cells[id(point.combination)][1][point.seed] = record["rows"]
    return list(cells.values())


def _keep_statistics(folder: Path, plan: Plan, point: Point, record: Record) -> None:
    """The statistics files of a run if its study keeps any. The names say what is varied."""
    module = part(plan.named.name, "statistics_file")
    if module is None:
        return
    values = dict(point.combination.values)
    varied = {factor.name: values[factor.name] for factor in plan.factors}
    for condition, content in record.get("statistics", {}).items():
        file = folder / module.file_name(condition, varied, point.seed)
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)


def _failure(folder: Path, plan: Plan, point: Point, record: Record) -> dict[str, Any]:
    log = f"failures/{point.key[:16]}.log"
    (folder / log).parent.mkdir(exist_ok=True)
    (folder / log).write_text(f"{record['problem']}\n\n{record['log']}\n")
    return {
        "factors": dict(point.combination.values),
        "seed": point.seed,
        "problem": record["problem"],
        "log": log,
        "repeat": plan.repeat(point.combination, point.seed),
    }
