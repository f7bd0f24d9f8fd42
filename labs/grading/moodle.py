"""moodle.csv: the instructor's grading worksheet filled, or a new one that Moodle can read.

The importer's behaviour is from moodle/moodle, mod/assign: feedback/offline/importgradeslib.php
(which columns it finds, by their headings in the language of who uploads), locallib.php next to it
(which rows it passes over), gradingtable.php (how a worksheet is written).

* It needs the columns Identifier, Grade and Last modified (grade); it takes Feedback comments too.
* It passes over a row whose grade is empty or above the assignment's maximum, and a row whose grade
  was given in Moodle more than a minute after its Last modified (grade). An empty grade takes no
  grade away.
* It takes a comment that differs, as HTML, also of a row without a grade, and then the grade's date
  is now. So rows without final points stay unchanged.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.definition.spec import LabSpec
from labs.grading import tables
from labs.grading.case import Case, ExportedPoints
from topologies.errors import UsageError

_IDENTIFIER = re.compile(r"\D*(\d{1,12})")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_RIGHT_OF_MAXIMUM = 2
"""Columns that Moodle always writes there: whether a grade can be changed, and when it was."""
_DOWNLOADED = "Give the file of Moodle's 'Download grading worksheet' as it is, or in English."


def own_worksheet(lab: LabSpec, students: Sequence[ExportedPoints]) -> str:
    """Return a worksheet in English; empty if no student's number in Moodle is known.

    The space in "Participant 17" is right for every Moodle. The importer cuts off as many
    characters as its own word for a participant has, "Participant" or "Participant ", and reads the
    rest as a number.
    """
    heading = ("Identifier", "Full name", "Email address", "Grade", "Maximum grade")
    rows = []
    for student in students:
        if number := _number_of(student.case):
            person = student.case.person or tables.Person("")
            row = (f"Participant {number}", person.name, person.email, student.points, lab.points)
            rows.append((*row, "", comment(lab, student) if student.points is not None else ""))
    return (
        tables.table((*heading, "Last modified (grade)", "Feedback comments"), rows) if rows else ""
    )


def comment(lab: LabSpec, student: ExportedPoints) -> str:
    return f"{_comment_beginning(lab)} {student.points:g} of {lab.points} points."


def _comment_beginning(lab: LabSpec) -> str:
    return html.escape(f"{lab.title}:", quote=False)


@dataclass(frozen=True)
class Worksheet:
    """A worksheet: its rows of people, and columns; grades are left of the maximum `most`."""

    table: tables.ForeignTable
    participants: list[int]
    identifier: int
    most: int
    feedback: int | None
    submission: int | None = None

    def maximum(self, row: int) -> float:
        return float(self.table.value(row, self.most).replace(",", "."))

    def placed(self, students: Sequence[ExportedPoints]) -> Iterator[tuple[int, ExportedPoints]]:
        """Each row with its student: by the number in Moodle, else by a cell of id or address."""
        numbers = {_number_of(student.case): student for student in students}
        unknown = [student for student in students if not _number_of(student.case)]
        for row in self.participants:
            identifier = _IDENTIFIER.fullmatch(self.table.value(row, self.identifier))
            cells = {text.casefold() for text in self.table.values(row)[: self.most - 1]}
            named = [student for student in unknown if cells & student.case.names]
            if identifier and identifier[1] in numbers:
                yield row, numbers[identifier[1]]
            elif len(named) == 1:
                yield row, named[0]

    def submitted(self, case: Case) -> str:
        """Return the time of a student's hand-in in Moodle's words; empty if it is unknown."""
        rows = [row for row, _ in self.placed([ExportedPoints(case, None)])]
        known = len(rows) == 1 and self.submission is not None
        return self.table.value(rows[0], self.submission or 0) if known else ""

    def fill(self, row: int, student: ExportedPoints, lab: LabSpec) -> Iterator[str]:
        """Write a student's row. Yields sentences about what the importer will not do with it."""
        if student.points is None:
            if self.table.value(row, self.most - 1):
                self.table.put(row, self.most - 1, "")
                kept = "has a grade in Moodle; an empty cell does not take it away."
                yield f"{student.case.student} {kept}"
            return
        points = f"{student.points * self.maximum(row) / lab.points:.2f}"
        # 91.67, or 91,67 if the maximum is 100,00 (unformat_float in lib/moodlelib.php).
        comma = "," in self.table.value(row, self.most)
        self.table.put(row, self.most - 1, points.replace(".", ",") if comma else points)
        if self.feedback is None:
            return
        before = self.table.value(row, self.feedback)
        if before and not before.startswith(_comment_beginning(lab)):
            yield f"{student.case.student} has a comment in Moodle already: it stays."
        else:
            self.table.put(row, self.feedback, comment(lab, student))


