"""The class: lab, course, references of all runs, and each hand-in opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import StatisticsError

from experiments.sweep.point import Point
from labs.definition import catalogue
from labs.definition.answers import OwnParts, parts_of
from labs.definition.assignment import FILE, Course, Variant, student_id, variant
from labs.definition.key import Key
from labs.definition.runs import (
    MODULE,
    combination_of,
    has_programs,
    is_possible,
    seeds_of,
    variables_of,
)
from labs.definition.scripts import handed_in_script
from labs.definition.spec import LabRun, LabSpec
from labs.grading.case import Case, FlagKind
from labs.grading.failure_domain import Stage, at_once, failure_domain
from labs.grading.inspection import InspectedHandIn, fingerprint, inspect
from labs.grading.intake import HandIn
from labs.grading.roster import Person, owner, ownership_doubt
from labs.measuring.contained import contained_as
from labs.measuring.measures import MeasuredRun, Values
from labs.measuring.references import HiddenRuns, References
from labs.measuring.script_trials import ScriptTrial
from testbed.packetdrill.scripts import Script
from topologies.errors import TcplabError, UsageError

_SEEDS = 8
"""Seeds whose spread makes tolerances and bands."""
RunValues = Mapping[str, Sequence[Values]]
"""The values of each seed of a run, by the run's name."""


def key_of(lab: LabSpec, values: RunValues, variant: Variant) -> Key | None:
    """Return the key by these runs; None if they do not tell."""
    measured = {name: MeasuredRun(tuple(seeds)) for name, seeds in values.items()}
    key_module = catalogue.key_module(lab.name)
    try:
        key: Key = key_module.key(measured, variables_of(lab, variant))
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
        for run in self.lab.runs:
            if not is_possible(run, own):
                continue
            combination = combination_of(run, variant, own)
            run_seeds = seeds_of(run, variant) if seeds is None else seeds
            points[run] = [self.references.point(combination, seed) for seed in run_seeds]
        return points

    def spread_points(self, variant: Variant, module: Path | None) -> dict[LabRun, list[Point]]:
        """Return the points of each run under the seeds whose spread makes tolerances and bands.

        Runs whose settings students choose are left out: no number depends on them.
        """
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

    def programs(self, own: OwnParts) -> tuple[HiddenRuns, list[Point]] | None:
        """Return the runs of a student's programs on hidden networks, and their points.

        None without programs. Raises UsageError if they cannot be used.
        """
        asked = any(question.kind == "program" for question in self.lab.questions)
        if not asked or own.program is None or not has_programs(own.program):
            return None
        runs = HiddenRuns(self.lab, self.course, self.references, own)
        return runs, runs.points()

    @cached_property
    def hidden(self) -> HiddenRuns:
        """The hidden networks of the course."""
        return HiddenRuns(self.lab, self.course, self.references)


def opened_cases(hand_ins: Sequence[HandIn], grading: ClassGrading) -> Iterator[Case]:
    """Yield the case of each hand-in; as many are opened at once as there are processors."""
    folders = [grading.work / "hand-ins" / str(number) for number in range(len(hand_ins))]
    cases = [Case(hand_in, folder) for hand_in, folder in zip(hand_ins, folders, strict=True)]
    yield from at_once(lambda case: _opened(case, grading), cases)


def _opened(case: Case, grading: ClassGrading) -> Case:
    case.folder.mkdir(parents=True)
    with failure_domain(case, Stage.OWNER):
        case.person = owner(case.hand_in, grading.people)
    if case.hand_in.problem:
        case.refuse(case.hand_in.problem)
    if not case.refused:
        with failure_domain(case, Stage.OPEN):
            _open(case, grading.lab)
    if not case.refused:
        with failure_domain(case, Stage.OWNER):
            _identify(case, grading)
    if case.inspected.refused:  # after its owner is known
        case.refuse(case.inspected.refused)
    return case


def _open(case: Case, lab: LabSpec) -> None:
    """Unpack the hand-in, and read what was answered. Raises TcplabError."""
    place = str(case.hand_in.place.absolute())
    case.digest = contained_as(str, fingerprint, place)
    case.inspected = contained_as(InspectedHandIn, inspect, place, str(case.folder), lab.name)
    answers, module = case.inspected.answers, case.folder / MODULE
    case.own = parts_of(lab, answers, module if module.is_file() else None, case.folder)
    scripts = {each.id for each in lab.questions if each.kind == "script"}
    for name in (name for name in sorted(scripts & answers.keys()) if answers[name]):
        read = contained_as(dict[str, str], read_script, str(case.folder), answers[name][0])
        if "refusal" in read:
            case.trials[name] = ScriptTrial(refusal=read["refusal"])
        else:
            case.scripts[name] = Script(answers[name][0], read["text"], {})


def read_script(folder: str, name: str) -> dict[str, str]:
    """Return the text of a script, or the refusal of one that cannot be run."""
    try:
        return {"text": handed_in_script(Path(folder), name).text}
    except UsageError as error:
        return {"refusal": str(error)}


def _identify(case: Case, grading: ClassGrading) -> None:
    """Find the owner: by the course system, then by the hand-in itself. Raises UsageError."""
    claimed = case.inspected.student
    if case.person is None:
        _believe(case, grading)
    elif claimed and student_id(claimed) != case.person.id:
        reason = f"It was handed in by {case.person.id} and says that it is of {claimed}."
        case.flag(FlagKind.WHOSE, reason, claimed)
    case.variant = variant(grading.course, grading.lab, case.person.id if case.person else claimed)


def _believe(case: Case, grading: ClassGrading) -> None:
    """Take the hand-in's own word, and flag it if it may be another's."""
    claimed = case.inspected.student
    if not claimed:
        problem = f"It is not known whose it is: {FILE} is missing or broken, or holds no name."
        raise TcplabError(problem, "Hand in the zip that ./tcplab lab pack makes.")
    student = student_id(claimed)
    people = {person.id: person for person in grading.people}
    case.person = people.get(student)
    if people and case.person is None:
        remedy = "Start the lab with the id of the course."
        raise TcplabError(f"'{student}' is not in the class.", remedy)
    if reason := ownership_doubt(case.hand_in, grading.people, case.person):
        case.flag(FlagKind.WHOSE, reason, claimed)


def require_course(cases: Sequence[Case], course: Course) -> None:
    """Raises UsageError if every hand-in names another course: no variant would be right."""
    courses = {case.inspected.course for case in cases if not case.refused}
    if courses and course.name not in courses:
        started = min(courses)
        problem = f"The hand-ins were started in the course '{started}', and you grade "
        raise UsageError(f"{problem}'{course.name}'.", "Name the right file with --course.")
