"""The published TCP assignment: its five sections, handed out to ten students and graded."""

import csv
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from labs.definition import catalogue
from labs.definition.answers import parts_of, read_sheet, record
from labs.definition.assignment import ANSWERS, Course, Dates, StudentDates, variant
from labs.definition.key import Key, key_module
from labs.definition.runs import MODULE, example_module, variables_of
from labs.definition.spec import HANDED_IN_FILES, LabSpec, Question
from labs.grading import class_grading
from labs.grading.grade import ClassRequest, grade_all
from labs.grading.tables import Person
from labs.measuring.measures import MeasuredRun, values_of
from labs.student.hand_in import check
from labs.student.handout import start
from labs.student.runs import carry_out_run
from tests.labs.student import PICTURE, Kind, Student, packed, sheet_of, written

SECTIONS = {
    "3.1": "congestion_control",
    "3.2": "fairness",
    "3.3": "reordering",
    "3.4": "sack",
    "3.5": "own_congestion_control",
}
DEADLINE = datetime(2026, 11, 20, 23, 59)
LATE = 3
"""The number of the student who hands in a day and a half later."""
_SENTENCE = "I expect it because the sender waits for an acknowledgement of each loss."
pytestmark = [pytest.mark.virtual, pytest.mark.long]


def done(student: Student, lab: LabSpec, change: Any = None) -> dict[str, Any]:
    """Return all answers of a student who understood the lab."""
    assert student.key
    examples = {run.name: " ".join(run.example) for run in lab.runs}
    answers = written(lab, student.key, change)
    for question in lab.questions:
        if question.kind == "design":
            answers[question.id] = examples[question.run]
        elif question.kind == "forecast":
            answers[question.id] = "1 within 1%"
        elif question.kind in ("text", "prediction"):
            answers[question.id] = (
                question.options[0].id if question.options else f"{_SENTENCE} {student.name}"
            )
        elif question.kind in HANDED_IN_FILES:
            answers[question.id] = {"module": MODULE}.get(question.kind, "graph.png")
    return answers


def honest(student: Student, lab: LabSpec, target: Path) -> None:
    sheet_of(student, done(student, lab))
    assert student.assignment
    assert [str(finding) for finding in check(student.assignment) if finding.wrong] == []
    packed(student, target)


def rounding(student: Student, lab: LabSpec, target: Path) -> None:
    def rounded(name: str, value: float) -> str:
        return f"{value:.3g} {lab.question(name).unit}".replace(".", ",")

    sheet_of(student, done(student, lab, rounded))
    packed(student, target)


def one_wrong_concept(student: Student, lab: LabSpec, target: Path) -> None:
    question, value = mistake_of(lab, student.key)
    sheet_of(student, {**done(student, lab), question.id: f"{value:.6g} {question.unit}"})
    packed(student, target)


def copied(student: Student, _lab: LabSpec, target: Path) -> None:
    assert student.other
    target.write_bytes(student.other.zip.read_bytes())


def junk(_student: Student, _lab: LabSpec, target: Path) -> None:
    target.with_name("answers.docx").write_bytes(b"PK\x03\x04 my answers, as a letter")


def by_hand(student: Student, lab: LabSpec, target: Path) -> None:
    """A sheet that a word processor wrote, handed in as a folder."""
    honest(student, lab, target)
    file = student.folder / ANSWERS
    file.write_text(file.read_text().replace('"', "\u201c", 1).replace('"', "\u201d", 1))
    packed(student, target)


def no_answers(student: Student, lab: LabSpec, target: Path) -> None:
    """Only the settings that the runs had."""
    designs = {question.id for question in lab.questions if question.kind == "design"}
    sheet_of(student, {name: text for name, text in done(student, lab).items() if name in designs})
    packed(student, target)


def another_sheet(student: Student, lab: LabSpec, target: Path) -> None:
    """The neighbour's numbers in the own hand-in."""
    assert student.other
    numbers = {question.id for question in lab.questions if question.kind == "number"}
    theirs = {name: text for name, text in done(student.other, lab).items() if name in numbers}
    sheet_of(student, done(student, lab) | theirs)
    packed(student, target)


KINDS = [
    Kind("honest", "graded", honest),
    Kind("rounding", "graded", rounding),
    Kind("wrong concept", "graded", one_wrong_concept),
    Kind("late", "graded", honest),
    Kind("word processor", "graded", by_hand),
    Kind("honest again", "graded", honest),
    Kind("copied zip", "look", copied, frozenset({"whose"}), runs=False),
    Kind("neighbour's numbers", "look", another_sheet, frozenset({"other variant"})),
    Kind("junk", "could not grade", junk, runs=False),
    Kind("blank", "graded", no_answers),
]


