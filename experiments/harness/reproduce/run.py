"""Runs of all published numbers: a point for each setting and seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.harness.published.kernel import PeriodKernelChoice, told
from experiments.harness.published.points import combinations
from experiments.harness.published.target import Target, published_study, seeds_of, targets
from experiments.harness.reproduce.document import ReproducedRuns, studies
from experiments.harness.running.lab import for_page, lab_facts
from experiments.harness.running.store import Facts, RunFolder, result_folder
from experiments.harness.sweep.point import CAPTURES, ROWS, Point, origin
from experiments.harness.sweep.store import results
from experiments.harness.sweep.table import NETWORK, counted_verdicts
from experiments.harness.sweep.workers import PointRunner, Watch, known_and_run
from experiments.spec import DEFAULT_KERNEL
from testbed.lab.ready import Lab


@dataclass(frozen=True)
class ReproductionRequest:
    """Targets to reproduce, in the short or in the full form.

    `only` are names of studies and `rows` texts of rows, if some were chosen. `kernels` are those
    of the studies' times; everything else runs on `kernel`.
    """

    targets: Sequence[Target]
    quick: bool
    only: Sequence[str] = ()
    rows: Sequence[str] = ()
    kernel: str = DEFAULT_KERNEL
    kernels: Mapping[str, PeriodKernelChoice] = field(default_factory=dict)


def carry_out(
    request: ReproductionRequest,
    out: Path,
    way: PointRunner,
    watch: Watch,
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Run the points that are not known yet, and return the folder with reproduction.json.

    Finished runs are kept in any case: the same call continues. `tell` gets sentences about the
    kernels and the time that it may take.
    """
    carried = ReproducedRuns(kernels=request.kernels)
    mode = "quick" if request.quick else "full"

    def write(run: RunFolder, facts: Facts) -> dict[str, Any]:
        totals = _totals(carried)
        content = {
            "format": 1,
            "id": run.identifier,
            "mode": mode,
            "only": list(request.only),
            "rows": list(request.rows),
            **for_page(way.lab),
            **facts,
            **totals,
            NETWORK: counted_verdicts(carried.records.values()),
            "studies": studies(request.targets, carried, request.quick),
        }
        (run.folder / "reproduction.json").write_text(json.dumps(content, indent=1) + "\n")
        kind = {"kind": "reproduction", "experiment": "all"}
        return kind | lab_facts(way.lab) | facts | totals

    with results(out) as memory, result_folder(out / "reproductions", mode, write) as run:
        on = series_of(request.kernels)
        carried.combinations = combinations(request.targets, request.kernel, on)
        points = _points(carried, request.quick, way.lab)
        known = memory.done(point.key for point in points)
        missing = [point for point in points if point.key not in known]
        lines = told(request.kernels.values())
        for line in (*lines, estimated(missing, request.quick, way.slots)):
            tell(line)
        for point, record in known_and_run(points, way, memory, watch):
            known_as = point.combination.digest, point.origin.metric, point.seed
            carried.records[known_as] = record
    return run.place


def series_of(kernels: Mapping[str, PeriodKernelChoice]) -> dict[str, str]:
    """Return the kernel of each study that can run on one of its time."""
    return {name: choice.series for name, choice in kernels.items() if choice.series}


def _totals(carried: ReproducedRuns) -> dict[str, float]:
    usages = [record.get("usage", {}) for record in carried.records.values()]
    return {
        name: round(sum(usage.get(short, 0.0) for usage in usages), 2)
        for name, short in (("virtual_seconds", "clock_seconds"), ("cpu_seconds", "cpu_seconds"))
    }


def _points(carried: ReproducedRuns, quick: bool, lab: Lab) -> list[Point]:
    """Return each point once, seed by seed: an interrupted run then has a first seed of all."""
    sources = {text: origin(lab, text) for text in set(map(_measures, carried.combinations))}
    unique = {
        (combination.digest, target.expression): (combination, target)
        for target, both in carried.combinations.items()
        for combination in both.values()
    }
    points = [
        sources[_measures(target)].point(combination, seed)
        for combination, target in unique.values()
        for seed in seeds_of(target.experiment, quick)
    ]
    return sorted(points, key=lambda point: point.seed)


def _measures(target: Target) -> str:
    """Return the function that measures a target: from captures, an expression, or columns."""
    if target.captured:
        return CAPTURES
    return f"{ROWS} {target.expression}".strip()


def estimated(missing: Sequence[Point], quick: bool, slots: int | None) -> str:
    """Return a sentence with the time of the missing points, from each study's time for a seed.

    A run on a kernel of the study's time counts like any other. `slots` guests run in parallel;
    None if that is unknown, as on a cluster.
    """
    if not missing:
        return "All results are known; no run is needed."
    left = Counter(point.combination.spec.name for point in missing)
    costs = {name: published_study(name).processor_seconds for name in left}
    seconds = sum(
        cost[not quick] * left[name] / _runs_of_a_seed(name, quick)
        for name, cost in costs.items()
        if cost
    )
    sentences = []
    if seconds:
        parallel = f", {_long(seconds / slots)} with {slots} at once" if slots else ""
        sentences.append(f"This takes about {_long(seconds)} of a processor{parallel}.")
    if silent := sorted(name for name, cost in costs.items() if not cost):
        sentences.append(f"How long {', '.join(silent)} takes is not known.")
    return " ".join(sentences)


def _runs_of_a_seed(name: str, quick: bool) -> int:
    """Return the number of guests for one seed of all published numbers of a study."""
    own = combinations(target for target in targets(quick) if target.experiment == name)
    runs = ((each.digest, target.expression) for target in own for each in own[target].values())
    return len(set(runs))


def _long(seconds: float) -> str:
    """Write minutes up to two hours, then hours."""
    minutes = max(round(seconds / 60), 1)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"
