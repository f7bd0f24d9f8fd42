"""Leaderboards of made classes: scores, ties, pseudonyms, and what each page tells."""

from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition import catalogue, forecast
from labs.definition.assignment import Course, variant
from labs.definition.key import Key
from labs.definition.spec import LabSpec, Leaderboard, ScoreTerm
from labs.grading import pages
from labs.grading.case import Case, Flag
from labs.grading.files import CourseFiles, write
from labs.grading.intake import HandIn
from labs.grading.marking import Marker
from labs.grading.pages import GradedClass, pseudonyms, ranking, with_pseudonyms
from labs.measuring import references
from labs.measuring.measures import MeasuredRun
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

SCORES = {"s-ann": (0.5, 0.7), "s-ben": (0.6, 0.6), "s-cat": (0.9, 0.9), "s-dan": (0.0, 0.0)}


@pytest.fixture
def lab() -> LabSpec:
    return catalogue.find("reliable_transport")


def made_case(lab: LabSpec, student: str, scores: tuple[float, ...]) -> Case:
    tested = {"transport": [forecast.TestedProgram(("whole",), score=each) for each in scores]}
    marks = Marker(lab, Key(), {}, {}, {}, {}, tested=tested).marks({})
    own = variant(COURSE, lab, student)
    return Case(HandIn(Path(), student), Path(), variant=own, tested=tested, marks=marks)


@pytest.fixture
def cases(lab: LabSpec) -> list[Case]:
    made = [made_case(lab, student, scores) for student, scores in SCORES.items()]
    return list(with_pseudonyms(COURSE, lab, made))


def test_equal_means_share_a_rank(lab: LabSpec, cases: list[Case]) -> None:
    ann, ben, cat, dan = (case.pseudonym for case in cases)
    rows = [(place.rank, place.pseudonym, place.score) for place in ranking(lab, cases)]
    tied = [(2, name, 0.6) for name in sorted([ann, ben])]
    assert rows == [(1, cat, 0.9), *tied, (4, dan, 0.0)]


def test_a_student_has_one_row_and_none_while_a_person_has_to_look(
    lab: LabSpec, cases: list[Case]
) -> None:
    names = {case.student: case.pseudonym for case in cases}
    again = made_case(lab, "s-ann", (1.0, 1.0))
    twice = Flag("twice", "There is another one.")
    looks = [cases[0].flagged(twice), again.flagged(twice), cases[1].refuse("It cannot be read.")]
    everybody = [*looks, *cases[2:], Case(HandIn(Path(), "eve"), Path())]
    everybody = with_pseudonyms(COURSE, lab, everybody)
    ranked = [place.pseudonym for place in ranking(lab, everybody)]
    assert ranked == [names["s-cat"], names["s-dan"]]


def test_the_hand_in_that_can_be_ranked_counts(lab: LabSpec, cases: list[Case]) -> None:
    broken = Case(HandIn(Path(), "s-cat"), Path(), variant=cases[2].variant, refused="Broken.")
    everybody = with_pseudonyms(COURSE, lab, [broken, *cases])
    assert ranking(lab, everybody)[0].pseudonym == cases[2].pseudonym
    assert len(ranking(lab, everybody)) == len(cases)