def mistake_of(lab: LabSpec, key: Key | None) -> tuple[Question, float]:
    """Return a question with a known mistake that is far from the right answer, and its value."""
    assert key
    return next(
        (lab.question(name), value)
        for name, wrong in key.mistakes.items()
        for value in wrong.values()
        if name in key.numbers and abs(value - key.numbers[name]) > 0.3 * abs(key.numbers[name])
    )


def run_all(student: Student, lab: LabSpec, course: Course, folder: Path) -> None:
    """Hand out the lab, and do its runs."""
    student.assignment = start(lab, variant(course, lab, student.name), folder / student.name)
    (student.folder / "graph.png").write_bytes(PICTURE)
    if any(run.module for run in lab.runs):
        example_module(student.folder)
    if not student.kind.runs:
        return
    student.key = Key()
    sheet_of(student, done(student, lab))
    answers = read_sheet(student.folder / ANSWERS, lab)
    runs = {}
    for run in lab.runs:
        record(student.folder, lab, run, answers)
        values = values_of(carry_out_run(student.assignment, run, "virtual"))
        runs[run.name] = MeasuredRun(tuple(values.values()))
    variables = variables_of(lab, student.assignment.variant)
    student.key = key_module(lab.name).key(runs, variables)
    assert parts_of(lab, answers, None).settings.keys() == {r.name for r in lab.runs if r.chosen}


def handed_in(lab: LabSpec, course: Course, folder: Path) -> Iterator[Student]:
    """Yield ten students with their hand-ins."""
    students = [Student(f"{lab.name[:4]}{n}", kind) for n, kind in enumerate(KINDS)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda student: run_all(student, lab, course, folder / "work"), students))
    for number, student in enumerate(students):
        student.other = students[5]
        place = folder / "class" / f"Name {student.name}_{1000 + number}_assignsubmission_file"
        place.mkdir(parents=True)
        student.zip = place / "lab.zip"
    for student in sorted(students, key=lambda student: student.kind.name == "copied zip"):
        student.kind.hand_in(student, lab, student.zip)
        yield student


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_handed_out_and_graded(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if section != "3.4" and not request.config.getoption("--sections"):
        pytest.skip("It takes minutes: --sections")
    monkeypatch.setattr(class_grading, "_SEEDS", 3)  # fewer guests
    lab = catalogue.find(SECTIONS[section])
    submitted = [(n, DEADLINE + timedelta(days=1.5 if n == LATE else -1)) for n in range(10)]
    said = tuple(StudentDates(f"{lab.name[:4]}{n}", submitted=time) for n, time in submitted)
    dates = Dates(lab.name, DEADLINE, percent_per_day=10, exception=said)
    course = Course("seeds", "a secret that only this test knows", dates=(dates,))
    students = list(handed_in(lab, course, tmp_path))
    people = [
        Person(student.name, f"Name {student.name}", moodle=str(1000 + number))
        for number, student in enumerate(sorted(students, key=lambda each: each.name))
    ]
    grades = grade_all(
        ClassRequest(tmp_path / "class", lab, course, tmp_path / "grades", people, workers=2)
    )
    table = csv.DictReader((grades / "grades.csv").read_text().splitlines())
    rows = {row["student"]: row for row in table}
    found = {each.kind.name: rows[each.name] for each in students}
    assert {name: row["state"] for name, row in found.items()} == {
        kind.name: kind.state for kind in KINDS
    }, found
    for kind in KINDS:
        assert all(flag in found[kind.name]["flags"] for flag in kind.flags), found[kind.name]
    points = {name: float(row["points"] or -1) for name, row in found.items()}
    by_machine = sum(q.points for q in lab.questions if q.kind in ("number", "evidence", "choice"))
    assert points["honest"] >= by_machine > 0
    assert points["rounding"] == points["late"] == points["word processor"] == points["honest"]
    wrong, _ = mistake_of(lab, students[2].key)
    assert points["wrong concept"] == points["honest"] - wrong.points
    designs = sum(question.points for question in lab.questions if question.kind == "design")
    assert points["blank"] <= designs and found["junk"]["points"] == ""
    assert all(found[name]["final"] == "" for name in ("copied zip", "neighbour's numbers", "junk"))
    report = {case["student"]: case for case in json.loads((grades / "report.json").read_text())}
    assert report[students[LATE].name]["late"]["percent"] == 20
    assert report[students[0].name]["late"]["percent"] == 0
