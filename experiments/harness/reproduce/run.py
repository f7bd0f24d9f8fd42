"""Runs of all published numbers: a point for each setting and seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.published.kernel import PeriodKernelChoice, told
from experiments.harness.published.points import combinations
from experiments.harness.published.target import Target, published_study, targets
from experiments.harness.reproduce.document import ReproducedRuns, studies
from experiments.harness.running.session import for_page, lab_facts
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep import network_verdicts
from experiments.harness.sweep.point import CAPTURES, ROWS, Point, origin
from experiments.harness.sweep.point_store import PointStore, results
from experiments.harness.sweep.running_points import PointRunner, Watch, run_points
from experiments.spec import DEFAULT_KERNEL
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
    carried = ReproducedRuns(kernels=kernels)
    mode = "quick" if quick else "full"

    def write(run: RunFolder, facts: Facts) -> dict[str, Any]:
        totals = _totals(carried)
        content = {
            "format": 1,
            "id": run.identifier,
            "mode": mode,
            "only": list(only),
            "rows": list(rows),
            **for_page(way.lab),
            **facts,
            **totals,
            network_verdicts.NETWORK: network_verdicts.counted(carried.records.values()),
            "studies": studies(targets, carried, quick),
        }
        (run.folder / "reproduction.json").write_text(json.dumps(content, indent=1) + "\n")
        kind = {"kind": "reproduction", "experiment": "all"}
        return kind | lab_facts(way.lab) | facts | totals

    with results(out) as memory, result_folder(out / "reproductions", mode, write) as run:
        carried.combinations = combinations(targets, kernel, series_of(kernels))
        _fill(carried, quick, way, memory, watch, tell)
    return run.place


def _fill(
    carried: ReproducedRuns,
    quick: bool,
    way: PointRunner,
    memory: PointStore,
    watch: Watch,
    tell: Callable[[str], None],
) -> None:
    """Run the points that are not known."""
    points = _points(quick, carried, way.lab)
    kept = memory.done(point.key for point in points)
    watch.wanted(len(points), len(kept))
    for point in points:
        if point.key in kept:
            carried.records[point.combination.digest, point.seed] = kept[point.key]
    missing = [point for point in points if point.key not in kept]
    for line in (*told(carried.kernels.values()), estimated(missing, quick, way.slots)):
        tell(line)
    for point, record in run_points(missing, way, memory, watch):
        carried.records[point.combination.digest, point.seed] = record


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


def estimated(missing: Sequence[Point], quick: bool, slots: int | None) -> str:
    """A sentence with the time of what is missing, by what each study says that a seed takes.

    A run on a kernel of the study's time is taken to cost as much as another. `slots` guests run at
    once; None if that is not known, as on a cluster.
    """
    if not missing:
        return "Everything is known: nothing has to be run."
    left = Counter(point.combination.spec.name for point in missing)
    costs = {name: published_study(name) for name in left}
    seconds = sum(
        study.processor_seconds[not quick] * left[name] / _runs_of_a_seed(name, quick)
        for name, study in costs.items()
        if study.processor_seconds
    )
    silent = sorted(name for name, study in costs.items() if not study.processor_seconds)
    known = [_sentence(seconds, slots)] if seconds else []
    unknown = [f"How long {', '.join(silent)} takes is not known."] if silent else []
    return " ".join(known + unknown)


def _runs_of_a_seed(name: str, quick: bool) -> int:
    """How many guests one seed of everything that the study published takes."""
    own = combinations(target for target in targets(quick) if target.experiment == name)
    return len({each.digest for both in own.values() for each in both.values()})


def _sentence(seconds: float, slots: int | None) -> str:
    whole = f"This takes about {_long(seconds)} of a processor"
    return f"{whole}, {_long(seconds / slots)} with {slots} at once." if slots else f"{whole}."


def _long(seconds: float) -> str:
    """Minutes up to two hours, then hours."""
    minutes = max(round(seconds / 60), 1)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"
