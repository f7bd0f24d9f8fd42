"""Labs as data: numbers with units, variants, handouts, and the check of answers."""

import dataclasses
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from labs.commands import lab as lab_commands
from labs.definition import catalogue
from labs.definition.answers import examples_of, read_sheet
from labs.definition.assignment import (
    ANSWERS,
    Assignment,
    class_file,
    new_course,
    read_assignment,
    read_course,
    student_id,
    variant,
    variant_from,
)
from labs.definition.key import key_module
from labs.definition.runs import combination_of, example_module, settings, variables_of
from labs.definition.spec import LabSpec, Option, Question
from labs.definition.written import parse_number, unit_named
from labs.student.hand_in import check
from labs.student.handout import handout_text, start
from tests.labs.conftest import COURSE
from topologies.errors import TcplabError, UsageError

ROOT = catalogue.FOLDER.parent


def test_a_rate_is_no_time() -> None:
    with pytest.raises(ValueError, match="is a time, and a rate is asked for"):
        parse_number("3 s").within(unit_named("kbit/s"))


def test_every_lab_is_sound(tmp_path: Path) -> None:
    """Every variant's runs are possible, and its key knows every question that is marked by it."""
    assert "sack" in catalogue.names()
    module = example_module(tmp_path)
    for name in catalogue.names():
        lab = catalogue.find(name)
        assert lab.claim.endswith(".") and lab.goals and lab.points >= 10
        for student in ("ann", "ben", "eve"):
            own_variant = variant(COURSE, lab, student)
            for run in lab.runs:
                assert combination_of(run, own_variant, examples_of(lab, module)).spec.conditions
            assert {parameter.name for parameter in lab.varies if not parameter.hidden} <= set(
                variables_of(lab, own_variant)
            )
            assert handout_text(lab, own_variant).count("**") > 2 * len(lab.questions)
        assert callable(key_module(name).key) and callable(key_module(name).lesson)


def test_a_variant_is_the_secrets_and_the_ids(sack: LabSpec) -> None:
    own_variant = variant(COURSE, sack, "Ann ")
    assert own_variant == variant(COURSE, sack, "ann") and own_variant.student == "ann"
    assert own_variant != variant(
        dataclasses.replace(COURSE, secret="another secret of the course"), sack, "ann"
    )
    assert own_variant.seed != variant(COURSE, dataclasses.replace(sack, name="other"), "ann").seed
    assert dict(own_variant.values)["bw"] in sack.varies[0].values


def test_variants_use_the_whole_range_evenly(sack: LabSpec) -> None:
    variants = [variant(COURSE, sack, f"student{number}") for number in range(2000)]
    assert len({student_variant.seed for student_variant in variants}) == 2000
    for index, parameter in enumerate(sack.varies):
        counts = Counter(student_variant.values[index][1] for student_variant in variants)
        assert set(counts) == set(parameter.values)
        expected = 2000 / len(parameter.values)
        assert all(abs(count - expected) < 6 * expected**0.5 for count in counts.values())


def test_the_class_file_names_nobody_and_gives_the_same_variant(
    sack: LabSpec, tmp_path: Path
) -> None:
    file = tmp_path / "variants.json"
    file.write_text(class_file(COURSE, sack, ["ann", "ben"]))
    assert "ann" not in file.read_text() and COURSE.secret not in file.read_text()
    assert variant_from(file, sack, "Ann", COURSE) == variant(COURSE, sack, "ann")
    with pytest.raises(UsageError, match="no variant"):
        variant_from(file, sack, "eve", COURSE)
    file.write_text("[]")
    with pytest.raises(TcplabError, match="cannot be read"):
        variant_from(file, sack, "ann", COURSE)


def test_a_course_is_made_once_and_is_its_owners_only(tmp_path: Path) -> None:
    course = new_course(tmp_path / "course.toml", "TCP 2026")
    assert read_course(tmp_path / "course.toml") == course and len(course.secret) == 64
    assert (tmp_path / "course.toml").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="is there already"):
        new_course(tmp_path / "course.toml", "again")


@pytest.mark.parametrize("text", ["", " ", "a" * 65, "an\nn", "../ann", "-rf"])
def test_strange_ids_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be a student's id"):
        student_id(text)


def test_the_handout_says_the_variants_numbers_and_no_others(sack: LabSpec) -> None:
    """Numbers of the link are rendered: another variant changes every one of them."""
    for name in catalogue.names():
        lab = catalogue.find(name)
        source = (catalogue.FOLDER / name / "text/en/background.md.j2").read_text()
        values = {value for parameter in lab.varies for value in parameter.values}
        typed = values & set(re.findall(r"[\d.]+(?:mbit|kbit|ms|%)", source))
        assert not typed, f"{name}: {typed}"


def test_a_folder_is_made_once(assignment: Assignment, sack: LabSpec) -> None:
    text = (assignment.folder / "handout.md").read_text()
    for setting in settings(sack.runs[0], assignment.variant.values):
        assert setting.partition("=")[2] in text
    page = (assignment.folder / "handout.html").read_text()
    assert 'src="data:image/svg+xml;base64,' in page and "default-src 'none'" in page
    assert 'src="drawings/' not in page and (assignment.folder / "drawings/with.svg").is_file()
    assert read_assignment(assignment.folder).variant == assignment.variant
    with pytest.raises(UsageError, match="is there already"):
        start(sack, assignment.variant, assignment.folder)


