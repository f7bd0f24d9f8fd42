"""Each hand-in unpacked, looked at, and given to the student that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.definition.assignment import FILE
from labs.definition.course import Course, student_id, variant
from labs.definition.handed_in_scripts import handed_in_script
from labs.definition.lab_runs import MODULE
from labs.definition.lab_spec import LabSpec
from labs.definition.own_parts import parts_of
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading
from labs.grading.failure_domain import Stage, at_once, failure_domain
from labs.grading.hand_in_digest import fingerprint
from labs.grading.inspection import InspectedHandIn, inspect
from labs.grading.intake import HandIn
from labs.grading.owners import owner, ownership_doubt
from labs.grading.script_trials import ScriptTrial
from labs.measuring.contained import contained_as
from testbed.packetdrill.script_files import Script
from topologies.foundation.errors import TcplabError, UsageError


def opened_cases(hand_ins: Sequence[HandIn], grading: ClassGrading) -> Iterator[Case]:
    """The case of each hand-in; as many are opened at once as there are processors."""
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
    case.own = parts_of(lab, answers, module if module.is_file() else None)
    scripts = {each.id for each in lab.questions if each.kind == "script"}
    for name in (name for name in sorted(scripts & answers.keys()) if answers[name]):
        read = contained_as(ReadScript, read_script, str(case.folder), answers[name][0])
        if read.refusal:
            case.trials[name] = ScriptTrial(refusal=read.refusal)
        else:
            case.scripts[name] = Script(answers[name][0], read.text, {})


@dataclass(frozen=True)
class ReadScript:
    """The text of a script that was handed in, or why it cannot be run."""

    text: str = ""
    refusal: str = ""


def read_script(folder: str, name: str) -> dict[str, str]:
    """Return a ReadScript as plain data, in a process of its own."""
    try:
        return {"text": handed_in_script(Path(folder), name).text}
    except UsageError as error:
        return {"refusal": str(error)}


def _identify(case: Case, grading: ClassGrading) -> None:
    """Find whose hand-in it is: the course system's word counts, then what it says itself.

    Raises UsageError for a strange id.
    """
    claimed = case.inspected.student
    if case.person is None:
        _believe(case, grading)
    elif claimed and student_id(claimed) != case.person.id:
        reason = f"It was handed in by {case.person.id} and says that it is of {claimed}."
        case.flag("whose", reason, claimed)
    case.variant = variant(grading.course, grading.lab, case.person.id if case.person else claimed)


def _believe(case: Case, grading: ClassGrading) -> None:
    """Take the hand-in's own word, and flag it if it may be another's."""
    claimed = case.inspected.student
    if not claimed:
        problem = f"It is not known whose it is: {FILE} is missing, broken or names nobody."
        raise TcplabError(problem, "Hand in the zip that ./tcplab lab pack makes.")
    student = student_id(claimed)
    people = {person.id: person for person in grading.people}
    case.person = people.get(student)
    if people and case.person is None:
        remedy = "Start the lab with the id of the course."
        raise TcplabError(f"'{student}' is not in the class.", remedy)
    if reason := ownership_doubt(case.hand_in, grading.people, case.person):
        case.flag("whose", reason, claimed)


def require_course(cases: Sequence[Case], course: Course) -> None:
    """Raises UsageError if every hand-in names another course: no variant would be right."""
    courses = {case.inspected.course for case in cases if not case.refused}
    if courses and course.name not in courses:
        started = min(courses)
        problem = f"The hand-ins were started in the course '{started}', and you grade "
        raise UsageError(f"{problem}'{course.name}'.", "Name the right file with --course.")
