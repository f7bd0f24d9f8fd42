"""Hand-ins opened, and their owners found; a failure in one ends the grading of that one alone.

A step that reads a stranger's content runs in a limited process (labs.measuring.contained). The
other steps of a hand-in handle checked values only, and run inside `failure_domain`.
"""

import errno
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from labs.definition.answers import parts_of
from labs.definition.assignment import FILE, Course, student_id, variant
from labs.definition.runs import MODULE
from labs.definition.scripts import ScriptTrial, handed_in_script
from labs.definition.spec import LabSpec
from labs.grading.case import Case, Flag
from labs.grading.class_grading import ClassGrading
from labs.grading.inspection import InspectedHandIn, fingerprint, inspect
from labs.grading.intake import HandIn
from labs.grading.tables import Person
from labs.measuring.contained import contained_as, kind_and_place
from testbed.host.processes import allowed_processors
from testbed.packetdrill.scripts import Script
from topologies.errors import TcplabError, UsageError

Given = TypeVar("Given")
Result = TypeVar("Result")
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE}
"""Errors that would hit every hand-in: they end the command."""


class Stage(StrEnum):
    """A step of grading that handles one hand-in, in the words of a message."""

    OPEN = "Opening it"
    OWNER = "Finding its owner"
    PLAN = "Planning its runs"
    REPEAT = "Repeating its runs"
    COMPARE = "Comparing its captures"
    SCRIPTS = "Running its scripts"
    MARK = "Marking its answers"
    RESEMBLE = "Comparing its answers with those of others"
    DECIDE = "Applying the decisions about it"
    RENDER = "Writing its feedback"


