"""The class, the repeated runs of its hand-ins, and the key and marks of each.

A hand-in is marked in a limited process: the key comes from the student's packets, and the answers
are the student's words (labs.measuring.contained). A run in real time cannot be repeated. Its
numbers are judged by a band: the spread over seeds of repeated runs, widened by half on each side.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from statistics import StatisticsError

from experiments.sweep.point import Point
from labs.definition.answers import Answers, OwnParts
from labs.definition.assignment import Course, Variant
from labs.definition.key import Key, key_module
from labs.definition.runs import combination_of, has_programs, is_possible, seeds_of, variables_of
from labs.definition.spec import LabRun, LabSpec
from labs.definition.written import in_digits
from labs.grading.case import AnswerMark, Case, Flag
from labs.grading.marking import marker_of
from labs.grading.tables import Person
from labs.measuring.measures import MeasuredRun, Values
from labs.measuring.references import HiddenResults, HiddenRuns, References, TestedPrograms

_SEEDS = 8  # seeds whose spread makes tolerances and bands
RunValues = Mapping[str, Sequence[Values]]  # the values of each seed of a run, by the run's name


def key_of(lab: LabSpec, values: RunValues, variant: Variant) -> Key | None:
    """Return the key by these runs; None if they do not tell."""
    measured = {name: MeasuredRun(tuple(seeds)) for name, seeds in values.items()}
    try:
        key: Key = key_module(lab.name).key(measured, variables_of(lab, variant))
    except (KeyError, ZeroDivisionError, StatisticsError, ValueError):
        return None
    return key


@dataclass
class ClassGrading:
    """A class in grading. `work` is a folder for what is unpacked and kept."""

    lab: LabSpec
    course: Course
    people: Sequence[Person]
    references: References
    work: Path
    module: Path
    """A module in the place of a student's, for the runs that show the effect of chance."""

    def points(
        self, variant: Variant, own: OwnParts, seeds: Iterable[int] | None = None
    ) -> dict[LabRun, list[Point]]:
        """Return the points of each run of a variant, under its own seeds if none are given.

        A run whose settings the student did not choose is left out. Raises UsageError if a module
        is needed and cannot be used.
        """
        points = {}
        for run in (run for run in self.lab.runs if is_possible(run, own)):
            combination = combination_of(run, variant, own)
            run_seeds = seeds_of(run, variant) if seeds is None else seeds
            points[run] = [self.references.point(combination, seed) for seed in run_seeds]
        return points

    def spread_points(self, variant: Variant, module: Path | None) -> dict[LabRun, list[Point]]:
        """Return points of runs without choices, by the seeds of tolerances and bands."""
        return self.points(variant, OwnParts(module), range(1, _SEEDS + 1))

    def spread(self, variant: Variant, module: Path | None) -> list[RunValues]:
        """Return the values of a variant under those seeds; their points have been asked for."""
        points = self.spread_points(variant, module)
        spread: list[RunValues] = []
        for index in range(_SEEDS):
            records = {run.name: self.references.records[points[run][index].key] for run in points}
            if all(record["status"] == "complete" for record in records.values()):
                spread.append({name: [record["values"]] for name, record in records.items()})
        return spread

    def programs(self, own: OwnParts) -> HiddenRuns | None:
        """Return the runs of a student's programs on hidden networks, if any. Raises UsageError."""
        asked = any(question.kind == "program" for question in self.lab.questions)
        if not asked or own.program is None or not has_programs(own.program):
            return None
        runs = HiddenRuns(self.lab, self.course, self.references, own)
        runs.points()  # which fails for programs that cannot be used
        return runs

    @cached_property
    def hidden(self) -> HiddenRuns:
        return HiddenRuns(self.lab, self.course, self.references)


_FEWEST = 3  # values, of which a band can be made


def has_real_time(case: Case) -> bool:
    return any(run.testbed == "native" for run in case.inspected.runs.values())


