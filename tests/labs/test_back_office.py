"""The roster's rows: a student without a hand-in, and the course's rule for it."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition.assignment import Course
from labs.definition.spec import LabSpec
from labs.grading import files
from labs.grading.case import Case
from labs.grading.files import CourseFiles
from labs.grading.pages import GradedClass
from tests.labs.conftest import COURSE
from tests.labs.taken_in import MOODLE, PEOPLE, taken_in

ZERO = replace(COURSE, zero_if_missing=True)
UNOWNED = {"somebody.zip": b"no archive"}


def rows_of(table: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(table.read_text().splitlines()))


def cases_of(place: Path, members: dict[str, bytes]) -> list[Case]:
    return taken_in(members, place).chosen.cases


@pytest.mark.parametrize(
    ("course", "others", "points"),
    [(COURSE, {}, ""), (ZERO, {}, "0"), (ZERO, UNOWNED, "")],
)
def test_a_student_without_a_hand_in_has_a_row(
    course: Course, others: dict[str, bytes], points: str, sack: LabSpec, tmp_path: Path
) -> None:
    """Zero points wait while a hand-in of an unknown owner may belong to them."""
    out, cases = tmp_path / "grades", cases_of(tmp_path, MOODLE | others)
    files.write(out, GradedClass(sack, course, PEOPLE, cases), CourseFiles())
    row = next(row for row in rows_of(out / "grades.csv") if row["student"] == "eve")
    assert (row["name"], row["state"]) == ("Eve Li", "not handed in")
    assert (row["points"], row["final"], row["flags"]) == (points, points, "")
    exported = {row["Full name"]: row["Grade"] for row in rows_of(out / "moodle.csv")}
    assert exported.get("Eve Li", "") == points
    everybody = (out / "class.html").read_text().partition("<h2>Everybody</h2>")[2]
    assert "<td>eve</td><td>not handed in</td>" in everybody
    assert "feedback/ann.html" in everybody and not (out / "feedback" / "eve.html").exists()
