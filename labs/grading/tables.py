"""CSV tables: new ones, those of course systems, and the table of the class.

In a course system's table only the cells that change are new bytes. New cells that a
spreadsheet would take for a formula get an apostrophe in front (OWASP, CSV injection). Where
numbers have a decimal comma, spreadsheets separate cells by semicolons, and there quotation marks
within a line mean little: what follows a semicolon is treated as another cell.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labs.definition.answers import byte_order_mark, decoded
from labs.definition.assignment import student_id
from topologies.errors import UsageError
from topologies.notation import toml_file

_FORMULA = r"[=+\-@|%\uff1d\uff0b\uff0d\uff20]"
"""Characters that begin a formula; the last four are full-width ones of East Asian keyboards."""
_BEGINS_FORMULA = re.compile(rf"^(?={_FORMULA})|(?<=;)(?=[\s\"]*{_FORMULA})")
"""The places for an apostrophe."""
_QUOTED = re.compile(r"[,;\"]")


def cell(value: Any) -> str:
    """Return a cell that no spreadsheet takes for a formula. Numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}"
    return _BEGINS_FORMULA.sub("'", " ".join(str(value).split()))


def table(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return "".join(f"{','.join(map(_written, row))}\n" for row in (heading, *rows))


def _written(value: Any) -> str:
    text = cell(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


@dataclass(frozen=True)
class FilledTable:
    """A table for a course system, and sentences for the instructor who imports it."""

    content: bytes
    notices: tuple[str, ...] = ()


@dataclass
class ForeignTable:
    """A table of a course system. `rows` hold cells as written, quotation marks included."""

    rows: list[list[str]]
    ends: list[str]  # what ends each row: the characters of its line end
    delimiter: str
    mark: bytes
    encoding: str

    @property
    def heading(self) -> list[str]:
        return self.values(0) if self.rows else []

    def value(self, row: int, column: int) -> str:
        return _unquoted(self.rows[row][column]) if column < len(self.rows[row]) else ""

    def values(self, row: int) -> list[str]:
        return [_unquoted(raw) for raw in self.rows[row]]

    def put(self, row: int, column: int, text: str) -> None:
        """Another text for a cell that is there, in quotation marks if it needs them."""
        plain = re.fullmatch(r"[\w.]*", text)
        self.rows[row][column] = text if plain else '"' + text.replace('"', '""') + '"'

    def content(self) -> bytes:
        """The file. What the encoding does not have is written as in HTML, such as &#8217;."""
        lines = zip(self.rows, self.ends, strict=True)
        text = "".join(self.delimiter.join(row) + end for row, end in lines)
        return self.mark + text.encode(self.encoding, "xmlcharrefreplace")


def read_foreign_table(file: Path, remedy: str) -> ForeignTable:
    """Return the table in a file. Raises UsageError if it cannot be read."""
    try:
        return foreign_table(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", remedy) from None


def foreign_table(content: bytes) -> ForeignTable:
    """Return a table, separated by what its first line has most of: commas, semicolons or tabs."""
    mark, encoding = byte_order_mark(content)
    try:
        text = content.removeprefix(mark).decode(encoding)
    except UnicodeDecodeError:  # latin-1 takes every byte and gives it back
        text, mark, encoding = content.decode("latin-1"), b"", "latin-1"
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    # A cell, quoted (RFC 4180) or not, and what ends it.
    cell = rf'((?:"(?:[^"]|"")*")?[^{delimiter}\r\n]*)({delimiter}|\r\n|\n|\r|\Z)'
    sheet = ForeignTable([], [], delimiter, mark, encoding)
    row: list[str] = []
    for match in re.finditer(cell, text):
        row.append(match[1])
        if match[2] == delimiter:
            continue
        sheet.rows.append(row)
        sheet.ends.append(match[2])
        row = []
        if match.end() == len(text):
            break
    return sheet


def _unquoted(raw: str) -> str:
    text = raw.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').strip()
    return text


_MOODLE = Path(__file__).with_name("moodle_headings.toml")


@cache
def headings(role: str, of_people: bool = False) -> tuple[str, ...]:
    """Return Moodle's headings for a column by language, perhaps only those of people's tables."""
    languages = toml_file(_MOODLE).values()
    known = (each for each in languages if role in each and (not of_people or "idnumber" in each))
    names = (each[role] if isinstance(each[role], list) else [each[role]] for each in known)
    return tuple(dict.fromkeys(name.casefold() for listed in names for name in listed))


_IDENTIFIER = headings("identifier", of_people=True)
_PARTICIPANT = re.compile(
    rf"(?:{'|'.join(map(re.escape, headings('participant')))})\s*([0-9]{{1,12}})", re.IGNORECASE
)
_COLUMNS = {
    "id": (
        *("id", "student id", "sis user id", *headings("idnumber"), *headings("username")),
        *("sis login id", "login id", *_IDENTIFIER, *headings("email")),
    ),
    "name": ("name", *headings("fullname"), "student"),
    "first": headings("firstname"),
    "last": headings("lastname"),
    "email": ("email", *headings("email"), "sis login id"),
    "moodle": ("moodle",),
    "canvas": ("canvas",),
    "section": ("section",),
    "group": ("group",),
}
"""The headings under which each column is looked for, in order."""
_REMEDY = "Begin it with a line that names the columns, one called id; or write one id in a line."
_SAVE = 'Save it as CSV in UTF-8; Excel calls that "CSV UTF-8".'
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Person:
    """A student with the numbers in `moodle` and `canvas`; a group's name is its hand-in's id."""

    id: str
    name: str = ""
    email: str = ""
    moodle: str = ""
    canvas: str = ""
    section: str = ""
    group: str = ""


def read_roster(file: Path) -> list[Person]:
    """Return everybody in a table as Excel saves it, or of one id in a line. Raises UsageError."""
    try:
        text = decoded(file.read_bytes())
        tables = {delimiter: _rows(text, delimiter) for delimiter in _DELIMITERS}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Name another.") from None
    except (ValueError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read as a table of students: {error}.", _SAVE) from None
    if not any(tables.values()):
        raise UsageError(f"{file} names no student.", _REMEDY)
    # The rows are those of the delimiter that gives a column of ids, or the most columns.
    best = max(tables.values(), key=lambda rows: (_has_ids(rows), max(map(len, rows))))
    people = list(_people(file, best))
    ids = [person.id for person in people]
    if repeated := next((student for student, count in Counter(ids).items() if count > 1), None):
        raise UsageError(f"{file} names {repeated} twice.", "Give each student a different id.")
    return people


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The rows that are not empty. Excel may begin a file with a line that names the delimiter."""
    lines = text.splitlines()
    if lines and re.fullmatch("sep=.", lines[0], re.IGNORECASE):
        lines = lines[1:]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    return [row for row in rows if any(row)]


def _has_ids(rows: Sequence[Sequence[str]]) -> bool:
    return any(name in _COLUMNS["id"] for name in _heading(rows[0]))


def _heading(row: Sequence[str]) -> list[str]:
    plain = (cell.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for cell in row)
    return [" ".join(cell.split()) for cell in plain]


def _people(file: Path, rows: Sequence[Sequence[str]]) -> Iterator[Person]:
    heading = _heading(rows[0])
    if _has_ids(rows):
        others = (row for row in rows if _heading(row) != heading)
        people = [_person(dict(zip(heading, row, strict=False)), heading) for row in others]
        if not any(person.id for person in people):
            raise UsageError(f"{file} has no ids in its column of ids.", _REMEDY)
        yield from (person for person in people if person.id)
        return
    # The first line of a list is a heading if it is known as one, or unlike all ids.
    is_known = any(heading[0] in names for names in _COLUMNS.values())
    first, *rest = (bool(re.search(r"[0-9@]", row[0])) for row in rows)
    if max(map(len, rows)) > 1 or is_known or (rest and all(rest) and not first):
        names = ", ".join(f"'{cell[:40]}'" for cell in rows[0][:6])
        raise UsageError(f"{file} begins with {names}, and none is a column of ids.", _REMEDY)
    yield from (Person(student_id(row[0])) for row in rows)


def _person(cells: dict[str, str], heading: Sequence[str]) -> Person:
    """Return a row; Canvas's `ID` is Canvas's number, Moodle's may be that of a participant."""
    canvas_export = "sis user id" in heading or "sis login id" in heading
    numbers = {name: _participant(name, cells.get(name, "")) for name in _IDENTIFIER}
    participant = next(filter(None, numbers.values()), "")
    other = {*(["id"] if canvas_export else []), *(name for name in numbers if numbers[name])}

    def cell(what: str) -> str:
        names = (name for name in _COLUMNS[what] if what != "id" or name not in other)
        return next((cells[name] for name in names if cells.get(name)), "")

    name = cell("name") or f"{cell('first')} {cell('last')}".strip()
    canvas = cell("canvas") or (cells.get("id", "") if canvas_export else "")
    moodle = participant or _PARTICIPANT.sub(r"\1", cell("moodle"))
    student = student_id(cell("id")) if cell("id") else ""
    return Person(student, name, cell("email"), moodle, canvas, cell("section"), cell("group"))


def _participant(heading: str, cell: str) -> str:
    """Moodle's number of a participant, in a worksheet's first column, which is ID in German."""
    if words := _PARTICIPANT.fullmatch(cell):
        return words[1]
    return cell if heading == "identifier" and cell.isdecimal() else ""
