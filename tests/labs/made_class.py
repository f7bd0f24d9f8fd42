"""A class of every kind of student, graded, and compared with what each should get.

.venv/bin/python -m tests.labs.made_class FOLDER --students 60

Each honest run is a true one, in the lab kernel. The kinds repeat until the class is full; a test
runs one of each.
"""

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click

from labs.definition import catalogue
from labs.definition.answers import record
from labs.definition.assignment import Course, variant
from labs.definition.key import key_module
from labs.definition.runs import variables_of
from labs.definition.spec import LabSpec
from labs.grading.grade import ClassRequest, grade_all
from labs.grading.tables import Person
from labs.measuring.measures import MeasuredRun, values_of
from labs.student.hand_in import safe_name
from labs.student.handout import start
from labs.student.runs import carry_out_run
from tests.labs.honest_students import honest, honest_in_other_units
from tests.labs.student import LAB, PREDICTED, Kind, Student
from tests.labs.students import KINDS

COURSE = Course("made up", "a secret that only the tests know", native=True)


@dataclass
class MadeClass:
    """A class on disk, and what it should get."""

    folder: Path
    students: list[Student] = field(default_factory=list)

    def people(self) -> list[Person]:
        return [
            Person(
                student.name,
                f"Name of {student.name}",
                moodle=str(1000 + index),
                canvas=str(2000 + index),
            )
            for index, student in enumerate(self.students)
        ]

    @property
    def hand_ins(self) -> Path:
        return self.folder / "hand-ins"


def kinds_for(number: int) -> list[Kind]:
    """One of each, then more of the honest ones than of others, as in a class."""
    extra = [KINDS[index % 9 if index % 3 else 0] for index in range(max(0, number - len(KINDS)))]
    return [*KINDS, *extra][:number] if number < len(KINDS) else [*KINDS, *extra]


def make(folder: Path, kinds: list[Kind]) -> MadeClass:
    """Make the class in an empty folder.

    Runs come first, two at once, then what each student makes of them.
    """
    lab = catalogue.find(LAB)
    made_class = MadeClass(folder)
    made_class.students = [
        Student(f"s{number:03d}-{kind.name.split()[0].lower()[:9]}", kind)
        for number, kind in enumerate(kinds)
    ]
    made_class.hand_ins.mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda student: _run(student, lab, folder), made_class.students))
    honest_ones = [
        student
        for student in made_class.students
        if student.kind.hand_in in (honest, honest_in_other_units)
    ]
    for index, student in enumerate(made_class.students):
        student.other = honest_ones[index % len(honest_ones)]
    # What takes from others comes last: they have to be as they were.
    for index, student in sorted(
        enumerate(made_class.students), key=lambda pair: not pair[1].kind.name.startswith("honest")
    ):
        label = f"Name of {student.name}_{1000 + index}_assignsubmission_file"
        place = made_class.hand_ins / label
        place.mkdir()
        student.zip = place / "lab.zip"
        student.kind.hand_in(student, lab, student.zip)
    return made_class


def _run(student: Student, lab: LabSpec, folder: Path) -> None:
    student.assignment = start(
        lab, variant(COURSE, lab, student.name), folder / "work" / student.name
    )
    if not student.kind.runs:
        return
    record(student.folder, lab, lab.runs[0], {name: [text] for name, text in PREDICTED.items()})
    place = carry_out_run(student.assignment, lab.runs[0], "virtual")
    values = values_of(place)
    runs = {LAB: MeasuredRun(tuple(values.values()))}
    student.key = key_module(LAB).key(runs, variables_of(lab, student.assignment.variant))


def grade(made: MadeClass, workers: int | None = None) -> Path:
    """Grade it as an instructor does."""
    request = ClassRequest(
        made.hand_ins,
        catalogue.find(LAB),
        COURSE,
        made.folder / "grades",
        made.people(),
        workers=workers,
    )
    return grade_all(request)


def disagreements(made: MadeClass) -> Iterator[str]:
    """Where the grades are not what they should be."""
    grades = made.folder / "grades"
    report = {case["student"]: case for case in json.loads((grades / "report.json").read_text())}
    for student in made.students:
        case, kind = report.get(student.name), student.kind
        if case is None:
            yield f"{student.name} is not in the report"
            continue
        flags = {flag["kind"] for flag in case["flags"]}
        if kind.state in ("look", "could not grade") and case["final"] is not None:
            yield f"{student.name} ({kind.name}): its {case['final']} points would be exported"
        page = (grades / "feedback" / f"{safe_name(student.name)}.html").read_text()
        where = (
            f"{student.name} ({kind.name}): {case['state']}, {case['points']} points,"
            f" {sorted(flags)} {case['refused']}"
        )
        if case["state"] != kind.state:
            yield f"{where}: should be {kind.state}; {case['flags']}"
        if not kind.flags <= flags or (kind.name.startswith("honest") and flags != kind.flags):
            yield f"{where}: should have the flags {sorted(kind.flags)}"
        if kind.points and (
            case["points"] is None or not kind.points[0] <= case["points"] <= kind.points[1]
        ):
            wrong = [
                (mark["question"], mark["given"], mark["expected"], mark["points"], mark["verdict"])
                for mark in case["marks"]
            ]
            yield f"{where}: should have {kind.points}; {wrong}"
        if kind.said not in page:
            yield f"{where}: its page should say '{kind.said}'"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--students", type=int, default=60, show_default=True)
@click.option("--workers", type=int)
def main(folder: Path, students: int, workers: int | None) -> None:
    """Make a class, grade it, and compare."""
    begun = time.monotonic()
    made_class = make(folder, kinds_for(students))
    print(f"{students} hand-ins made in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    begun = time.monotonic()
    grade(made_class, workers)
    print(f"graded in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    wrong = list(disagreements(made_class))
    print("\n".join(wrong) or "Everybody got what they should.")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
