"""A lab's exercise that is a packetdrill script: what it earns, and what strangers may hand in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labs.definition import catalogue
from labs.definition.assignment import ANSWERS, Assignment, variant
from labs.definition.scripts import ScriptTrial, handed_in_script, tried
from labs.grading import class_grading, grade, open_questions
from labs.grading.case import AnswerMark
from labs.student.hand_in import check, pack
from labs.student.handout import start
from labs.student.runs import carry_out_run
from testbed.lab.ready import Lab
from testbed.packetdrill.scripts import ScriptFailure
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

LAB = catalogue.find("retransmission")
QUESTION = LAB.question("third_ack")
SPACED = """\
   0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0   setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
  +0   bind(3, ..., ...) = 0
  +0   listen(3, 1) = 0
  +0   < S 0:0(0) win 65535 <mss 1000>
  +0   > S. 0:0(0) ack 1 <...>
  +.1  < . 1:1(0) ack 1 win 65535
  +0   accept(3, ..., ...) = 4
  +0   write(4, ..., 1000) = 1000
  +0   > P. 1:1001(1000) ack 1
  +0   write(4, ..., 1000) = 1000
  +0   > P. 1001:2001(1000) ack 1
  +0   write(4, ..., 1000) = 1000
  +0   > P. 2001:3001(1000) ack 1
  +0   write(4, ..., 1000) = 1000
  +0   > P. 3001:4001(1000) ack 1
  +.1  < . 1:1(0) ack 1 win 65535
  +.02 < . 1:1(0) ack 1 win 65535
  +.02 < . 1:1(0) ack 1 win 65535
  +0   > P. 1:1001(1000) ack 1
"""
AT_ONCE = SPACED.replace("  +.02 <", "  +0   <")
"""Its duplicate ACKs come together, so a kernel that wants two of them is not noticed."""
NOTHING = SPACED.partition("  +0   write")[0]
WRONG = SPACED.replace("  +.02 < . 1:1(0) ack 1 win 65535\n", "", 1)
HOSTILE = (
    "0 `cat /etc/shadow`\n",
    "0 %{ import os }%\n",
    "--init_scripts=/bin/sh\n" + SPACED,
    "\0",
)


@pytest.fixture
def assignment(tmp_path: Path) -> Callable[..., Assignment]:
    """`assignment("ann", script)` is a student's folder with that answer."""

    def begun(student: str, script: str) -> Assignment:
        folder = tmp_path / student
        made = start(LAB, variant(COURSE, LAB, student), folder)
        (folder / "my.pkt").write_text(script)
        (folder / ANSWERS).write_text('[answers]\nthird_ack = "my.pkt"\n')
        return made

    return begun


def empty() -> AnswerMark:
    return AnswerMark("third_ack", "my.pkt", "", 0.0, "empty")


@pytest.mark.virtual
def test_a_script_earns_points_for_the_kernels_that_it_tells_apart(
    ready: Lab, program: Path, tmp_path: Path
) -> None:
    texts = {"spaced": SPACED, "at_once": AT_ONCE, "nothing": NOTHING, "wrong": WRONG}
    asked = []
    for name, text in texts.items():
        (tmp_path / f"{name}.pkt").write_text(text)
        asked.append((QUESTION, handed_in_script(tmp_path, f"{name}.pkt")))
    trials = dict(zip(texts, tried(asked, ready, program), strict=True))
    marks = {name: open_questions.script(QUESTION, trials[name], empty()) for name in texts}
    points = {name: (mark.points, mark.verdict) for name, mark in marks.items()}
    assert points == {
        "spaced": (QUESTION.points, "right"),
        "at_once": (QUESTION.points / 2, "part"),
        "nothing": (0.0, "wrong"),
        "wrong": (0.0, "wrong"),
    }
    assert "a kernel that sends again at the second duplicate ACK" in marks["at_once"].note
    assert "line 19: outbound packet came" in marks["wrong"].note


@pytest.mark.parametrize("text", HOSTILE)
def test_what_could_look_at_the_kernel_is_refused_before_it_runs(
    text: str, assignment: Callable[..., Assignment]
) -> None:
    made = assignment("eve", text)
    with pytest.raises(UsageError):
        handed_in_script(made.folder, "my.pkt")
    (finding,) = (each for each in check(made) if each.where == "third_ack")
    assert finding.wrong and "my.pkt" in finding.text


@pytest.mark.parametrize("name", ["../my.pkt", "/etc/passwd", "my.txt", "absent.pkt", "link.pkt"])
def test_no_other_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "my.txt").write_text(SPACED)
    (tmp_path / "link.pkt").symlink_to("/etc/passwd")
    with pytest.raises(UsageError):
        handed_in_script(tmp_path, name)


def test_one_that_was_not_run_is_read_by_a_person() -> None:
    assert open_questions.script(QUESTION, None, empty()).points is None
    refused = open_questions.script(QUESTION, ScriptTrial(refusal="It has Python in it."), empty())
    assert refused.points == 0.0 and refused.note == "It has Python in it."


@pytest.mark.parametrize(("line", "place"), [(19, ", line 19"), (None, "")])
def test_a_failure_on_the_labs_kernel_names_its_line_if_known(line: int | None, place: str) -> None:
    trial = ScriptTrial(failure=ScriptFailure(line, "too late"))
    failed = open_questions.script(QUESTION, trial, empty())
    assert (failed.points, failed.verdict) == (0.0, "wrong")
    assert failed.note == f"On the lab's kernel it fails{place}: too late."


def test_each_other_kernel_on_which_it_passes_too_costs_its_share() -> None:
    first, *_ = QUESTION.others
    share = QUESTION.points / len(QUESTION.others)
    for trial in (ScriptTrial(unnoticed=(first,)), ScriptTrial(elsewhere=(first,))):
        missed = open_questions.script(QUESTION, trial, empty())
        assert missed.points == pytest.approx(QUESTION.points - share)
    assert open_questions.script(QUESTION, ScriptTrial(), empty()).points == QUESTION.points


@pytest.mark.virtual
def test_a_class_is_graded_with_its_scripts(
    ready: Lab,
    program: Path,
    assignment: Callable[..., Assignment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(class_grading, "_SEEDS", 3)
    (tmp_path / "class").mkdir()
    for student, text in (("ann", SPACED), ("eve", HOSTILE[0])):
        made = assignment(student, text)
        for run in [run for run in LAB.runs if not run.chosen]:
            carry_out_run(made, run, "virtual")
        pack(made, tmp_path / "class" / f"{student}.zip")
    grade.grade_all(
        grade.ClassRequest(tmp_path / "class", LAB, COURSE, tmp_path / "grades", workers=2)
    )
    rows: list[dict[str, Any]] = json.loads((tmp_path / "grades/report.json").read_text())
    marks = {
        row["student"]: next(mark for mark in row["marks"] if mark["question"] == "third_ack")
        for row in rows
    }
    assert marks["ann"]["points"] == QUESTION.points
    assert marks["eve"]["points"] == 0.0 and "shell commands" in marks["eve"]["note"]