def attempt(stage: Stage, case: Case, step: Callable[..., Case], *arguments: Any) -> Case:
    """Return the case after a step, refused if that fails. Raises OSError of the machine."""
    try:
        return step(case, *arguments)
    except TcplabError as error:
        return case.refuse(str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            raise
        problem = f"{stage.value} failed: {kind_and_place(error)}."
        return case.refuse(str(TcplabError(problem, "Look at it by hand.")))


def at_once(step: Callable[[Given], Result], given: Sequence[Given]) -> Iterator[Result]:
    """Return the results of a step in order. As many run at once as there are processors."""
    with ThreadPoolExecutor(allowed_processors()) as pool:
        yield from pool.map(step, given)


def opened_cases(hand_ins: Sequence[HandIn], grading: ClassGrading) -> Iterator[Case]:
    folders = [grading.work / "hand-ins" / str(number) for number in range(len(hand_ins))]
    cases = [Case(hand_in, folder) for hand_in, folder in zip(hand_ins, folders, strict=True)]
    yield from at_once(lambda case: _opened(case, grading), cases)


def _opened(case: Case, grading: ClassGrading) -> Case:
    case.folder.mkdir(parents=True)
    place = case.hand_in.place.absolute()

    def with_uploader(case: Case) -> Case:
        return replace(case, person=owner(case.hand_in, grading.people))

    def with_digest(case: Case) -> Case:
        return replace(case, digest=contained_as(str, fingerprint, place))

    def with_content(case: Case) -> Case:
        content = contained_as(InspectedHandIn, inspect, place, case.folder, grading.lab.name)
        return replace(case, inspected=content)

    case = attempt(Stage.OWNER, case, with_uploader)
    if case.hand_in.problem:
        case = case.refuse(case.hand_in.problem)
    for step in (with_digest, with_content, partial(_with_parts, grading.lab)):
        if not case.refused:
            case = attempt(Stage.OPEN, case, step)
    if not case.refused:
        case = attempt(Stage.OWNER, case, _identify, grading)
    return case.refuse(case.inspected.refused) if case.inspected.refused else case


def _with_parts(lab: LabSpec, case: Case) -> Case:
    answers, module = case.inspected.answers, case.folder / MODULE
    own = parts_of(lab, answers, module if module.is_file() else None, case.folder)
    scripts, trials = {}, {}
    asked = sorted(each.id for each in lab.questions if each.kind == "script")
    for name in (name for name in asked if answers.get(name)):
        text, refusal = contained_as(tuple[str, str], read_script, case.folder, answers[name][0])
        if refusal:
            trials[name] = ScriptTrial(refusal=refusal)
        else:
            scripts[name] = Script(answers[name][0], text, {})
    return replace(case, own=own, scripts=scripts, trials=trials)


def read_script(folder: Path, name: str) -> tuple[str, str]:
    try:
        return handed_in_script(folder, name).text, ""
    except UsageError as error:
        return "", str(error)


def _identify(case: Case, grading: ClassGrading) -> Case:
    """Find the owner: by the course system, then by the hand-in itself. Raises UsageError."""
    claimed = case.inspected.student
    if case.person is None:
        case = _believe(case, grading)
    elif claimed and student_id(claimed) != case.person.id:
        reason = f"It was handed in by {case.person.id} and says that it is of {claimed}."
        case = case.flagged(Flag("whose", reason, claimed))
    student = case.person.id if case.person else claimed
    return replace(case, variant=variant(grading.course, grading.lab, student))


def _believe(case: Case, grading: ClassGrading) -> Case:
    """Take the hand-in's own word, and flag it if it may be another's."""
    claimed = case.inspected.student
    if not claimed:
        problem = f"It is not known whose it is: {FILE} is missing or broken, or holds no name."
        raise TcplabError(problem, "Hand in the zip that ./tcplab lab pack makes.")
    student = student_id(claimed)
    person = next((each for each in grading.people if each.id == student), None)
    if grading.people and person is None:
        remedy = "Start the lab with the id of the course."
        raise TcplabError(f"'{student}' is not in the class.", remedy)
    case = replace(case, person=person)
    reason = ownership_doubt(case.hand_in, grading.people, person)
    return case.flagged(Flag("whose", reason, claimed)) if reason else case


def require_course(cases: Sequence[Case], course: Course) -> None:
    """Raises UsageError if every hand-in names another course: no variant would be right."""
    courses = {case.inspected.course for case in cases if not case.refused}
    if courses and course.name not in courses:
        started = min(courses)
        problem = f"The hand-ins were started in the course '{started}', and you grade "
        raise UsageError(f"{problem}'{course.name}'.", "Name the right file with --course.")


def owner(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    """Return the uploader by the course system; a number with another's name is a group's."""
    if numbered := _numbered(hand_in, people):
        return numbered if _may_be(hand_in.uploader, numbered.name) else None
    joined = "".join(_words(hand_in.uploader))
    namesakes = []
    for person in people:
        words = _words(person.name)  # a system may begin with the last name
        if joined in ("".join(words[first:] + words[:first]) for first in range(len(words))):
            namesakes.append(person)
    return namesakes[0] if len(namesakes) == 1 else None


def ownership_doubt(hand_in: HandIn, people: Sequence[Person], claimed: Person | None) -> str:
    """Return a reason to doubt the owner that a hand-in names; empty without one."""
    says = f"and the hand-in says that it is of {claimed.id if claimed else 'somebody else'}"
    if numbered := _numbered(hand_in, people):
        return f"The download names {hand_in.words}, who is {numbered.id} in the class, {says}."
    by_moodle = hand_in.moodle and any(person.moodle for person in people)
    by_canvas = hand_in.canvas and any(person.canvas for person in people)
    by_name = claimed and not _may_be(hand_in.uploader, claimed.name)
    if by_moodle or by_canvas or by_name:
        return f"It was uploaded by {hand_in.words}, who is not in the class list, {says}."
    return ""


def _numbered(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    moodle, canvas = hand_in.moodle or None, hand_in.canvas or None
    return next((each for each in people if moodle == each.moodle or canvas == each.canvas), None)


def _words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", name).casefold().replace("_", " ")
    return re.findall(r"\w+", plain)


def _may_be(uploader: str, name: str) -> bool:
    """Return whether two names may be one person's: they share a word, or one is unknown."""
    words = [word for word in _words(name) if len(word) > 1] or _words(name)
    joined = "".join(_words(uploader))  # Canvas leaves out what is between the words
    return not uploader or not words or any(word in joined for word in words)
