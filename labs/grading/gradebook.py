"""`tcplab lab course status`: graded labs of a course side by side, and statistics of questions.

It reads `grades.csv` of each folder of grades: a row a student, a column a lab. Questions have
their difficulty (the mean share of the points), their discrimination (the correlation with the rest
of the points), and how many students earned each quarter of the points. A distribution with two
humps is flagged by its bimodality coefficient (SAS Institute, 1990).
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import correlation, fmean, median, pstdev

from labs.definition import catalogue
from labs.definition.answers import decoded
from labs.grading.exports import canvas_table
from labs.grading.tables import Person, table
from topologies import untrusted
from topologies.errors import UsageError

GRADES = "grades.csv"
_BEFORE, _AFTER = "accepted", "hand_in"  # the columns between which the questions are
_FEWEST = 10  # students from which on a distribution has humps
_EVEN = 5 / 9  # the bimodality coefficient of a uniform distribution


@dataclass(frozen=True)
class GradedLab:
    name: str
    rows: dict[str, dict[str, str]]
    questions: tuple[str, ...]

    def row(self, person: Person) -> dict[str, str]:
        """Return the row of a student, else that of the group."""
        absent = {"state": "not handed in", "final": ""}
        return self.rows.get(person.id) or self.rows.get(person.group) or absent

    def final(self, person: Person) -> float | None:
        return _number(self.row(person)["final"])

    @cached_property
    def finals(self) -> list[float]:
        every = (_number(row["final"]) for row in self.rows.values())
        return [points for points in every if points is not None]

    @property
    def possible(self) -> float | None:
        return next((_number(row["of"]) for row in self.rows.values()), None)

    def cell(self, person: Person) -> float | str:
        points = self.final(person)
        return self.row(person)["state"] if points is None else points


def read_graded(folder: Path) -> GradedLab:
    """Return the graded lab of a folder, which it is called by. Raises UsageError."""
    file = folder / GRADES
    try:
        rows = list(csv.reader(decoded(untrusted.content(folder, GRADES)).splitlines()))
    except (OSError, ValueError, csv.Error, untrusted.StrangeFile) as error:
        remedy = "Name a folder that ./tcplab grade wrote."
        raise UsageError(f"{file} cannot be read: {error}.", remedy) from None
    heading = rows[0] if rows else []
    if not {"student", "state", "final", _BEFORE, _AFTER} <= {*heading}:
        raise UsageError(f"{file} is no table of grades.", "Grade that lab again.")
    questions = heading[heading.index(_BEFORE) + 1 : heading.index(_AFTER)]
    # A question's id may repeat a heading: the first counts.
    named = [dict(zip(reversed(heading), reversed(row), strict=True)) for row in rows[1:]]
    name = re.sub(r"-?grades$", "", folder.resolve().name) or folder.resolve().parent.name
    return GradedLab(name, {row["student"]: row for row in named}, tuple(questions))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text) else None


def students_of(labs: Sequence[GradedLab], people: Sequence[Person]) -> list[Person]:
    known = {name for person in people for name in (person.id, person.group)}
    others = {name: row for each in labs for name, row in each.rows.items() if name not in known}
    return [*people, *(Person(name, row.get("name", "")) for name, row in sorted(others.items()))]


def status(labs: Sequence[GradedLab], people: Sequence[Person]) -> list[list[object]]:
    """Return a row for each student, then means, medians and hand-ins missing."""
    rows: list[list[object]] = [["student", "name", "section", *(each.name for each in labs)]]
    cells = [[each.cell(person) for each in labs] for person in people]
    for person, row in zip(people, cells, strict=True):
        rows.append([person.id, person.name, person.section, *row])
    for name, middle in (("mean", fmean), ("median", median)):
        finals = (round(middle(each.finals), 2) if each.finals else "" for each in labs)
        rows.append([name, "", "", *finals])
    missing = ([row[at] for row in cells].count("not handed in") for at in range(len(labs)))
    return [*rows, ["missing", "", "", *missing]]


def course_tables(labs: Sequence[GradedLab], people: Sequence[Person]) -> Iterator[tuple[str, str]]:
    heading, *rows = status(labs, people)
    yield "gradebook.csv", table([str(name) for name in heading], rows)
    names, canvas, moodle = [each.name for each in labs], [], []
    for person in people:
        finals = [each.final(person) for each in labs]
        whole = [person.name, person.canvas, person.id, person.email, person.section]
        canvas.append([*whole, *finals])
        moodle.append([person.id, person.email, *finals])
    yield "canvas.csv", canvas_table(names, [each.possible for each in labs], canvas)
    yield "moodle.csv", table(("ID number", "Email address", *names), moodle)
    items = [row for each in labs for row in item_rows(each)]
    quarters = ("quarter_1", "quarter_2", "quarter_3", "quarter_4")
    columns = ("lab", "question", "students", "difficulty", "discrimination", *quarters, "humps")
    yield "items.csv", table(columns, items)


def item_rows(lab: GradedLab) -> Iterator[list[object]]:
    spec = catalogue.find(lab.name) if lab.name in catalogue.names() else None
    for question in lab.questions:
        earned, rest = [], []
        for row in lab.rows.values():
            points, total = _number(row[question]), _number(row["points"])
            if points is not None and total is not None:
                earned.append(points)
                rest.append(total - points)
        most = (spec and spec.question(question).points) or max(earned, default=0.0)
        if earned and most > 0:
            yield _item(lab.name, question, earned, most, rest)
    if lab.finals and lab.possible:
        yield _item(lab.name, "all", lab.finals, lab.possible, [])


def _item(lab: str, name: str, points: list[float], most: float, rest: list[float]) -> list[object]:
    shares = [each / most for each in points]
    quarters = [sum(min(3, int(4 * share)) == quarter for share in shares) for quarter in range(4)]
    varied = len(rest) > 2 and pstdev(rest) > 0 and pstdev(shares) > 0
    discrimination = round(correlation(shares, rest), 2) if varied else ""
    humps = "two humps" if has_humps(shares) else ""
    return [lab, name, len(points), round(fmean(shares), 2), discrimination, *quarters, humps]


def has_humps(values: Sequence[float]) -> bool:
    """Return whether values have two humps: a bimodality coefficient above a uniform one's."""
    spread = pstdev(values) if len(values) >= _FEWEST else 0.0
    if spread < 0.1:
        return False
    scaled = [(value - fmean(values)) / spread for value in values]
    skewness, kurtosis = (fmean(value**power for value in scaled) for power in (3, 4))
    return (skewness**2 + 1) / kurtosis > _EVEN
