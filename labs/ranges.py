"""Whether a lab's lesson shows in all of its ranges: the corners and the middle, run under several seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.messages import ready_lab
from experiments.sweep.progress import watching
from experiments.sweep.results import results
from experiments.sweep.run import way_to_workers
from labs import catalogue, runs
from labs.course import Variant
from labs.grading.references import References
from labs.measuring import MeasuredRun
from labs.spec import LabSpec
from testbed.scratch import scratch

Values = tuple[tuple[str, str], ...]
"""A value for each range, by name."""


@dataclass(frozen=True)
class Shown:
    """A variant that was run: whether the lesson showed, or what failed."""

    variant: Variant
    lesson: bool
    problem: str = ""


def corners(lab: LabSpec) -> list[Values]:
    """The ends of every range combined, and the middle of all."""
    ends = [[(one.name, value) for value in dict.fromkeys((one.values[0], one.values[-1]))] for one in lab.varies]
    middle = tuple((one.name, one.values[len(one.values) // 2]) for one in lab.varies)
    return [*itertools.product(*ends), middle]


def check_ranges(
    lab: LabSpec, seeds: int, out: Path, workers: int | None = None, places: Sequence[Values] | None = None
) -> list[Shown]:
    """Run every corner, or these places, under that many seeds; what was run is remembered in `out`."""
    chosen = corners(lab) if places is None else places
    variants = [Variant(lab.name, "", "", values, 1 + 1000 * seed) for values in chosen for seed in range(seeds)]
    with scratch() as folder, results(out) as memory, watching(f"ranges of {lab.name}") as watch:
        module = runs.example_module(folder)
        specs = [runs.combination_of(run, variants[0], module).spec for run in lab.runs]
        references = References(way_to_workers(ready_lab(), specs, workers, None), memory, watch)
        points = {
            (one, run.name): [references.point(runs.combination_of(run, one, module), seed)
                              for seed in runs.seeds_of(run, one)]
            for one in variants for run in lab.runs
        }  # fmt: skip
        references.ask(point for listed in points.values() for point in listed)
        keys = {which: [point.key for point in listed] for which, listed in points.items()}
        return list(_shown(lab, variants, references, keys))


def _shown(
    lab: LabSpec, variants: list[Variant], references: References, keys: dict[tuple[Variant, str], list[str]]
) -> Iterator[Shown]:
    module = catalogue.key_module(lab.name)
    for one in variants:
        records = {run.name: [references.records[key] for key in keys[one, run.name]] for run in lab.runs}
        problems = [record["problem"] for listed in records.values() for record in listed if record["problem"]]
        if problems:
            yield Shown(one, False, problems[0])
            continue
        measured = {name: MeasuredRun(tuple(record["values"] for record in listed)) for name, listed in records.items()}
        try:
            key = module.key(measured, runs.variables_of(lab, one))
            odd = [f"{name} of {value:.4g} would not be plausible" for name, value in key.numbers.items()
                   if not lab.question(name).low <= value <= lab.question(name).high]  # fmt: skip
            yield Shown(one, bool(module.lesson(measured)) and not odd, "; ".join(odd))
        except (KeyError, ZeroDivisionError) as error:
            yield Shown(one, False, f"the key cannot be computed: {error!r}")
