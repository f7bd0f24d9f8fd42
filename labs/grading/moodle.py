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
from labs.grading.case import Case, ExportedPoints
from labs.grading.tables import FilledTable, ForeignTable, headings, read_foreign_table, table
from topologies.errors import UsageError

_IDENTIFIER = re.compile(r"\D*(\d{1,12})")
_NUMBER = re.compile(r"\d+(?:([.,])\d+)?")
_RIGHT_OF_MAXIMUM = 2
"""Columns that Moodle always writes there: whether a grade can be changed, and when it was."""
_DOWNLOADED = "Give the file that Moodle's 'Download grading worksheet' gave, as it is."


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
            case = student.case
            name, address = (case.person.name, case.person.email) if case.person else ("", "")
            row = (f"Participant {number}", name, address, student.points, lab.points)
            rows.append((*row, "", comment(lab, student)))
    return table((*heading, "Last modified (grade)", "Feedback comments"), rows) if rows else ""


def comment(lab: LabSpec, student: ExportedPoints) -> str:
    if student.points is None:
        return ""
    return f"{_comment_beginning(lab)} {student.points:g} of {lab.points} points."


def _comment_beginning(lab: LabSpec) -> str:
    return html.escape(f"{lab.title}:", quote=False)


@dataclass(frozen=True)
class Worksheet:
    """A worksheet: its rows of people, and columns; grades are left of the maximum `most`."""

    table: ForeignTable
    participants: list[int]
    identifier: int
    most: int
    feedback: int | None
    submission: int | None = None

    def maximum(self, row: int) -> str:
        return self.table.value(row, self.most)

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
                yield f"{student.name} has a grade in Moodle; an empty cell does not take it away."
            return
        maximum = self.maximum(row)
        points = student.points * _float(maximum) / lab.points
        self.table.put(row, self.most - 1, _written(points, maximum))
        if self.feedback is None:
            return
        before = self.table.value(row, self.feedback)
        if before and not before.startswith(_comment_beginning(lab)):
            yield f"{student.name} has a comment in Moodle already: it stays."
        else:
            self.table.put(row, self.feedback, comment(lab, student))


def filled(file: Path, lab: LabSpec, students: Sequence[ExportedPoints]) -> FilledTable:
    """Return the worksheet with scaled grades and comments; other cells stay. Raises UsageError."""
    sheet = read_worksheet(file)
    rows = dict(sheet.placed(students))
    notices = [*_about(sheet, lab, list(rows.values()), students)]
    for row, student in rows.items():
        notices += sheet.fill(row, student, lab)
    return FilledTable(sheet.table.content(), tuple(notices))


def _about(
    sheet: Worksheet,
    lab: LabSpec,
    placed: Sequence[ExportedPoints],
    students: Sequence[ExportedPoints],
) -> Iterator[str]:
    final = sum(student.points is not None for student in placed)
    yield f"moodle.csv has the grades of {final} of {len(sheet.participants)} participants."
    maxima = {_float(sheet.maximum(row)) for row in sheet.participants}
    for most in sorted(maxima - {float(lab.points)}):
        yield f"Moodle's assignment has {most:g} points, the lab {lab.points}: grades are scaled."
    if sheet.feedback is None:
        yield "The worksheet has no known column for comments: only grades are written."
    if absent := [student.name for student in students if student not in placed]:
        yield f"Not in the worksheet: {', '.join(absent)}."


def read_worksheet(file: Path) -> Worksheet:
    """The worksheet in a file. Raises UsageError, with the columns of the file if it is none."""
    sheet = read_foreign_table(file, _DOWNLOADED)
    worksheet = _recognised(sheet)
    if worksheet is None:
        seen = ", ".join(sheet.heading)[:300] or "none"
        problem = f"{file.name} is no grading worksheet that can be read. Its columns: {seen}."
        raise UsageError(problem, _DOWNLOADED)
    if not all(_NUMBER.fullmatch(worksheet.maximum(row)) for row in worksheet.participants):
        problem = f"{file.name}: the assignment's grades are no points but a scale."
        raise UsageError(problem, "Let it have points in Moodle.")
    return worksheet


def _recognised(sheet: ForeignTable) -> Worksheet | None:
    """The worksheet, by its headings in any known language, else by Moodle's usual places."""
    maximum, identifier = _place(sheet, "maximum"), _place(sheet, "identifier") or 0
    if maximum is None:
        maximum = _maximum(sheet)
    if not maximum or len(sheet.heading) <= maximum + _RIGHT_OF_MAXIMUM:
        return None
    people = _body(sheet)
    if not all(_IDENTIFIER.fullmatch(sheet.value(row, identifier)) for row in people):
        return None
    feedback, submission = _place(sheet, "feedback"), _submission(sheet, maximum)
    return Worksheet(sheet, people, identifier, maximum, feedback, submission)


def _submission(sheet: ForeignTable, maximum: int) -> int | None:
    """Return the column that is called as that of the grade's time, but for the brackets."""
    modified = headings("modified")
    beginnings = {name.partition("(")[0] for name in modified if "(" in name}
    for place, text in enumerate(map(str.casefold, sheet.heading)):
        alike = "(" in text and text.partition("(")[0] in beginnings
        if place > maximum and alike and text not in modified:
            return place
    return None


def _place(sheet: ForeignTable, role: str) -> int | None:
    names = headings(role)
    return next((at for at, text in enumerate(sheet.heading) if text.casefold() in names), None)


def _body(sheet: ForeignTable) -> list[int]:
    return [row for row in range(1, len(sheet.rows)) if any(sheet.values(row))]


def _maximum(sheet: ForeignTable) -> int | None:
    """Return the only column of one number that stands right of smaller numbers or empty cells."""
    places = [place for place in range(1, len(sheet.heading)) if _is_maximum(sheet, place)]
    return places[0] if len(places) == 1 else None


def _is_maximum(sheet: ForeignTable, column: int) -> bool:
    rows = _body(sheet)
    maxima = {sheet.value(row, column) for row in rows}
    if len(maxima) != 1 or not _NUMBER.fullmatch(most := maxima.pop()):
        return False
    grades = [text for row in rows if (text := sheet.value(row, column - 1))]
    return all(_NUMBER.fullmatch(text) and _float(text) <= _float(most) for text in grades)


def _number_of(case: Case) -> str:
    """Return the number by which Moodle names the participant; empty if it is not known."""
    identifier = case.hand_in.moodle or (case.person.moodle if case.person else "")
    match = _IDENTIFIER.fullmatch(identifier)
    return match[1] if match else ""


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _written(points: float, like: str) -> str:
    """Return 91.67, or 91,67 if the maximum is 100,00 (unformat_float in lib/moodlelib.php)."""
    match = _NUMBER.fullmatch(like)
    return f"{points:.2f}".replace(".", match[1] if match and match[1] else ".")
