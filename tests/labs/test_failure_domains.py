"""A failure of any kind in any step of one hand-in leaves every other result as it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labs.grading import class_grading, grade, opening
from labs.grading.case import Case
from labs.grading.class_grading import ClassGrading
from labs.grading.opening import Stage
from tests.labs.measured_class import Grader, make, people_of, results
from tests.labs.saboteurs import KINDS
from topologies.errors import TcplabError

pytestmark = pytest.mark.virtual
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
    Stage.OPEN: (opening, "_with_parts"),
    Stage.OWNER: (opening, "_identify"),
    Stage.PLAN: (ClassGrading, "points"),
    Stage.REPEAT: (grade, "compare"),
    Stage.COMPARE: (grade, "settle"),
    Stage.MARK: (grade, "has_real_time"),
    Stage.RESEMBLE: (grade.shared_work, "other_variants"),
    Stage.DECIDE: (grade.decisions, "apply_acceptances"),
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


PEOPLE = people_of([*HONEST, *FAILING, *map(direct, DIRECT)])


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


@pytest.fixture
def grader(hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grader:
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    failures = {(step, name): kind for name, (step, kind) in FAILING.items()}
    return Grader(hand_ins, tmp_path, monkeypatch, PEOPLE, failures)


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


@pytest.mark.long
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