def test_a_handout_tells_the_channel_once_and_no_round_trip_that_is_asked() -> None:
    fairness, first_look = (
        handout_text(lab, variant(COURSE, lab, "ann"))
        for lab in map(catalogue.find, ("fairness", "first_look"))
    )
    assert fairness.count("* `bw` is **100mbit**") == 1
    assert fairness.count("* The same as in run `fifo`, except for this:") == 2
    assert "when no packet waits" in fairness and "when no packet waits" not in first_look


def test_a_handout_names_the_applications_next_to_many_flows() -> None:
    lab = catalogue.find("bufferbloat_home")
    handout = handout_text(lab, variant(COURSE, lab, "ann"))
    assert "and 2 more flows like the last; an application of kind `ping` from h1 to h2" in handout
    assert "kind `users` from h1 to h2 (flow `web`, port 6003)" in handout


def test_check_says_what_is_missing_and_shows_no_points(assignment: Assignment) -> None:
    findings = [f"{finding.where}: {finding.text}" for finding in check(assignment)]
    assert f"sack: this run is not there yet: ./tcplab lab run {assignment.folder}" in findings
    assert "goodput_off: not answered yet" in findings
    assert not any("point" in sentence for sentence in findings)


def test_check_reads_units_and_plausibility_but_knows_no_answers(assignment: Assignment) -> None:
    (assignment.folder / ANSWERS).write_text(
        '[answers]\ngoodput_off = "231"\ngoodput_on = "99 Mbit/s"\nsilence_off = "3'
        ' kbit/s"\nresent_off = 306\nfactor = "1.9"\nwhere = "nowhere"\ngraph ='
        ' "../../etc/passwd"\n'
    )
    findings = {finding.where: finding.text for finding in check(assignment)}
    assert "has no unit" in findings["goodput_off"] and "hardly possible" in findings["goodput_on"]
    assert "a time is asked for" in findings["silence_off"] and "is no option" in findings["where"]
    assert "there is no file" in findings["graph"]
    assert "resent_off" not in findings and "factor" not in findings


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[answers", "cannot be read"),
        ("a = 1", "no \\[answers\\]"),
        ("a = " + "[" * 50_000, "cannot be read"),
        ("#" * 70_000, "larger than 64 KiB"),
        ("\x00", "cannot be read"),
        ("answers = 3", "no \\[answers\\]"),
        ("a = " + "9" * 60_000, "no \\[answers\\]"),
    ],
)
def test_a_sheet_that_is_none_is_one_sentence(
    content: str, problem: str, sack: LabSpec, tmp_path: Path
) -> None:
    (tmp_path / ANSWERS).write_text(content)
    with pytest.raises(TcplabError, match=problem):
        read_sheet(tmp_path / ANSWERS, sack)


def test_a_sheets_answers_are_texts_whatever_they_were(sack: LabSpec, tmp_path: Path) -> None:
    (tmp_path / ANSWERS).write_text(
        '[answers]\ngoodput_off = 231.5\nblocks = ["faster", "faster", 7]\nwhy ='
        ' "a\\u0000\\u001b[31mb"\nwhere = true\nfactor = {a = 1}\n'
    )
    answers = read_sheet(tmp_path / ANSWERS, sack)
    assert answers["goodput_off"] == ["231.5"] and answers["blocks"] == ["7", "faster"]
    assert answers["why"] == ["a[31mb"] and answers["where"] == [] and answers["factor"] == []


def test_a_question_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="has no rubric"):
        Question("why", "text", "Why?", 3, "so")
    with pytest.raises(UsageError, match="choice needs 'options'"):
        Question("which", "choice", "Which?", 3, "so")
    with pytest.raises(UsageError, match="no unit"):
        Question("rate", "number", "How fast?", 3, "so", unit="furlong")
    assert Question("which", "choice", "Which?", 3, "so", options=(Option("a", "A"),)).points == 3


def test_the_labs_are_reached_from_both_command_lines() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-m", *words, "list"], capture_output=True, check=True, cwd=ROOT
        )
        for words in (["experiments.cli.main", "lab"], ["labs"])
    ]
    assert outputs[0].stdout == outputs[1].stdout and b"sack" in outputs[0].stdout


def test_the_command_line_starts_and_checks(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    result = CliRunner().invoke(
        lab_commands, ["start", "sack", "--student", "Ann", "--out", str(folder)]
    )
    assert (
        result.exit_code == 0
        and json.loads((folder / "assignment.json").read_text())["variant"]["student"] == "ann"
    )
    result = CliRunner().invoke(lab_commands, ["check", str(folder)])
    assert result.exit_code == 1 and "to look at" in result.output
    result = CliRunner().invoke(lab_commands, ["pack", str(folder)])
    assert result.exit_code == 2 and "is not there yet" in result.output
    result = CliRunner().invoke(lab_commands, ["start", "nonesuch", "--student", "ann"])
    assert result.exit_code == 2 and "There is no lab" in result.output
