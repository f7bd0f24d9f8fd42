"""All targets carried out: a point for each setting and seed, as today and as in their time."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import testbed
from experiments.published.period_kernel import PeriodKernelChoice, told
from experiments.published.target import Target
from experiments.published.target_points import combinations
from experiments.published.targets import published_study
from experiments.reproduce.duration_estimate import estimated
from experiments.reproduce.listing import ReproducedRuns, studies
from experiments.running.session import for_page, hand_over, lab_facts
from experiments.running.store import new_run
from experiments.spec import DEFAULT_KERNEL
from experiments.sweep import network_verdicts
from experiments.sweep.point import CAPTURES, ROWS, Point, origin
from experiments.sweep.point_store import results
from experiments.sweep.running_points import PointRunner, Watch, run_points
from testbed.lab.ready import Lab

NO_CHOICES: Mapping[str, PeriodKernelChoice] = {}


def carry_out(
    targets: Sequence[Target],
    quick: bool,
    out: Path,
    way: PointRunner,
    watch: Watch,
    only: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
    kernel: str = DEFAULT_KERNEL,
    kernels: Mapping[str, PeriodKernelChoice] = NO_CHOICES,
    rows: Sequence[str] = (),
) -> Path:
    """Run what is not known yet, and return the finished folder with reproduction.json.

    What was run is kept in any case: the same call goes on. `only` names the studies and `rows` the
    texts of rows, if some were chosen. `tell` gets sentences on how long it may take, and on
    `kernels`, those of the studies' times; all else runs on `kernel`.
    """
    begun, carried, status = time.monotonic(), ReproducedRuns(kernels=kernels), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with (
        results(out) as memory,
        new_run(out / "reproductions", "quick" if quick else "full") as run,
    ):
        try:
            carried.combinations = combinations(targets, kernel, series_of(kernels))
            points = _points(quick, carried, way.lab)
            kept = memory.done(point.key for point in points)
            watch.wanted(len(points), len(kept))
            for point in points:
                if point.key in kept:
                    carried.records[point.combination.digest, point.seed] = kept[point.key]
            missing = [point for point in points if point.key not in kept]
            for line in (*told(kernels.values()), estimated(missing, quick, way.slots)):
                tell(line)
            for point, record in run_points(missing, way, memory, watch):
                carried.records[point.combination.digest, point.seed] = record
            status = "complete"
        finally:
            facts = {
                "tcplab": testbed.VERSION,
                "started": started,
                "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
            }
            content = {
                "format": 1,
                "id": run.identifier,
                "mode": "quick" if quick else "full",
                "only": list(only),
                "rows": list(rows),
                **for_page(way.lab),
                **facts,
                **_totals(carried),
                network_verdicts.NETWORK: network_verdicts.counted(carried.records.values()),
                "studies": studies(targets, carried, quick),
            }
            (run.folder / "reproduction.json").write_text(json.dumps(content, indent=1) + "\n")
            folder = run.finish(
                {
                    "kind": "reproduction",
                    "experiment": "all",
                    **lab_facts(way.lab),
                    **facts,
                    **_totals(carried),
                }
            )
            hand_over(folder)
    return folder


def series_of(kernels: Mapping[str, PeriodKernelChoice]) -> dict[str, str]:
    """The kernel of each study that can be repeated on one of its time."""
    return {name: choice.series for name, choice in kernels.items() if choice.series}


def _totals(carried: ReproducedRuns) -> dict[str, float]:
    usages = [record.get("usage", {}) for record in carried.records.values()]
    return {
        name: round(sum(usage.get(short, 0.0) for usage in usages), 2)
        for name, short in (("virtual_seconds", "clock_seconds"), ("cpu_seconds", "cpu_seconds"))
    }


def _points(quick: bool, carried: ReproducedRuns, lab: Lab) -> list[Point]:
    """Every point once, seed by seed, so that an interrupted run has a first seed of everything."""
    sources = {False: origin(lab, ROWS), True: origin(lab, CAPTURES)}
    unique = {
        combination.digest: (combination, target)
        for target, both in carried.combinations.items()
        for combination in both.values()
    }
    seeds = {
        digest: published_study(target.experiment).seeds[not quick]
        for digest, (_, target) in unique.items()
    }
    return [
        sources[target.captured].point(combination, seed)
        for seed in range(1, max(seeds.values(), default=0) + 1)
        for digest, (combination, target) in unique.items()
        if seed <= seeds[digest]
    ]
