"""The class: a CSV table of the instructor, such as Moodle's or Canvas's own export of grades."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from labs.course import student_id
from topologies.errors import UsageError

_COLUMNS = {
    "id": ("id", "student id", "sis user id", "id number", "username", "sis login id", "login id", "email address"),
    "name": ("name", "full name", "student"), "email": ("email", "email address", "sis login id"),
    "moodle": ("moodle", "identifier"), "canvas": ("canvas", "id"), "section": ("section",),
}  # fmt: skip
"""What a column is for, and the names under which it is looked for, in order."""


@dataclass(frozen=True)
class Person:
    """A student. `moodle` and `canvas` are the numbers by which these name a hand-in."""

    id: str
    name: str = ""
    email: str = ""
    moodle: str = ""
    canvas: str = ""
    section: str = ""


def read_roster(file: Path) -> list[Person]:
    """Everybody in a table with a heading, or with one id in a line. Raises UsageError."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read as a table of students: {error}.", "Write it as CSV.") from None
    if not rows:
        raise UsageError(f"{file} names no student.", "Write one id in a line, or a table with a column id.")
    heading = [cell.lower() for cell in rows[0]]
    is_table = any(name in heading for name in _COLUMNS["id"])
    people = [_person(heading, row) for row in rows[1:]] if is_table else [Person(student_id(row[0])) for row in rows]
    people = [person for person in people if person.id]
    if twice := next((one.id for one in people if sum(one.id == other.id for other in people) > 1), None):
        raise UsageError(f"{file} names {twice} twice.", "Give everybody an id of their own.")
    return people


def _person(heading: list[str], row: list[str]) -> Person:
    cells = dict(zip(heading, row, strict=False))
    canvas_export = "sis user id" in heading or "sis login id" in heading  # there `ID` is Canvas's own number

    def cell(what: str) -> str:
        names = [name for name in _COLUMNS[what] if not (name == "id" and (what == "id") == canvas_export)]
        return next((cells[name] for name in names if cells.get(name)), "")

    found = cell("id")
    number = cell("moodle").removeprefix("Participant").strip()
    return Person(student_id(found) if found else "", cell("name"), cell("email"), number, cell("canvas"),
                  cell("section"))  # fmt: skip
