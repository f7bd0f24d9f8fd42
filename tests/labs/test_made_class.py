"""A class with one student of every kind, made in the lab kernel, graded and compared."""

import csv
import json
from pathlib import Path

import pytest

from labs.grading import class_grading
from labs.grading.decisions import ACCEPTED, OVERRIDES
from labs.measuring import references
from tests.labs.made_class import disagreements, grade, make
from tests.labs.student import PICTURE, rewritten
from tests.labs.students import KINDS, POINTS
from tests.tools.class_of_programs import graded, hand_in

pytestmark = pytest.mark.virtual


@pytest.mark.long
def test_everybody_gets_what_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No honest hand-in is flagged, no fabricated one accepted; grading again runs nothing."""
    monkeypatch.setattr(class_grading, "_SEEDS", 3)  # fewer guests
    made_class = make(tmp_path, list(KINDS))
    grades = grade(made_class, workers=2)
    assert list(disagreements(made_class)) == []
    assert not Path("/tmp/owned").exists()

    first = (grades / "grades.csv").read_text()
    student = made_class.students[0].name
    with (grades / OVERRIDES).open("a") as file:
        file.write(f'[[override]]\nstudent = "{student}"\nquestion = "why"\npoints = 4.0\n')
    monkeypatch.setattr(references.References, "keep", lambda *_: None)
    monkeypatch.setattr("experiments.sweep.run.Task", None)  # nothing may be run
    grade(made_class)
    rows = {
        row["student"]: row
        for row in csv.DictReader((grades / "grades.csv").read_text().splitlines())
    }
    before = {row["student"]: row for row in csv.DictReader(first.splitlines())}
    assert float(rows[student]["points"]) == float(before[student]["points"]) + 4
    assert rows[student]["to_read"] == "1"


@pytest.mark.long
def test_programs_earn_the_same_bytes_in_two_gradings(tmp_path: Path) -> None:
    """The second grading knows no run of the first, and writes the same files."""
    (tmp_path / "class").mkdir()
    hand_in(0, tmp_path, alike=True)
    one, other = (graded(tmp_path, folder) for folder in ("one", "other"))
    assert one == other
    (row,) = csv.DictReader(one["grades.csv"].decode().splitlines())
    assert float(row["transport"]) > 0


@pytest.mark.long
def test_a_friends_zip_exports_nothing_until_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has all points of the numbers; and what the student uploads after the look waits again."""
    monkeypatch.setattr(class_grading, "_SEEDS", 3)  # fewer guests
    kinds = [kind for kind in KINDS if kind.name in ("honest", "a friend's zip")]
    made_class = make(tmp_path, kinds)
    friend = made_class.students[1]
    grades = grade(made_class, workers=2)
    points = {"why": 3.0, "graph": 2.0}
    lines = [f'question = "{name}"\npoints = {given}' for name, given in points.items()]
    override = [f'[[override]]\nstudent = "{friend.name}"\n{line}\n' for line in lines]
    (grades / OVERRIDES).write_text("".join(override))
    grade(made_class)
    row = row_of(grades / "grades.csv", friend.name)
    assert (row["state"], row["points"], row["final"]) == ("look", f"{POINTS + 5:g}", "")
    assert exported_of(grades, friend.name) == ""

    (grades / ACCEPTED).write_text(acceptance_of(grades, friend.name))
    grade(made_class)
    row = row_of(grades / "grades.csv", friend.name)
    assert row["state"] == "graded" and "whose" in row["accepted"]
    assert exported_of(grades, friend.name) == f"{POINTS + 5:g}"

    rewritten(friend.zip, lambda _, content: content, {"another.png": PICTURE})
    grade(made_class)
    row = row_of(grades / "grades.csv", friend.name)
    assert row["state"] == "look" and "new hand-in" in row["flags"]
    assert exported_of(grades, friend.name) == ""


def row_of(table: Path, student: str) -> dict[str, str]:
    rows = csv.DictReader(table.read_text().splitlines())
    return next(row for row in rows if row["student"] == student)


def exported_of(grades: Path, student: str) -> str:
    """The student's grade in moodle.csv."""
    rows = csv.DictReader((grades / "moodle.csv").read_text().splitlines())
    return next(row["Grade"] for row in rows if row["Full name"] == f"Name of {student}")


def acceptance_of(grades: Path, student: str) -> str:
    """The lines of accepted.toml for everything that is flagged of the student's hand-in."""
    cases = json.loads((grades / "report.json").read_text())
    case = next(case for case in cases if case["student"] == student)
    flags = sorted({flag["kind"] for flag in case["flags"]})
    hand_in = f'hand_in = "{case["digest"]}"\nflags = {json.dumps(flags)}'
    return f'[[accept]]\nstudent = "{student}"\n{hand_in}\n'
