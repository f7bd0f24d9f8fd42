"""Points by hand: a file that people write and that grading only reads, so it survives grading again."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from labs.course import student_id
from labs.grading.case import Case
from labs.spec import LabSpec
from topologies.data import from_data, to_data
from topologies.errors import UsageError

FILE = "overrides.toml"
_BEGINNING = """\
# Points by hand. This file is read at each grading and never written again; reading.html makes lines for it.
#
# [[override]]
# student = "ann"
# question = "why"
# points = 3.5
# comment = "Shown to the student."
#
# [[accept]]             # after a look: takes the marks for a look off a hand-in
# student = "ben"
# comment = "Showed me the run."
"""


@dataclass(frozen=True)
class Override:
    student: str
    question: str
    points: float
    comment: str = ""


@dataclass(frozen=True)
class Accept:
    student: str
    comment: str = ""


@dataclass(frozen=True)
class ByHand:
    """What people decided."""

    override: tuple[Override, ...] = ()
    accept: tuple[Accept, ...] = ()

    def as_json(self) -> str:
        """For the page that adds lines."""
        return json.dumps(to_data(self))


def read_by_hand(folder: Path, lab: LabSpec) -> ByHand:
    """The file in the folder of grades, made with an explanation where there is none. Raises UsageError."""
    file = folder / FILE
    if not file.exists():
        file.write_text(_BEGINNING)
    try:
        found: ByHand = from_data(ByHand, tomllib.loads(file.read_text()), FILE)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Correct that line and grade again.") from None
    for one in found.override:
        most = lab.question(one.question).points
        if not 0 <= one.points <= most:
            raise UsageError(f"{file}: {one.question} has {most} points at most.", "Correct that line and grade again.")
    return found


def apply(case: Case, by_hand: ByHand) -> None:
    """Put what was decided for this student in place; the last line about a question counts."""
    for one in by_hand.override:
        if student_id(one.student) == case.student:
            case.marks = [
                replace(mark, points=one.points, verdict="by hand", note=one.comment) if mark.question == one.question
                else mark for mark in case.marks
            ]  # fmt: skip
    for accepted in by_hand.accept:
        if student_id(accepted.student) == case.student and case.flags:
            case.notes.append(f"Looked at and accepted. {accepted.comment}".strip())
            case.flags.clear()
