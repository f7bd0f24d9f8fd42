"""canvas.csv: for the import of Canvas's gradebook.

What is said here of the import is read in instructure/canvas-lms: lib/gradebook_importer.rb and
lib/gradebook_exporter.rb.

* The first columns are Student, ID, SIS User ID, SIS Login ID, Section, as the gradebook's own export has them. A row
  is matched by ID, then by the SIS ids, then by the name.
* An assignment is found by the number in "Title (number)", then by its title; any other heading makes a new one. The
  row "Points Possible" sets its points if it is new.
* A cell that is empty, while Canvas has a score, is a change that the import shows and asks about: students without
  final points have an empty cell, never zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.grading.case import Case, Exported
from labs.grading.tables import Filled, ForeignTable, foreign, table
from labs.spec import LabSpec
from topologies.errors import UsageError

_ASSIGNMENT = re.compile(r"(?P<title>.+) \((?P<number>\d+)\)")
_HEADING = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_POSSIBLE = "    Points Possible"


@dataclass(frozen=True)
class Gradebook:
    """An export of the gradebook. `students` are its first columns, up to Section; `assignment` is the lab's column."""

    table: ForeignTable
    students: list[str]
    assignment: int | None

    @property
    def rows(self) -> dict[str, int]:
        """The row of each student, by Canvas's number."""
        column = self.students.index("ID")
        found = range(1, len(self.table.rows))
        return {number: row for row in found if (number := self.table.value(row, column)).isdecimal()}

    def points_possible(self, lab: LabSpec) -> float:
        """Of the assignment; those of the lab if there is none."""
        if self.assignment is None:
            return lab.points
        for row in range(1, len(self.table.rows)):
            if "Points Possible" in self.table.value(row, 0):
                text = self.table.value(row, self.assignment).replace(",", ".")
                return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else lab.points
        return lab.points


def read_gradebook(file: Path, lab: LabSpec) -> Gradebook | None:
    """The export of Canvas's gradebook in a file; None if it is another table. Raises UsageError."""
    try:
        found = foreign(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Name the class's table.") from None
    heading = found.values(0) if found.rows else []
    begins = heading[:1] == ["Student"] or heading[:2] == ["LastName", "FirstName"]
    if not begins or "ID" not in heading or "Section" not in heading:
        return None
    students = heading[: heading.index("Section") + 1]
    return Gradebook(found, students, _assignment(heading, lab, file))


def _assignment(heading: Sequence[str], lab: LabSpec, file: Path) -> int | None:
    wanted = {lab.title.casefold(), lab.name.casefold()}
    named = {place: match["title"] for place, text in enumerate(heading) if (match := _ASSIGNMENT.fullmatch(text))}
    found = [place for place, title in named.items() if title.casefold() in wanted]
    if len(found) > 1:
        raise UsageError(f"{file} has {len(found)} assignments called {lab.title}.", "Delete a column of the two.")
    return found[0] if found else None


def own_gradebook(lab: LabSpec, students: Sequence[Exported]) -> str:
    """A table of our own, a row for each student; empty if Canvas could know nobody."""
    rows = [(*_known(one.case), one.points) for one in students if one.case.person or one.case.hand_in.canvas]
    heading, possible = (*_HEADING, lab.title), (_POSSIBLE, "", "", "", "", lab.points)
    return table(heading, [possible, *rows]) if rows else ""


def _known(case: Case) -> tuple[str, ...]:
    person = case.person
    if person is None:
        return ("", case.hand_in.canvas, "", "", "")
    return (person.name, person.canvas or case.hand_in.canvas, person.id, person.email, person.section)


def matched(book: Gradebook, lab: LabSpec, students: Sequence[Exported]) -> Filled:
    """The rows of the export that belong to these students, with the lab's column and no other assignment's."""
    most, rows = book.points_possible(lab), book.rows
    numbers = [_number_of(one.case, book) for one in students]
    known = [(one, rows[number]) for one, number in zip(students, numbers, strict=True) if number in rows]
    width = len(book.students)
    body = [
        (*book.table.values(row)[:width], None if one.points is None else round(one.points * most / lab.points, 2))
        for one, row in known
    ]
    title = lab.title if book.assignment is None else book.table.value(0, book.assignment)
    possible = (_POSSIBLE, *[""] * (width - 1), most)
    content = table((*book.students, title), [possible, *body])
    absent = [one.case.student for one, number in zip(students, numbers, strict=True) if number not in rows]
    return Filled(content.encode(), tuple(_about(book, lab, most, absent)))


def _number_of(case: Case, book: Gradebook) -> str:
    """Canvas's number of the student, else the one in the row that has the id or the address as an SIS id."""
    known = (case.person.canvas if case.person else "") or case.hand_in.canvas
    if known in book.rows:
        return known
    columns = [place for place, name in enumerate(book.students) if name.startswith("SIS ")]
    email = case.person.email if case.person else ""
    names = {name.casefold() for name in (case.student, email) if name}
    for number, row in book.rows.items():
        if names & {book.table.value(row, column).casefold() for column in columns}:
            return number
    return ""


def _about(book: Gradebook, lab: LabSpec, most: float, absent: Sequence[str]) -> Iterator[str]:
    if book.assignment is None:
        yield f"canvas.csv makes a new assignment in Canvas, '{lab.title}': the gradebook has none of that name."
    if most != lab.points:
        yield f"The assignment in Canvas has {most:g} points and the lab {lab.points}: scores are scaled to {most:g}."
    if absent:
        yield f"Not in the gradebook: {', '.join(absent)}."
