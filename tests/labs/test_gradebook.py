"""The gradebook over labs, its tables, and the statistics of questions."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from labs.commands import lab
from labs.grading.gradebook import has_humps, item_rows, read_graded

HEADING = (
    "student,name,state,points,of,final,to_read,authentic,flags,accepted,rate,rule,hand_in,message"
)


def graded(folder: Path, rows: list[str]) -> Path:
    """Write a folder of grades."""
    folder.mkdir()
    (folder / "grades.csv").write_text("\n".join([HEADING, *rows]) + "\n")
    return folder


@pytest.fixture
def sack(tmp_path: Path) -> Path:
    """A lab of six students: one handed nothing in, one waits for a person."""
    rows = [
        f"s{place},Name {place},graded,{4 + 2 * place},20,{4 + 2 * place},0,yes,,,{2 * place},4,a,"
        for place in range(4)
    ]
    rows += ["s4,Name 4,not handed in,,20,,0,,,,,,,", "s5,Name 5,look,9,20,,1,yes,twice,,5,4,b,"]
    return graded(tmp_path / "of_mine-grades", rows)


def test_a_course_has_a_row_for_each_student_and_a_column_for_each_lab(
    sack: Path, tmp_path: Path
) -> None:
    loss = graded(tmp_path / "loss-grades", ["s0,Name 0,graded,7,10,7,0,yes,,,3,4,a,"])
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name,email,canvas,section\ns0,Ann,ann@x.example,11,A\ns9,Zoe,,12,B\n")
    words = ["course", "status", str(sack), str(loss), "--students", str(roster)]
    shown = CliRunner().invoke(lab, [*words, "--out", str(tmp_path / "out")])
    lines = [line.split() for line in shown.output.splitlines()]
    assert shown.exit_code == 0, shown.output
    assert lines[0] == ["student", "name", "section", "of_mine", "loss"]
    assert lines[1] == ["s0", "Ann", "A", "4", "7"]
    assert lines[2] == ["s9", "Zoe", "B", "not", "handed", "in", "not", "handed", "in"]
    assert lines[-3:] == [["mean", "7", "7"], ["median", "7", "7"], ["missing", "2", "6"]]
    canvas = (tmp_path / "out/canvas.csv").read_text().splitlines()
    assert canvas[0] == "Student,ID,SIS User ID,SIS Login ID,Section,of_mine,loss"
    assert canvas[1].endswith(",,,,20,10") and canvas[2] == "Ann,11,s0,ann@x.example,A,4,7"
    assert canvas[3] == "Zoe,12,s9,,B,,"
    moodle = (tmp_path / "out/moodle.csv").read_text().splitlines()
    assert moodle[:2] == ["ID number,Email address,of_mine,loss", "s0,ann@x.example,4,7"]


def test_a_group_has_one_hand_in(tmp_path: Path) -> None:
    loss = graded(tmp_path / "loss-grades", ["team,,graded,7,10,7,0,yes,,,3,4,a,"])
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name,group\nann,Ann,team\nben,Ben,team\n")
    words = ["course", "status", str(loss), "--students", str(roster)]
    lines = [line.split() for line in CliRunner().invoke(lab, words).output.splitlines()]
    assert lines[1:3] == [["ann", "Ann", "7"], ["ben", "Ben", "7"]]
    assert lines[-1] == ["missing", "0"]


def test_a_question_has_difficulty_and_discrimination(sack: Path) -> None:
    rate, rule, whole = item_rows(read_graded(sack))
    assert rate[:5] == ["of_mine", "rate", 5, 0.57, ""]
    assert rule[:5] == ["of_mine", "rule", 5, 1.0, ""]
    assert whole[1:3] == ["all", 4] and whole[5:9] == [1, 2, 1, 0]


def test_two_humps_are_flagged() -> None:
    assert has_humps([0.1, 0.15, 0.2, 0.1, 0.12, 0.9, 0.95, 0.85, 0.9, 0.92])
    assert not has_humps([0.3, 0.4, 0.5, 0.5, 0.6, 0.5, 0.55, 0.45, 0.7, 0.2])
    assert not has_humps([0.0, 1.0])


def test_a_course_is_made_as_before_and_a_folder_without_grades_is_refused(tmp_path: Path) -> None:
    made = CliRunner().invoke(lab, ["course", str(tmp_path / "c.toml"), "--name", "Networks"])
    assert made.exit_code == 0 and "Networks" in (tmp_path / "c.toml").read_text()
    first = CliRunner().invoke(lab, ["course", "--name", "N", str(tmp_path / "d.toml")])
    assert first.exit_code == 0
    refused = CliRunner().invoke(lab, ["course", "status", str(tmp_path)])
    assert refused.exit_code and "grades.csv cannot be read" in refused.output
