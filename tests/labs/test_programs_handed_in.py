"""Programs as answers: tried on public networks, graded on hidden ones, the same everywhere."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import own_transport
from labs.definition import catalogue
from labs.definition.answers import OwnParts
from labs.definition.assignment import ANSWERS, Course, variant
from labs.definition.spec import LabSpec
from labs.grading.grade import ClassRequest, grade_all
from labs.grading.pages import pseudonyms
from labs.measuring.ranges import carry_programs
from labs.student.hand_in import check, pack
from labs.student.handout import start
from labs.student.runs import carry_out_run
from tests.labs.conftest import COURSE

TRANSPORTS = Path(__file__).parent / "transports"
NETWORKS = 2
pytestmark = pytest.mark.virtual


@pytest.fixture
def lab() -> LabSpec:
    """The lab with few networks, so that a test takes seconds."""
    found = catalogue.find("reliable_transport")
    questions = (
        replace(each, networks=NETWORKS) if each.kind == "program" else each
        for each in found.questions
    )
    return replace(found, questions=tuple(questions))


def programs(name: str, folder: Path) -> Path:
    """A folder with sender.py and receiver.py."""
    folder.mkdir(exist_ok=True)
    for role in ("sender", "receiver"):
        own = Path(own_transport.__file__).with_name(f"stop_and_wait_{role}.py")
        file = own if name == "stop_and_wait" else TRANSPORTS / name / f"{role}.py"
        shutil.copy(file, folder / f"{role}.py")
    return folder


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("windowed", ["whole", "ends", "window", "fast"]),
        ("stop_and_wait", ["whole", "ends"]),
        ("careless", []),
    ],
)
def test_stages_tell_transports_apart(
    lab: LabSpec, tmp_path: Path, name: str, passed: list[str]
) -> None:
    own = OwnParts(program=programs(name, tmp_path / name))
    tried = carry_programs(lab, own, tmp_path / "tries", 1)["transport"]
    assert [list(result.passed) for _, result in tried] == [passed] * NETWORKS
    assert all(bool(result.reason) is (name != "windowed") for _, result in tried)


@pytest.mark.long
def test_a_program_earns_its_points_on_hidden_networks(tmp_path: Path) -> None:
    """The whole way: the lab is started, run, checked, packed and graded."""
    lab = catalogue.find("reliable_transport")
    course = Course(COURSE.name, COURSE.secret)
    assignment = start(lab, variant(course, lab, "ann"), tmp_path / "ann")
    handout = (assignment.folder / "handout.md").read_text()
    assert "sends 300kB of data by UDP to h2, with programs" in handout
    assert "**Run `own`**, with your programs" in handout
    programs("windowed", assignment.folder)
    answers = '[answers]\npredict_rate = "small"\ntransport = "sender.py"\n'
    (assignment.folder / ANSWERS).write_text(answers)
    (assignment.folder / "predictions.json").write_text('{"predict_rate": "small"}')
    for run in lab.runs:
        carry_out_run(assignment, run, "virtual")
    assert "transport" not in [finding.where for finding in check(assignment)]
    (tmp_path / "class").mkdir()
    pack(assignment, tmp_path / "class" / "ann.zip")
    grades = grade_all(ClassRequest(tmp_path / "class", lab, course, tmp_path / "grades"))
    page = next((grades / "feedback").glob("*.html")).read_text()
    assert "24 of 24 tests passed" in page
    (name,) = pseudonyms(course, lab, ["ann"]).values()
    assert name in page and name in (grades / "leaderboard.html").read_text()
