"""A hand-in on Gradescope belongs to its submitter, by the metadata that Gradescope documents."""

import json
import subprocess
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.definition.spec import LabSpec
from labs.grading.case import AnswerMark, Case
from labs.grading.exports import check_submitter, read_submitters, results
from labs.grading.intake import HandIn
from labs.grading.tables import Person
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

SCRIPT = catalogue.FOLDER / "ecosystem" / "gradescope" / "run_autograder"
METADATA = json.loads(Path(__file__).with_name("submission_metadata.json").read_text())
"""https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/"""


def case_of(student: str, sack: LabSpec) -> Case:
    marks = [
        AnswerMark("goodput_off", "231 kbit/s", "231 kbit/s", 3.0, "right"),
        AnswerMark("why", "x", "", None, "read"),
    ]
    own = variant(COURSE, sack, student)
    return Case(HandIn(Path(), student), Path(), variant=own, marks=marks)


def submission_of(tmp_path: Path, *emails: str) -> Path:
    users = [{"email": email, "id": number, "name": email} for number, email in enumerate(emails)]
    file = tmp_path / "submission_metadata.json"
    file.write_text(json.dumps(METADATA | {"users": users} if emails else METADATA))
    return file


@pytest.mark.parametrize(
    ("student", "emails", "person", "ours"),
    [
        ("student@example.com", (), None, True),
        ("student", (), None, True),
        ("ann", (), None, False),
        ("ann", (), Person("ann", email="student@example.com"), True),
        ("student", (), Person("student", email="other@example.com"), False),
        ("ben", ("ann@uni.example", "ben@uni.example"), None, True),
        ("eve", ("ann@uni.example", "ben@uni.example"), None, False),
    ],
)
def test_a_hand_in_belongs_to_its_submitter(
    student: str,
    emails: tuple[str, ...],
    person: Person | None,
    ours: bool,
    sack: LabSpec,
    tmp_path: Path,
) -> None:
    submitters = read_submitters(submission_of(tmp_path, *emails))
    case = check_submitter(case_of(student, sack), [person] if person else [], submitters)
    result = results(sack, case)
    assert (case.state == "graded") is ours and ("score" in result) is ours
    assert "example" not in result["output"], "nobody reads who else is in it"


def test_answers_that_a_person_reads_are_no_zeros(sack: LabSpec) -> None:
    result = results(sack, case_of("ann", sack))
    assert result["score"] == 3.0 and [test["max_score"] for test in result["tests"]] == [3]
    assert "1 of your answers are read by a person" in result["output"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"users": []}', '{"users": [{"id": 1}]}', '{"users": "x"}']
)
def test_metadata_that_names_nobody_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "submission_metadata.json"
    file.write_text(content)
    with pytest.raises(UsageError, match="Gradescope"):
        read_submitters(file)


@pytest.mark.parametrize(("roster", "works"), [(True, True), (False, True), (True, False)])
def test_the_script_gives_gradescope_what_grading_left(
    roster: bool, works: bool, tmp_path: Path
) -> None:
    """In a folder in the place of /autograder, with a grader that notes how it was called."""
    (tmp_path / "source").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "tcplab").mkdir()
    if roster:
        (tmp_path / "source" / "roster.csv").write_text("id\nann\n")
    grader = tmp_path / "tcplab" / "tcplab"
    out = 'while [ "$1" != --out ]; do shift; done; mkdir -p "$2/gradescope"'
    left = f'{out}; echo "{{\\"score\\": 3}}" >"$2/gradescope/a.json"'
    grader.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/called\n{left if works else "exit 1"}\n')
    grader.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "AUTOGRADER": str(tmp_path)}
    subprocess.run([str(SCRIPT)], check=True, env=environment)
    words = (tmp_path / "called").read_text().split()
    assert words[words.index("--gradescope-metadata") + 1] == f"{tmp_path}/submission_metadata.json"
    assert ("--students" in words) is roster
    result = json.loads((tmp_path / "results" / "results.json").read_text())
    assert ("score" in result) is works