def test_pseudonyms_are_different_and_drawn_by_the_secret(
    lab: LabSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_of = [f"s{number}" for number in range(300)]
    names = pseudonyms(COURSE, lab, class_of)
    assert len(set(names.values())) == 300
    other = pseudonyms(Course(COURSE.name, "another secret of 16"), lab, class_of)
    contest = pseudonyms(COURSE, replace(lab, name="other"), class_of)
    assert all(names[each] not in (other[each], contest[each]) for each in class_of)
    monkeypatch.setattr(pages, "_FIRST", ["amber"])
    monkeypatch.setattr(pages, "_SECOND", ["badger"])
    assert len(set(pseudonyms(COURSE, lab, class_of[:60]).values())) == 60


def test_only_the_own_feedback_names_a_pseudonym(
    lab: LabSpec, cases: list[Case], tmp_path: Path
) -> None:
    write(tmp_path, GradedClass(lab, COURSE, [], cases), CourseFiles())
    files = {file.relative_to(tmp_path).as_posix(): file.read_text() for file in _texts(tmp_path)}
    board = files["leaderboard.html"]
    assert not [student for student in SCORES if student in board]
    for case in cases:
        holding = [name for name, text in files.items() if case.pseudonym in text]
        assert sorted(holding) == [f"feedback/{case.student}.html", "leaderboard.html"]


def _texts(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_a_lab_without_a_rule_has_no_leaderboard(
    sack: LabSpec, lab: LabSpec, cases: list[Case], tmp_path: Path
) -> None:
    write(tmp_path, GradedClass(replace(lab, leaderboard=None), COURSE, [], cases), CourseFiles())
    assert not (tmp_path / "leaderboard.html").exists()
    assert sack.leaderboard is None


VALUES = {
    "flow1.goodput_kbit_s": 3000.0,
    "flow1.client_seconds": 0.8,
    "cubic.goodput_kbit_s": 1000.0,
    "server.transfer": 293.0,
}


def test_a_network_scores_the_weighted_sum_if_the_needed_test_is_passed(lab: LabSpec) -> None:
    rate, size = "own/flow1.goodput_kbit_s", "own/server.transfer"
    terms = (ScoreTerm(rate, 2.0, "bw / 1000"), ScoreTerm(size, -0.001))
    ranked = replace(lab, leaderboard=Leaderboard("transport", "whole", terms, "Text"))
    question = lab.question("transport")
    network = {"bw": 4e6, "delay": 0.02, "loss": 0.0, "amount": 3e5, "duration": 60.0}
    run = MeasuredRun(({"own": VALUES},))
    tested = references.tested_program(ranked, question, run, network)
    assert tested.passed == ("whole", "ends", "window", "fast")
    assert tested.score == pytest.approx(2 * 3000 / 4000 - 0.293)
    lost = MeasuredRun(({"own": VALUES | {"server.transfer": 200.0}},))
    assert references.tested_program(ranked, question, lost, network).score == 0.0


def test_a_receiver_that_writes_nothing_passes_no_test(lab: LabSpec) -> None:
    question, network = lab.question("transport"), {"bw": 4e6, "amount": 300_000.0}
    tested = references.tested_program(lab, question, MeasuredRun(({"own": {}},)), network)
    assert tested.passed == () and "too little arrived" in tested.reason and tested.score == 0


def test_a_value_can_be_a_share_or_the_fairness_of_several() -> None:
    run = MeasuredRun(({"own": VALUES},))
    both = "own/flow1.goodput_kbit_s, own/cubic.goodput_kbit_s"
    assert references.program_value(run, f"share({both})") == 0.75
    assert references.program_value(run, f"jain({both})") == pytest.approx(0.8)


def test_a_rule_that_needs_no_test_is_refused(lab: LabSpec) -> None:
    assert lab.leaderboard
    with pytest.raises(UsageError, match="leaderboard needs 'wholly'"):
        replace(lab, leaderboard=replace(lab.leaderboard, needs="wholly"))


def test_a_rule_that_divides_by_zero_is_told(lab: LabSpec) -> None:
    board = Leaderboard(
        "transport", "whole", (ScoreTerm("own/server.transfer", per="loss"),), "Text"
    )
    run, network = MeasuredRun(({"own": VALUES},)), {"bw": 4e6, "delay": 0.02, "loss": 0.0}
    ranked, question = replace(lab, leaderboard=board), lab.question("transport")
    with pytest.raises(UsageError, match="'loss' is 0"):
        references.tested_program(
            ranked, question, run, network | {"amount": 3e5, "duration": 60.0}
        )
