"""Each hand-in unpacked, looked at, and given to the student that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from labs.definition.assignment import FILE
from labs.definition.course import Course, student_id, variant
from labs.definition.handed_in_scripts import handed_in_script
from labs.definition.lab_runs import MODULE
from labs.definition.own_parts import parts_of
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading
from labs.grading.hand_in_digest import fingerprint
from labs.grading.inspection import from_json, inspect
from labs.grading.intake import HandIn
from labs.grading.owners import owner, ownership_doubt
from labs.grading.script_trials import ScriptTrial
from labs.measuring.contained import contained
from testbed.host.capacity import allowed_processors
from topologies.errors import TcplabError, UsageError


def opened_cases(hand_ins: Sequence[HandIn], grading: ClassGrading) -> Iterator[Case]:
    """The case of each hand-in; as many are opened at once as there are processors."""
    folders = [grading.work / "hand-ins" / str(number) for number in range(len(hand_ins))]
    with ThreadPoolExecutor(allowed_processors()) as pool:
        yield from pool.map(
            lambda hand_in, folder: _case(hand_in, folder, grading), hand_ins, folders
        )


def _case(hand_in: HandIn, folder: Path, grading: ClassGrading) -> Case:
    folder.mkdir(parents=True)
    case = Case(hand_in, folder, person=owner(hand_in, grading.people), refused=hand_in.problem)
    if case.refused:
        return case
    place = str(hand_in.place.absolute())
    try:
        case.digest = contained(fingerprint, place)
        case.inspected = from_json(contained(inspect, place, str(folder), grading.lab.name))
        _identify(case, grading)
    except TcplabError as error:
        case.refused = str(error)
    return case


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
    module = case.folder / MODULE
    case.own = parts_of(grading.lab, case.inspected.answers, module if module.is_file() else None)
    _read_scripts(case, grading)


def _read_scripts(case: Case, grading: ClassGrading) -> None:
    """Each script that was handed in, or why it is none that can be run."""
    for question in grading.lab.questions:
        given = case.inspected.answers.get(question.id, [])
        if question.kind != "script" or not given:
            continue
        try:
            case.scripts[question.id] = handed_in_script(case.folder, given[0])
        except UsageError as error:
            case.trials[question.id] = ScriptTrial(refusal=str(error))


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
