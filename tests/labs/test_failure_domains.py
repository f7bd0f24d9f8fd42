"""A failure of any kind in any step of one hand-in leaves every other result as it is."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from labs.definition import lab_catalogue
from labs.definition.course import variant
from labs.definition.lab_runs import variables_of
from labs.grading import class_grading, grade, opened_hand_ins
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading
from labs.grading.failure_domain import Stage
from labs.grading.roster import Person
from labs.measuring import contained
from labs.measuring.lab_measures import MeasuredRun, values_of
from labs.student.packing import pack
from labs.student.starting import start
from tests.labs import native_run
from tests.labs.conftest import COURSE
from tests.labs.saboteurs import KINDS, MEASURED, Sabotage, manifest_of
from tests.labs.student import PICTURE, PREDICTED, signed, written
from topologies.errors import TcplabError

pytestmark = pytest.mark.virtual
LAB = lab_catalogue.find("sack")
STEPS = {
    "fingerprint": "plain",
    "inspect": "plain",
    "_carried": "plain",
    "_kept": "edited",
    "differences": "edited",
    "values_of": "edited",
    "contradictions": "native",
    "shared_packets": "native",
    "mark": "plain",
    "fits": "lazy",
    "rendered": "plain",
}
"""Each step that runs in a limited process, and a kind of student whose hand-in takes it."""
DIRECT = {
    Stage.OPEN: (opened_hand_ins, "_open"),
    Stage.OWNER: (opened_hand_ins, "_identify"),
    Stage.PLAN: (ClassGrading, "points"),
    Stage.REPEAT: (grade, "compare"),
    Stage.COMPARE: (grade, "settle"),
    Stage.MARK: (grade, "has_real_time"),
    Stage.RESEMBLE: (grade.shared_work, "other_variants"),
    Stage.DECIDE: (grade, "apply_acceptances"),
}
"""For each stage, a function of this process that handles one hand-in."""
HONEST = ["ann", "ben", "cleo"]


def direct(stage: Stage) -> str:
    """The name of the student whose hand-in fails at that stage."""
    return f"direct-{stage.name.lower()}"


def sabotaged() -> Iterator[tuple[str, str, str]]:
    """Every step with every kind of failure: the student's name, the step and the kind."""
    for step in STEPS:
        for kind in KINDS:
            yield f"{kind}-{step.strip('_')}".replace("_", "-"), step, kind


FAILING = {name: (step, kind) for name, step, kind in sabotaged()}


NUMBERS = {
    name: number
    for number, name in enumerate([*HONEST, *FAILING, *(direct(stage) for stage in DIRECT)], 1)
}
PEOPLE = [Person(name, f"Name of {name}", moodle=str(n)) for name, n in NUMBERS.items()]


def make(folder: Path, name: str, like: str) -> None:
    """Hand in the work of a student whose run is the measured one."""
    assignment = start(LAB, variant(COURSE, LAB, name), folder.parent / "work" / name)
    run = assignment.folder / "runs" / "sack"
    seed = assignment.variant.seed
    shutil.copytree(MEASURED, run)
    (run / "raw" / "seed-5").rename(run / "raw" / f"seed-{seed}")
    signed(run, manifest_of(seed))
    measured = {"sack": MeasuredRun(tuple(values_of(str(run))["values"].values()))}
    key = lab_catalogue.key_module("sack").key(measured, variables_of(LAB, assignment.variant))
    if like == "edited":
        with (run / "raw" / f"seed-{seed}" / "sack_on" / "h1-eth0.pcap").open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"!")
    if like == "native":
        native_run.dressed(run)
    answers = {} if like == "lazy" else PREDICTED | written(LAB, key) | {"graph": "graph.png"}
    answers["why"] = f"{name} says: SACK names each gap, so that fewer time-outs are needed."
    lines = [f"{question} = {json.dumps(given)}" for question, given in answers.items()]
    (assignment.folder / "answers.toml").write_text("\n".join(["[answers]", *lines, ""]))
    (assignment.folder / "graph.png").write_bytes(PICTURE)
    pack(assignment, folder / f"{name}.zip")


