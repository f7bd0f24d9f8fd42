"""A class with one student of every kind is made in the lab kernel, graded as an instructor does, and compared."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from labs.grading import grade as grading
from labs.grading import references
from labs.grading.overrides import FILE
from tests.labs.made_class import disagreements, grade, make
from tests.labs.students import KINDS

pytestmark = pytest.mark.virtual


def test_everybody_gets_what_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No honest hand-in is flagged, no fabricated one accepted; grading again runs nothing."""
    monkeypatch.setattr(grading, "_SEEDS", 5)  # fewer guests
    made = make(tmp_path, list(KINDS))
    grades = grade(made, workers=2)
    assert list(disagreements(made)) == []
    assert not Path("/tmp/owned").exists()

    first = (grades / "grades.csv").read_text()
    student = made.students[0].name
    with (grades / FILE).open("a") as file:
        file.write(f'[[override]]\nstudent = "{student}"\nquestion = "why"\npoints = 4.0\n')
    monkeypatch.setattr(references.References, "keep", lambda *_: None)
    monkeypatch.setattr("experiments.sweep.run.Task", None)  # nothing may be run
    grade(made)
    rows = {row["student"]: row for row in csv.DictReader((grades / "grades.csv").read_text().splitlines())}
    before = {row["student"]: row for row in csv.DictReader(first.splitlines())}
    assert float(rows[student]["points"]) == float(before[student]["points"]) + 4
    assert rows[student]["to_read"] == "1"
