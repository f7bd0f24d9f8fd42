"""What is the same for a whole class: the lab, the course, and the runs that keys come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import StatisticsError

from experiments.harness.sweep.point import Point
from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.course import Course, Variant
from labs.definition.lab_spec import LabRun, LabSpec
from labs.definition.own_parts import OwnParts
from labs.grading.roster import Person
from labs.measuring.lab_measures import MeasuredRun, Values
from labs.measuring.references import References

_SEEDS = 8
"""Seeds whose spread makes tolerances and bands."""
RunValues = Mapping[str, Sequence[Values]]
"""The values of each seed of a run, by the run's name."""


def key_of(lab: LabSpec, values: RunValues, variant: Variant) -> Key | None:
    """The key by these runs; None if they do not tell."""
    measured = {name: MeasuredRun(tuple(seeds)) for name, seeds in values.items()}
    key_module = lab_catalogue.key_module(lab.name)
    try:
        key: Key = key_module.key(measured, lab_runs.variables_of(lab, variant))
    except (KeyError, ZeroDivisionError, StatisticsError, ValueError):
        return None
    return key


@dataclass
class ClassGrading:
    """What is the same for a whole class. `work` is a folder for what is unpacked and kept."""

    lab: LabSpec
    course: Course
    people: Sequence[Person]
    references: References
    work: Path
    module: Path
    """A module in the place of a student's, for the runs that show the effect of chance."""

    def nominal(self) -> Variant:
        """The middle of every range: on it tolerances are measured."""
        ranges = self.lab.varies
        values = tuple((drawn.name, drawn.values[len(drawn.values) // 2]) for drawn in ranges)
        return Variant(self.lab.name, "", "", values, 1)

    def points(
        self, variant: Variant, own: OwnParts, seeds: Iterable[int] | None = None
    ) -> dict[LabRun, list[Point]]:
        """The points of each run of a variant, under its own seeds if none are given.

        A run whose settings the student did not choose is left out. Raises UsageError if a module
        is needed and cannot be used.
        """
        points = {}
        for run in self.lab.runs:
            if not lab_runs.is_possible(run, own):
                continue
            combination = lab_runs.combination_of(run, variant, own)
            run_seeds = lab_runs.seeds_of(run, variant) if seeds is None else seeds
            points[run] = [self.references.point(combination, seed) for seed in run_seeds]
        return points

    def spread_points(self, variant: Variant, module: Path | None) -> dict[LabRun, list[Point]]:
        """The points of each run under the seeds whose spread makes tolerances and bands.

        Runs whose settings students choose are left out: no number depends on them.
        """
        return self.points(variant, OwnParts(module), range(1, _SEEDS + 1))

    def spread(self, variant: Variant, module: Path | None) -> list[RunValues]:
        """The values of a variant under those seeds; their points have been asked for."""
        points = self.spread_points(variant, module)
        spread: list[RunValues] = []
        for index in range(_SEEDS):
            records = {run.name: self.references.records[points[run][index].key] for run in points}
            if all(record["status"] == "complete" for record in records.values()):
                spread.append({name: [record["values"]] for name, record in records.items()})
        return spread
