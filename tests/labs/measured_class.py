"""A class of the SACK lab whose runs are measured already, so that grading needs no guest."""

import csv
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from labs.definition import catalogue
from labs.definition.assignment import Course, Variant, variant
from labs.definition.key import Key
from labs.grading import grade
from labs.grading.class_grading import key_of
from labs.grading.tables import Person
from labs.measuring import contained
from labs.measuring.measures import values_of
from labs.student.hand_in import pack
from labs.student.handout import start
from tests.labs import native_run
from tests.labs.conftest import COURSE
from tests.labs.saboteurs import MEASURED, Sabotage, manifest_of
from tests.labs.student import PICTURE, PREDICTED, signed, written

LAB = catalogue.find("sack")


def people_of(names: Sequence[str]) -> list[Person]:
    return [Person(name, f"Name of {name}", moodle=str(n)) for n, name in enumerate(names, 1)]


def make(
    folder: Path, name: str, like: str = "plain", change: Callable[[Path], None] | None = None
) -> None:
    """Hand in the work of a student whose run is the measured one. `change` may alter it."""
    assignment = start(LAB, variant(COURSE, LAB, name), folder.parent / "work" / name)
    run = assignment.folder / "runs" / "sack"
    seed = assignment.variant.seed
    shutil.copytree(MEASURED, run)
    (run / "raw" / "seed-5").rename(run / "raw" / f"seed-{seed}")
    signed(run, manifest_of(seed))
    if like == "edited":
        with (run / "raw" / f"seed-{seed}" / "sack_on" / "h1-eth0.pcap").open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"!")
    if like == "native":
        native_run.dressed(run)
    if change:
        change(run)
    key = _key(run, assignment.variant) or _key(MEASURED, assignment.variant)
    assert key
    answers = {} if like == "lazy" else PREDICTED | written(LAB, key) | {"graph": "graph.png"}
    answers["why"] = f"{name} says: SACK names each gap, so that fewer time-outs are needed."
    lines = [f"{question} = {json.dumps(given)}" for question, given in answers.items()]
    (assignment.folder / "answers.toml").write_text("\n".join(["[answers]", *lines, ""]))
    (assignment.folder / "graph.png").write_bytes(PICTURE)
    pack(assignment, folder / f"{name}.zip")


def _key(run: Path, own: Variant) -> Key | None:
    """The key by a run directory, as its student would find it; None if it tells nothing."""
    values = values_of(run).values()
    return key_of(LAB, {"sack": list(values)}, own) if values else None


@dataclass
class Grader:
    """Grades some of the zips in `hand_ins`; `sabotage` says which steps were reached.

    `failures` are the kinds of failures by step and student.
    """

    hand_ins: Path
    place: Path
    patch: pytest.MonkeyPatch
    people: Sequence[Person]
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    course: Course = COURSE
    sabotage: Sabotage = field(default_factory=lambda: Sabotage([], {}, {}))

    def grade(self, students: Sequence[str]) -> Path:
        """Grade the hand-ins of these students as Moodle gives them; the folder of grades."""
        place = self.place / str(len(students))
        uploads = {
            f"Name of {person.id}_{person.moodle}_assignsubmission_file": person.id
            for person in self.people
            if person.id in students
        }
        for upload, name in uploads.items():
            (place / "class" / upload).mkdir(parents=True)
            shutil.copyfile(self.hand_ins / f"{name}.zip", place / "class" / upload / "lab.zip")
        seeds = {variant(self.course, LAB, name).seed: name for name in students}
        in_order = [uploads[upload] for upload in sorted(uploads)]
        self.sabotage = Sabotage(in_order, seeds, self.failures)
        self.patch.setattr(contained, "contained", self.sabotage)
        return grade.grade_all(
            grade.ClassRequest(
                place / "class", LAB, self.course, place / "grades", self.people, workers=2
            )
        )


def results(grades: Path, student: str) -> Mapping[str, Any]:
    """Everything that grading says of one student."""
    report = json.loads((grades / "report.json").read_text())
    files = [f"feedback/{student}.html", f"gradescope/{student}.json"]
    files += [f"handed-in/{student}/graph.png"]
    page = (grades / "class.html").read_text().partition("<h2>Everybody</h2>")[2]
    return {
        "report": next(case for case in report if case["student"] == student),
        "tables": {
            name: [
                line
                for line in _rows(grades / name)
                if student in line or f"Name of {student}" in line
            ]
            for name in ("grades.csv", "moodle.csv", "intake.csv")
        },
        "files": {name: (grades / name).read_bytes() for name in files if (grades / name).exists()},
        "line": [line for line in page.splitlines() if f"/{student}.html" in line],
    }


def _rows(table: Path) -> list[list[str]]:
    return list(csv.reader(table.read_text().splitlines()))
