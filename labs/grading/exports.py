"""canvas.csv for the import of Canvas's gradebook, and results.json for Gradescope's autograder.

What the import does is read in instructure/canvas-lms, lib/gradebook_importer.rb and
lib/gradebook_exporter.rb. Gradescope: https://gradescope-autograders.readthedocs.io.

* The first columns are Student, ID, SIS User ID, SIS Login ID, Section, as far as the gradebook's
  own export has them. A row is matched by ID, then by the SIS ids, then by the name.
* An assignment is found by the number in "Title (number)", then by its title; any other heading
  makes a new one, with the points of the row "Points Possible".
* An empty cell is a change where Canvas has a score, which the import shows before it is made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import typed
from labs.definition.spec import LabSpec
from labs.grading.case import AnswerMark, Case, ExportedPoints, Flag
from labs.grading.tables import FilledTable, ForeignTable, Person, read_foreign_table, table
from topologies.errors import UsageError
from topologies.notation import json_value

_ASSIGNMENT = re.compile(r"(?P<title>.+) \(\d+\)")
_HEADING = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_POSSIBLE = "    Points Possible"
_NUMBER = re.compile(r"\d+(\.\d+)?")


def canvas_table(
    titles: Sequence[str], possible: Sequence[float | None], rows: Sequence[Sequence[Any]]
) -> str:
    """Return a table for Canvas's import: assignments with their most points, and students."""
    return table((*_HEADING, *titles), [(_POSSIBLE, "", "", "", "", *possible), *rows])


def own_gradebook(lab: LabSpec, students: Sequence[ExportedPoints]) -> str:
    """Return a table with a row for each student; empty if Canvas can identify no student."""
    rows = []
    for student in students:
        person, number = student.case.person or Person(""), _number_of(student.case)
        identity = (person.name, number, person.id, person.email, person.section)
        if any(identity):
            rows.append((*identity, student.points))
    return canvas_table([lab.title], [lab.points], rows) if rows else ""


def _number_of(case: Case) -> str:
    return (case.person.canvas if case.person else "") or case.hand_in.canvas


@dataclass(frozen=True)
class Gradebook:
    """An export of the gradebook: its headings up to Section, the place of the lab's column."""

    table: ForeignTable
    students: list[str]
    assignment: int | None

    @cached_property
    def rows(self) -> dict[str, int]:
        column, rows = self.students.index("ID"), range(1, len(self.table.rows))
        numbers = {self.table.value(row, column): row for row in rows}
        return {number: row for number, row in numbers.items() if number.isdecimal()}

    def points_possible(self, lab: LabSpec) -> float:
        """Of the assignment; those of the lab if there is none."""
        for row in range(1, len(self.table.rows)) if self.assignment is not None else ():
            if "Points Possible" in self.table.value(row, 0):
                text = self.table.value(row, self.assignment or 0).replace(",", ".")
                return float(text) if _NUMBER.fullmatch(text) else lab.points
        return lab.points

    def row_of(self, case: Case) -> int | None:
        """By Canvas's number, else by an SIS id that is the student's id or address."""
        number = _number_of(case)
        if number in self.rows:
            return self.rows[number]
        columns = [place for place, name in enumerate(self.students) if name.startswith("SIS ")]
        names = case.names
        for row in self.rows.values():
            if names & {self.table.value(row, column).casefold() for column in columns}:
                return row
        return None


def read_gradebook(file: Path, lab: LabSpec) -> Gradebook | None:
    """Return the gradebook's export in a file; None if it is another table. Raises UsageError."""
    export = read_foreign_table(file, "Name the class's table.")
    heading = export.heading
    begins = heading[:1] == ["Student"] or heading[:2] == ["LastName", "FirstName"]
    if not begins or "ID" not in heading or "Section" not in heading:
        return None
    wanted = {lab.title.casefold(), lab.name.casefold()}
    titles = ((place, _ASSIGNMENT.fullmatch(text)) for place, text in enumerate(heading))
    places = [place for place, match in titles if match and match["title"].casefold() in wanted]
    if len(places) > 1:
        problem = f"{file} has {len(places)} assignments called {lab.title}."
        raise UsageError(problem, "Delete all of these columns but one.")
    students = heading[: heading.index("Section") + 1]
    return Gradebook(export, students, places[0] if places else None)


def matched(book: Gradebook, lab: LabSpec, students: Sequence[ExportedPoints]) -> FilledTable:
    """The export's rows of these students, with the lab's column and no other assignment's."""
    most = book.points_possible(lab)
    scale, width, column = most / lab.points, len(book.students), book.assignment
    rows: list[list[object]] = [[_POSSIBLE, *[""] * (width - 1), most]]
    absent, notices = [], []
    for student in students:
        if (place := book.row_of(student.case)) is None:
            absent.append(student.case.student)
        else:
            score = None if student.points is None else round(student.points * scale, 2)
            rows.append([*book.table.values(place)[:width], score])
    title = lab.title if column is None else book.table.value(0, column)
    content = table((*book.students, title), rows)
    if column is None:
        notices.append(
            f"canvas.csv makes a new assignment, as the gradebook has none called '{lab.title}'."
        )
    if most != lab.points:
        scaled = f"Canvas's assignment has {most:g} points, the lab {lab.points}"
        notices.append(f"{scaled}: scores are scaled.")
    if absent:
        notices.append(f"Not in the gradebook: {', '.join(absent)}.")
    return FilledTable(content.encode(), tuple(notices))


_LARGEST = 64 << 20  # bytes; it holds the results of all previous submissions
_ORIGIN = "Gradescope writes this file next to each submission."


class SubmittingUser(Struct, frozen=True):
    email: str = ""


class SubmissionMetadata(Struct, frozen=True):
    users: tuple[SubmittingUser, ...] = ()


def read_submitters(file: Path) -> tuple[str, ...]:
    """Return `users[].email` of /autograder/submission_metadata.json. Raises UsageError."""
    try:
        with file.open("rb") as stream:
            content = json_value(stream.read(_LARGEST))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {str(error)[:200]}.", _ORIGIN) from None
    users = typed(SubmissionMetadata, content).users
    emails = tuple(email for user in users if (email := user.email.strip()))
    if not emails:
        raise UsageError(f"{file} names no user with an e-mail address.", _ORIGIN)
    return emails


def check_submitter(case: Case, people: Sequence[Person], emails: Sequence[str]) -> Case:
    """Flag a hand-in whose student has none of these addresses: in the class's table, else id."""
    listed = {person.email.casefold() for person in people if person.id == case.student} - {""}
    known, given = listed or {case.student.casefold()}, {email.casefold() for email in emails}
    if not listed:
        given |= {email.partition("@")[0] for email in given}
    if case.refused or known & given:
        return case
    submitters = ", ".join(emails)
    text = f"It was submitted by {submitters} and is of {case.student}."
    return case.flagged(Flag("whose", text, submitters))


def results(lab: LabSpec, case: Case) -> dict[str, Any]:
    """Return results.json of answers that are marked; without a score if a person looks first."""
    if case.state in ("could not grade", "look"):
        waits = "A person will look at this hand-in before it has points."
        output = f"Could not be graded: {case.refused}" if case.refused else waits
        return {"output": output, "output_format": "text", "tests": []}
    tests = [_test(lab, mark) for mark in case.marks if mark.points is not None]
    read = f"{len(case.open)} of your answers are read by a person."
    output, score = (
        read if case.open else "Every answer is marked.",
        case.after_lateness(case.points),
    )
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