@pytest.fixture(scope="module")
def hand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zips of everybody who appears below."""
    folder = tmp_path_factory.mktemp("made") / "zips"
    folder.mkdir()
    for name in HONEST:
        make(folder, name, "plain")
    for name, (step, _) in FAILING.items():
        make(folder, name, STEPS[step])
    for stage in DIRECT:
        make(folder, direct(stage), "edited")
    return folder


class Grader:
    """A class that is graded with some failures; `sabotage` says which steps were reached."""

    def __init__(self, hand_ins: Path, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.hand_ins, self.place, self.patch = hand_ins, place, patch
        self.sabotage = Sabotage([], {}, {})

    def grade(self, students: list[str]) -> Path:
        """Grade the hand-ins of these students; the folder of grades."""
        place = self.place / str(len(students))
        uploads = {
            f"Name of {name}_{NUMBERS[name]}_assignsubmission_file": name for name in students
        }
        for upload, name in uploads.items():
            (place / "class" / upload).mkdir(parents=True)
            shutil.copyfile(self.hand_ins / f"{name}.zip", place / "class" / upload / "lab.zip")
        seeds = {variant(COURSE, LAB, name).seed: name for name in students}
        failures = {(step, name): kind for name, (step, kind) in FAILING.items()}
        in_order = [uploads[upload] for upload in sorted(uploads)]
        self.sabotage = Sabotage(in_order, seeds, failures)
        self.patch.setattr(contained, "contained", self.sabotage)
        return grade.grade_all(place / "class", LAB, COURSE, PEOPLE, place / "grades", 2)


@pytest.fixture
def grader(hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grader:
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    return Grader(hand_ins, tmp_path, monkeypatch)


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


def assert_nobody_else_differs(before: Path, after: Path) -> None:
    for student in HONEST:
        assert results(after, student) == results(before, student), student
        assert results(after, student)["report"]["state"] == "graded"
        assert all(results(after, student)["tables"].values())


def assert_is_named(grades: Path, student: str) -> None:
    """The student has no points that are exported, and everybody reads why."""
    case = results(grades, student)["report"]
    assert case["state"] in ("could not grade", "look"), (student, case)
    assert case["final"] is None and (case["refused"] or case["flags"]), (student, case)
    assert "the words of a stranger" not in json.dumps(case)
    assert student in (grades / "class.html").read_text()
    assert (grades / "feedback" / f"{student}.html").exists()


def test_a_failure_of_any_kind_in_any_step_ends_that_hand_in_alone(grader: Grader) -> None:
    before = grader.grade(HONEST)
    after = grader.grade([*HONEST, *FAILING])
    assert_nobody_else_differs(before, after)
    for student, (step, _) in FAILING.items():
        assert (step, student) in grader.sabotage.met, f"{student} did not reach {step}"
        assert_is_named(after, student)
    assert {step for step, _ in grader.sabotage.met} == set(STEPS), "a step has no failing student"


@pytest.mark.parametrize("error", [LookupError("the words of a stranger"), MemoryError()])
def test_an_error_outside_of_such_a_process_ends_that_hand_in_alone(
    error: Exception, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = grader.grade(HONEST)
    for stage, (owner, function) in DIRECT.items():
        name = direct(stage)
        monkeypatch.setattr(owner, function, failing(getattr(owner, function), name, error))
    students = [direct(stage) for stage in DIRECT]
    after = grader.grade([*HONEST, *students])
    assert_nobody_else_differs(before, after)
    for student in students:
        assert_is_named(after, student)
    # Scripts have outcomes of their own, and rendering runs in a limited process.
    assert set(DIRECT) | {Stage.SCRIPTS, Stage.RENDER} == set(Stage)


def failing(function: Any, student: str, error: Exception) -> Any:
    """The function, which fails for one student."""

    def fails(*arguments: Any, **options: Any) -> Any:
        if any(_is_of(argument, student) for argument in arguments):
            raise error
        return function(*arguments, **options)

    return fails


def _is_of(argument: Any, student: str) -> bool:
    if isinstance(argument, Case):
        return f"Name of {student}_" in argument.hand_in.label
    return getattr(argument, "student", "") == student


def test_a_full_disk_is_no_students_failure(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(grade, "compare", failing(grade.compare, "ann", full))
    with pytest.raises((OSError, TcplabError), match="No space left"):
        grader.grade(HONEST)