def outside_bands(bands: Mapping[str, tuple[float, float]], key: Key) -> Iterator[Flag]:
    """Flag what was captured in real time and lies outside of all repeated runs of the variant."""
    for name, (low, high) in bands.items():
        value = key.numbers.get(name)
        if value is not None and not low <= value <= high:
            between = f"between {in_digits(low)} and {in_digits(high)}"
            text = f"{name}: {in_digits(value)} was captured, and repeated runs lie {between}."
            yield Flag("band", text)


def not_carried_flags(tested: TestedPrograms, repeated: RunValues) -> Iterator[Flag]:
    """Flag programs whose receiver wrote what the packets cannot have brought."""
    for question, results in tested.items():
        for number, result in enumerate(results, 1):
            if result.not_carried:
                yield Flag("not carried", f"{question}, network {number}: {result.reason}.")
    for name, seeds in repeated.items():
        for sentence in MeasuredRun(tuple(seeds)).not_carried:
            yield Flag("not carried", f"Run {name}: {sentence}.")


@dataclass(frozen=True)
class Marked:
    """The key, marks and flags of a hand-in, and the numbers that are `right` by its run."""

    key: Key
    bands: dict[str, tuple[float, float]]
    flags: list[Flag]
    marks: list[AnswerMark]
    right: set[str]


Ruler = tuple[Key, Variant]
"""The numbers of a student's run, to hold another student's answers against."""


def mark(
    case: Case,
    lab: LabSpec,
    tolerance: Mapping[str, float],
    spread: Sequence[RunValues],
    hidden: HiddenResults,
) -> Marked:
    """Return the marks of a hand-in. `spread` are the values of a real-time run's repetitions.

    The key is that of what was handed in, else of the repeated run. `hidden` are the results of the
    networks of each forecast.
    """
    own, flags = key_of(lab, case.runs, case.own_variant), []
    if own is None:
        problem = "The files handed in give no key; the answers are marked by the repeated run."
        flags.append(Flag("unreadable", problem))
        own = key_of(lab, case.repeated, case.own_variant)
    key, bands = _finite(own or Key()), {}
    keys = [each for values in spread if (each := key_of(lab, values, case.own_variant))]
    for question in lab.questions:
        numbers = [each.numbers[question.id] for each in keys if question.id in each.numbers]
        if len(numbers) >= _FEWEST:
            margin = 0.5 * (max(numbers) - min(numbers)) + 0.05 * max(map(abs, numbers))
            bands[question.id] = min(numbers) - margin, max(numbers) + margin
    unreadable = any(flag.kind == "unreadable" for flag in (*case.flags, *flags))
    marker = replace(
        marker_of(lab, key, tolerance, case.own_variant),
        pictures=case.inspected.pictures,
        bands=bands if unreadable else {},
        recorded=case.inspected.predictions,
        trials=case.trials,
        hidden=hidden,
        tested=case.tested,
        runs={name: MeasuredRun(tuple(seeds)) for name, seeds in case.runs.items() if seeds},
    )
    marks = marker.marks(case.inspected.answers)
    flags += [*outside_bands(bands, key), *not_carried_flags(case.tested, case.repeated)]
    return Marked(key, bands, flags, marks, marker.right_among(marks))


def fits(
    answers: Answers, lab: LabSpec, tolerance: Mapping[str, float], rulers: Sequence[Ruler]
) -> list[list[str]]:
    """Return, for each ruler, the numbers among the answers that are right by it."""
    markers = (marker_of(lab, key, tolerance, variant) for key, variant in rulers)
    return [sorted(marker.right(answers)) for marker in markers]


def _finite(key: Key) -> Key:
    """Without values that are no number, which packets may have been made to give."""

    def finite(values: Mapping[str, float]) -> dict[str, float]:
        return {name: value for name, value in values.items() if isfinite(value)}

    mistakes = {name: finite(values) for name, values in key.mistakes.items()}
    return replace(key, numbers=finite(key.numbers), mistakes=mistakes)
