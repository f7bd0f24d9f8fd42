"""moodle.csv: the instructor's own grading worksheet filled, or one of ours that Moodle's importer reads.

What is said here of the importer is read in moodle/moodle: mod/assign/feedback/offline/importgradeslib.php (which
columns it finds, by their headings in the language of who uploads), mod/assign/feedback/offline/locallib.php (which
rows it passes over), mod/assign/gradingtable.php (how a worksheet is written).

* It needs the columns Identifier, Grade and Last modified (grade), and takes Feedback comments if they are there.
* It passes over a row whose grade is empty or above the assignment's maximum, and one whose grade was given in Moodle
  more than a minute after the row's Last modified (grade). An empty grade takes no grade away.
* It takes a feedback that differs, as HTML, also of a row without a grade, and dates the row by it. So nothing is
  written into rows that have no final points yet.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labs.grading.case import Case, Exported
from labs.grading.tables import Filled, ForeignTable, foreign, table
from labs.spec import LabSpec
from topologies.errors import UsageError

_HEADINGS = Path(__file__).with_name("moodle_headings.toml")
_IDENTIFIER = re.compile(r"\D*(\d{1,12})")
_NUMBER = re.compile(r"\d+(?:([.,])(\d+))?")
_BETWEEN = 2
"""Columns that Moodle writes right of the maximum in any case: whether a grade can be changed, and when it was."""
_REMEDY = "Give the file that Moodle's 'Download grading worksheet' gave, as it is."


@dataclass(frozen=True)
class Columns:
    """The places of what is read and written. `feedback` is None if the worksheet has none that is known."""

    identifier: int
    grade: int
    maximum: int
    feedback: int | None


def own_worksheet(lab: LabSpec, students: Sequence[Exported]) -> str:
    """A worksheet in English; empty if no student's number in Moodle is known.

    The space in "Participant 17" is right for every Moodle: the importer cuts as many characters off as its word for a
    participant has, which is "Participant" in some and "Participant " in others, and the rest is read as a number.
    """
    rows = [
        (f"Participant {number}", name, email, one.points, lab.points, "-", comment(lab, one))
        for one in students
        if (number := _number_of(one.case))
        for name, email in [_person(one.case)]
    ]
    heading = ("Identifier", "Full name", "Email address", "Grade", "Maximum grade")
    return table((*heading, "Last modified (grade)", "Feedback comments"), rows) if rows else ""


def _person(case: Case) -> tuple[str, str]:
    return (case.person.name, case.person.email) if case.person else ("", "")


def comment(lab: LabSpec, one: Exported) -> str:
    """The feedback comment, as HTML; empty without final points."""
    if one.points is None:
        return ""
    return html.escape(f"{lab.title}: {one.points:g} of {lab.points} points.", quote=False)


def filled(file: Path, lab: LabSpec, students: Sequence[Exported]) -> Filled:
    """The worksheet in `file` with the grades and comments of these students; nothing else is changed.

    Points are scaled to the assignment's maximum. Raises UsageError for a file that is no worksheet.
    """
    sheet, columns = read_worksheet(file)
    rows = dict(_rows(sheet, columns, students))
    notices = [sentence for row, one in rows.items() for sentence in _fill(sheet, columns, row, one, lab)]
    return Filled(sheet.content(), (*_about(sheet, columns, lab, rows, students), *notices))


def read_worksheet(file: Path) -> tuple[ForeignTable, Columns]:
    """The worksheet in a file. Raises UsageError if it is none."""
    try:
        sheet = foreign(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", _REMEDY) from None
    return sheet, recognised(sheet, file.name)


def recognised(sheet: ForeignTable, name: str) -> Columns:
    """The columns, by their headings in any known language, then by where Moodle writes them. Raises UsageError."""
    headings = sheet.values(0) if sheet.rows else []
    known = {role: _place(headings, names) for role, names in _headings().items()}
    maximum = known["maximum"] if known["maximum"] is not None else _constant(sheet)
    identifier = 0 if known["identifier"] is None else known["identifier"]
    whole = maximum is not None and len(headings) > maximum + _BETWEEN
    if maximum is None or not whole or maximum < 1 or not _are_identifiers(sheet, identifier):
        seen = ", ".join(headings)[:300] or "none"
        raise UsageError(f"{name} is no grading worksheet that can be read. Its columns: {seen}.", _REMEDY)
    columns = Columns(identifier, maximum - 1, maximum, known["feedback"])
    if any(not _NUMBER.fullmatch(sheet.value(row, maximum)) for row in _body(sheet)):
        raise UsageError(f"{name}: the assignment's grades are no points but a scale.", "Let it have points in Moodle.")
    return columns


@cache
def _headings() -> Mapping[str, frozenset[str]]:
    languages = tomllib.loads(_HEADINGS.read_text()).values()
    roles = {role for language in languages for role in language}
    return {
        role: frozenset(names[role].casefold() for names in languages if role in names) for role in roles
    }


def _place(headings: Sequence[str], names: frozenset[str]) -> int | None:
    return next((place for place, text in enumerate(headings) if text.casefold() in names), None)


def _body(sheet: ForeignTable) -> list[int]:
    """The rows of students."""
    return [row for row in range(1, len(sheet.rows)) if any(sheet.values(row))]


def _are_identifiers(sheet: ForeignTable, column: int) -> bool:
    return all(_IDENTIFIER.fullmatch(sheet.value(row, column)) for row in _body(sheet))


def _constant(sheet: ForeignTable) -> int | None:
    """The only column that holds one number in all rows, right of one that holds none or smaller ones: the maximum."""
    found = [column for column in range(1, len(sheet.rows[0])) if _is_maximum(sheet, column)]
    return found[0] if len(found) == 1 else None


def _is_maximum(sheet: ForeignTable, column: int) -> bool:
    rows = _body(sheet)
    values = {sheet.value(row, column) for row in rows}
    if len(values) != 1 or not _NUMBER.fullmatch(most := values.pop()):
        return False
    grades = [sheet.value(row, column - 1) for row in rows]
    return all(not text or (_NUMBER.fullmatch(text) and _float(text) <= _float(most)) for text in grades)


def _rows(
    sheet: ForeignTable, columns: Columns, students: Sequence[Exported]
) -> Iterator[tuple[int, Exported]]:
    """The row of each student who has one: by the number in Moodle, else by a cell with the address or the id."""
    numbers = {number: one for one in students if (number := _number_of(one.case))}
    others = [one for one in students if not _number_of(one.case)]
    for row in _body(sheet):
        match = _IDENTIFIER.fullmatch(sheet.value(row, columns.identifier))
        cells = {text.casefold() for text in sheet.values(row)[: columns.grade] if text}
        named = [one for one in others if cells & _names_of(one.case)]
        if match and match[1] in numbers:
            yield row, numbers[match[1]]
        elif len(named) == 1:
            yield row, named[0]


def _number_of(case: Case) -> str:
    """The number by which Moodle names the participant; empty if it is not known."""
    known = case.hand_in.moodle or (case.person.moodle if case.person else "")
    match = _IDENTIFIER.fullmatch(known)
    return match[1] if match else ""


def _names_of(case: Case) -> set[str]:
    email = case.person.email if case.person else ""
    return {name.casefold() for name in (case.student, email) if name}


def _fill(
    sheet: ForeignTable, columns: Columns, row: int, one: Exported, lab: LabSpec
) -> Iterator[str]:
    """Write one student's row, and say what the importer will not do with it."""
    before, student = sheet.value(row, columns.grade), one.case.student
    if one.points is None:
        sheet.put(row, columns.grade, "")
        if before:
            yield f"{student} has a grade in Moodle, which an empty cell does not take away: see to it there."
        return
    maximum = sheet.value(row, columns.maximum)
    points = one.points * _float(maximum) / lab.points
    sheet.put(row, columns.grade, _written(points, maximum))
    if columns.feedback is None:
        return
    if (said := sheet.value(row, columns.feedback)) and not said.startswith(html.escape(lab.title, quote=False)):
        yield f"{student} has a comment in Moodle already: it stays."
        return
    sheet.put(row, columns.feedback, comment(lab, one))


def _about(
    sheet: ForeignTable, columns: Columns, lab: LabSpec, rows: Mapping[int, Exported], students: Sequence[Exported]
) -> Iterator[str]:
    """Sentences about the worksheet as a whole."""
    final = sum(one.points is not None for one in rows.values())
    yield f"moodle.csv has the grades of {final} of {len(_body(sheet))} participants."
    maxima = {_float(sheet.value(row, columns.maximum)) for row in _body(sheet)}
    for most in sorted(maxima - {float(lab.points)}):
        yield f"The assignment in Moodle has {most:g} points and the lab {lab.points}: grades are scaled to {most:g}."
    if columns.feedback is None:
        yield "The worksheet has no known column for comments: only grades are written."
    placed = {id(one) for one in rows.values()}
    if absent := [one.case.student for one in students if id(one) not in placed]:
        yield f"Not in the worksheet: {', '.join(absent)}."


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _written(points: float, like: str) -> str:
    """As the worksheet writes its maximum: 91.67, or 91,67 if it says 100,00."""
    mark = match[1] if (match := _NUMBER.fullmatch(like)) and match[1] else "."
    return f"{points:.2f}".replace(".", mark)
