"""results.json for Gradescope's autograder, and whether the submitter owns the hand-in.

Formats: https://gradescope-autograders.readthedocs.io, pages specs and submission_metadata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import typed
from labs.definition.spec import LabSpec
from labs.grading.case import AnswerMark, Case, FlagKind, State
from labs.grading.roster import Person
from topologies.errors import UsageError

_LARGEST = 64 << 20  # bytes; it holds the results of all previous submissions
_ORIGIN = "Gradescope writes this file next to each submission."


class SubmittingUser(Struct, frozen=True):
    """One of those who submitted together."""

    email: str = ""


class SubmissionMetadata(Struct, frozen=True):
    """/autograder/submission_metadata.json."""

    users: tuple[SubmittingUser, ...] = ()


def read_submitters(file: Path) -> tuple[str, ...]:
    """Return `users[].email` of /autograder/submission_metadata.json. Raises UsageError."""
    try:
        with file.open("rb") as stream:
            content = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {str(error)[:200]}.", _ORIGIN) from None
    users = typed(SubmissionMetadata, content).users
    emails = tuple(email for user in users if (email := user.email.strip()))
    if not emails:
        raise UsageError(f"{file} names no user with an e-mail address.", _ORIGIN)
    return emails


def check_submitter(case: Case, people: Sequence[Person], emails: Sequence[str]) -> None:
    """Flag a hand-in that is of none of those who submitted it."""
    submitted = any(_is_of(case, people, email.casefold()) for email in emails)
    if not case.refused and not submitted:
        submitters = ", ".join(emails)
        text = f"It was submitted by {submitters} and is of {case.student}."
        case.flag(FlagKind.WHOSE, text, submitters)


def _is_of(case: Case, people: Sequence[Person], email: str) -> bool:
    """Return whether the hand-in is of that address.

    The class's table tells; without an address in it, the id is the address, or what is before its
    @.
    """
    addresses = {person.email.casefold() for person in people if person.id == case.student}
    if listed := addresses - {""}:
        return email in listed
    return case.student.casefold() in (email, email.partition("@")[0])


def results(lab: LabSpec, case: Case) -> dict[str, Any]:
    """results.json. Without a score, which is not a score of zero, if a person has to look first.

    Answers that a person reads are left out: their points are given on Gradescope.
    """
    if case.state in (State.COULD_NOT_GRADE, State.LOOK):
        output = "A person will look at this hand-in before it has points."
        if case.refused:
            output = f"Could not be graded: {case.refused}"
        return {"output": output, "output_format": "text", "tests": []}
    marked = [mark for mark in case.marks if mark.points is not None]
    score = case.after_lateness(round(sum(mark.points or 0.0 for mark in marked), 2))
    tests = [_test(lab, mark) for mark in marked]
    read = f"{len(case.open)} of your answers are read by a person."
    output = read if case.open else "Every answer is marked."
    return {"score": score, "output": output, "output_format": "text", "tests": tests}


def _test(lab: LabSpec, mark: AnswerMark) -> dict[str, Any]:
    question = next((each for each in lab.questions if each.id == mark.question), None)
    given = f"Your answer: {mark.given or '(none)'}\n{mark.note}".strip()
    return {
        "name": question.ask if question else "Everything else",
        "score": mark.points,
        "max_score": question.points if question else mark.points,
        "output_format": "text",
        "output": given if question else mark.note,
    }
