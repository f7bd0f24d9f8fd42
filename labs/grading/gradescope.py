"""results.json for Gradescope's autograder, and whether the submitter owns the hand-in.

Formats: https://gradescope-autograders.readthedocs.io, pages specs and submission_metadata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import typed
from labs.definition.spec import LabSpec
from labs.grading.case import AnswerMark, Case, FlagKind, State
from labs.grading.roster import Person
from topologies.foundation.errors import UsageError

_LARGEST = 64 << 20  # bytes; it holds the results of all previous submissions
_ORIGIN = "Gradescope writes this file beside each submission."


class SubmittingUser(Struct, frozen=True):
    """One of those who submitted together."""

    email: str = ""


class SubmissionMetadata(Struct, frozen=True):
    """/autograder/submission_metadata.json."""

    users: tuple[SubmittingUser, ...] = ()


@dataclass(frozen=True)
class Submission:
    """The submitters, by the addresses of their accounts; a group has several."""

    emails: tuple[str, ...]


def read_submission(file: Path) -> Submission:
    """`users[].email` of /autograder/submission_metadata.json. Raises UsageError."""
    try:
        with file.open("rb") as stream:
            content = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {str(error)[:200]}.", _ORIGIN) from None
    users = typed(SubmissionMetadata, content).users
    emails = tuple(email for user in users if (email := user.email.strip()))
    if not emails:
        raise UsageError(f"{file} names no user with an e-mail address.", _ORIGIN)
    return Submission(emails)


def check_submitter(case: Case, people: Sequence[Person], submission: Submission) -> None:
    """Flag a hand-in that is of none of those who submitted it."""
    submitted = any(_is_of(case, people, email.casefold()) for email in submission.emails)
    if not case.refused and not submitted:
        submitters = ", ".join(submission.emails)
        case.flag(
            FlagKind.WHOSE,
            f"It was submitted by {submitters} and is of {case.student}.",
            submitters,
        )


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
        return {"output": _waits(case), "output_format": "text", "tests": []}
    marked = [mark for mark in case.marks if mark.points is not None]
    score = round(sum(mark.points or 0.0 for mark in marked), 2)
    tests = [_test(lab, mark) for mark in marked]
    return {"score": score, "output": _summary(case), "output_format": "text", "tests": tests}


def _waits(case: Case) -> str:
    if case.refused:
        return f"Could not be graded: {case.refused}"
    return "A person will look at this hand-in before it has points."


def _summary(case: Case) -> str:
    if case.open:
        return f"{len(case.open)} of your answers are read by a person."
    return "Every answer is marked."


def _test(lab: LabSpec, mark: AnswerMark) -> dict[str, Any]:
    question = next(
        (candidate for candidate in lab.questions if candidate.id == mark.question), None
    )
    given = f"You gave: {mark.given or 'nothing'}\n{mark.note}".strip()
    return {
        "name": question.ask if question else "Everything else",
        "score": mark.points,
        "max_score": question.points if question else mark.points,
        "output_format": "text",
        "output": given if question else mark.note,
    }
