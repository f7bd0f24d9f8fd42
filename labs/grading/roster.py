"""The class's table, such as an export of Moodle or Canvas, and the owner of a hand-in.

The course system's word decides about the owner, not the hand-in itself.
"""

from __future__ import annotations

import csv
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labs.definition.answers import decoded
from labs.definition.assignment import student_id
from labs.grading.intake import HandIn
from topologies.errors import UsageError

_MOODLE = Path(__file__).with_name("moodle_headings.toml")


@cache
def headings(role: str, of_people: bool = False) -> tuple[str, ...]:
    """Return Moodle's headings for a column, in small letters, once for each language.

    `of_people` leaves out the languages in which no table of people is read.
    """
    languages = tomllib.loads(_MOODLE.read_text("utf-8")).values()
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
}
"""The headings under which each column is looked for, in order."""
_REMEDY = "Begin it with a line that names the columns, one called id; or write one id in a line."
_SAVE = 'Save it as CSV in UTF-8; Excel calls that "CSV UTF-8".'
_DELIMITERS = ",;\t"


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
    """Everybody in a table with a heading, or with one id in a line. Raises UsageError.

    Cells may be separated by commas, semicolons or tabs, in UTF-8 or UTF-16, as Excel saves them.
    """
    try:
        text = decoded(file.read_bytes())
        tables = {delimiter: _rows(text, delimiter) for delimiter in _DELIMITERS}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", "Name another.") from None
    except (ValueError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read as a table of students: {error}.", _SAVE) from None
    if not any(tables.values()):
        raise UsageError(f"{file} names no student.", _REMEDY)
    people = list(_people(file, max(tables.values(), key=_fitness)))
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


def _fitness(rows: Sequence[Sequence[str]]) -> tuple[bool, int]:
    """Rate a delimiter: whether it gives a column of ids, and many columns."""
    heading = _heading(rows[0])
    return any(name in _COLUMNS["id"] for name in heading), max(map(len, rows))


def _heading(row: Sequence[str]) -> list[str]:
    plain = (cell.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for cell in row)
    return [" ".join(cell.split()) for cell in plain]


def _people(file: Path, rows: Sequence[Sequence[str]]) -> Iterator[Person]:
    heading = _heading(rows[0])
    if any(name in _COLUMNS["id"] for name in heading):
        others = (row for row in rows if _heading(row) != heading)
        people = [_person(dict(zip(heading, row, strict=False)), heading) for row in others]
        if not any(person.id for person in people):
            raise UsageError(f"{file} has no ids in its column of ids.", _REMEDY)
        yield from (person for person in people if person.id)
        return
    if max(map(len, rows)) > 1 or _is_heading(heading[0], rows[1:]):
        names = ", ".join(f"'{cell[:40]}'" for cell in rows[0][:6])
        raise UsageError(f"{file} begins with {names}, and none is a column of ids.", _REMEDY)
    yield from (Person(student_id(row[0])) for row in rows)


def _is_heading(first: str, others: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line of a list is a heading: known as one, or unlike all ids."""
    is_known = any(first in names for names in _COLUMNS.values())
    id_like = [bool(re.search(r"[0-9@]", row[0])) for row in others]
    return is_known or (bool(id_like) and all(id_like) and not re.search(r"[0-9@]", first))


def _person(cells: dict[str, str], heading: Sequence[str]) -> Person:
    """Return a row of a table by its headings.

    Canvas's `ID` is Canvas's number, Moodle's may be that of a participant.
    """
    canvas_export = "sis user id" in heading or "sis login id" in heading
    numbers = (_participant(name, cells.get(name, "")) for name in _IDENTIFIER)
    participant = next(filter(None, numbers), "")
    other = {"id"} if canvas_export else set()
    other |= {name for name in _IDENTIFIER if _participant(name, cells.get(name, ""))}

    def cell(what: str) -> str:
        names = (name for name in _COLUMNS[what] if what != "id" or name not in other)
        return next((cells[name] for name in names if cells.get(name)), "")

    name = cell("name") or f"{cell('first')} {cell('last')}".strip()
    canvas = cell("canvas") or (cells.get("id", "") if canvas_export else "")
    moodle = participant or _PARTICIPANT.sub(r"\1", cell("moodle"))
    student = student_id(cell("id")) if cell("id") else ""
    return Person(student, name, cell("email"), moodle, canvas, cell("section"))


def _participant(heading: str, cell: str) -> str:
    """Moodle's number of a participant, in a worksheet's first column, which is ID in German."""
    if words := _PARTICIPANT.fullmatch(cell):
        return words[1]
    return cell if heading == "identifier" and cell.isdecimal() else ""


def owner(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    """Return the uploader by the word of the course system; None if that is not in the class.

    A number that belongs to another name is not believed: in a group's assignment, Moodle gives the
    number of the group.
    """
    if numbered := _numbered(hand_in, people):
        return numbered if _may_be(hand_in.uploader, numbered.name) else None
    namesakes = [person for person in people if _is_name(hand_in.uploader, person.name)]
    return namesakes[0] if len(namesakes) == 1 else None


def ownership_doubt(hand_in: HandIn, people: Sequence[Person], claimed: Person | None) -> str:
    """Return a reason to doubt the owner that a hand-in names; empty without one."""
    says = f"and the hand-in says that it is of {claimed.id if claimed else 'somebody else'}"
    if numbered := _numbered(hand_in, people):
        return f"The download names {hand_in.words}, who is {numbered.id} in the class, {says}."
    by_moodle = hand_in.moodle and any(person.moodle for person in people)
    by_canvas = hand_in.canvas and any(person.canvas for person in people)
    by_name = claimed and not _may_be(hand_in.uploader, claimed.name)
    if by_moodle or by_canvas or by_name:
        return f"It was uploaded by {hand_in.words}, who is not in the class list, {says}."
    return ""


def _numbered(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    for person in people:
        by_moodle = hand_in.moodle and hand_in.moodle == person.moodle
        if by_moodle or (hand_in.canvas and hand_in.canvas == person.canvas):
            return person
    return None


def _words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", name).casefold().replace("_", " ")
    return re.findall(r"\w+", plain)


def _may_be(uploader: str, name: str) -> bool:
    """Return whether two names may be one person's: they share a word, or one is unknown."""
    words = [word for word in _words(name) if len(word) > 1] or _words(name)
    joined = "".join(_words(uploader))  # Canvas leaves out what is between the words
    return not uploader or not words or any(word in joined for word in words)


def _is_name(uploader: str, name: str) -> bool:
    """Return whether two names have the same words, from whichever the name begins."""
    words, joined = _words(name), "".join(_words(uploader))
    return joined in ("".join(words[first:] + words[:first]) for first in range(len(words)))