def filled(file: Path, lab: LabSpec, students: Sequence[ExportedPoints]) -> tables.FilledTable:
    """Return the worksheet with scaled grades and comments; other cells stay. Raises UsageError."""
    sheet = read_worksheet(file)
    rows = dict(sheet.placed(students))
    placed, participants = list(rows.values()), sheet.participants
    final = sum(student.points is not None for student in placed)
    notices = [f"moodle.csv has the grades of {final} of {len(participants)} participants."]
    for most in sorted({sheet.maximum(row) for row in participants} - {float(lab.points)}):
        scaled = f"Moodle's assignment has {most:g} points, the lab {lab.points}: grades are"
        notices.append(f"{scaled} scaled.")
    if sheet.feedback is None:
        notices.append("The worksheet has no known column for comments: only grades are written.")
    if absent := [student.case.student for student in students if student not in placed]:
        notices.append(f"Not in the worksheet: {', '.join(absent)}.")
    for row, student in rows.items():
        notices += sheet.fill(row, student, lab)
    return tables.FilledTable(sheet.table.content(), tuple(notices))


def read_worksheet(file: Path) -> Worksheet:
    """The worksheet in a file. Raises UsageError, with the columns of the file if it is none."""
    sheet = tables.read_foreign_table(file, _DOWNLOADED)
    worksheet = _recognised(sheet)
    if worksheet is None:
        seen = ", ".join(sheet.heading)[:300] or "none"
        problem = f"{file.name} is no grading worksheet that can be read. Its columns: {seen}."
        raise UsageError(problem, _DOWNLOADED)
    maxima = (sheet.value(row, worksheet.most) for row in worksheet.participants)
    if not all(map(_NUMBER.fullmatch, maxima)):
        problem = f"{file.name}: the assignment's grades are no points but a scale."
        raise UsageError(problem, "Let it have points in Moodle.")
    return worksheet


def _recognised(sheet: tables.ForeignTable) -> Worksheet | None:
    heading = [text.casefold() for text in sheet.heading]
    people = [row for row in range(1, len(sheet.rows)) if any(sheet.values(row))]

    def place(role: str) -> int | None:
        names = tables.headings(role)
        return next((at for at, text in enumerate(heading) if text in names), None)

    maximum, identifier = place("maximum"), place("identifier")
    if not maximum or identifier is None or len(heading) <= maximum + _RIGHT_OF_MAXIMUM:
        return None
    if not all(_IDENTIFIER.fullmatch(sheet.value(row, identifier)) for row in people):
        return None
    # The time of a hand-in is called as that of the grade, but for the brackets.
    modified = tables.headings("modified")
    beginnings = {name.partition("(")[0] for name in modified if "(" in name}
    times = (
        at
        for at, text in enumerate(heading)
        if at > maximum and "(" in text and text.partition("(")[0] in beginnings
        if text not in modified
    )
    return Worksheet(sheet, people, identifier, maximum, place("feedback"), next(times, None))


def _number_of(case: Case) -> str:
    identifier = case.hand_in.moodle or (case.person.moodle if case.person else "")
    match = _IDENTIFIER.fullmatch(identifier)
    return match[1] if match else ""
