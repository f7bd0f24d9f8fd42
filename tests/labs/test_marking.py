"""Points: units, rounding, known factors and mix-ups, derived values, and points by hand."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.definition.key import Key, key_module
from labs.definition.spec import LabSpec
from labs.grading import files
from labs.grading.case import AnswerMark, Case, Flag, exported_points
from labs.grading.decisions import OVERRIDES, apply_overrides, read_decisions
from labs.grading.exports import results
from labs.grading.inspection import HandedInRun, InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.marking import Marker, _ticked, tolerances
from labs.grading.moodle import own_worksheet
from labs.grading.pages import GradedClass, class_page, feedback_page, reading_page
from labs.grading.shared_work import other_variants, same_captures, same_student
from labs.grading.tables import Person, read_roster
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

DERIVED = key_module("sack").DERIVED


@pytest.fixture
def marker(sack: LabSpec, key: Key) -> Marker:
    return Marker(sack, key, {}, DERIVED, {}, {})


def mark(marker: Marker, **answers: str) -> AnswerMark:
    """The mark of the last answer that is given."""
    *_, last = answers
    marks = marker.marks({name: [text] for name, text in answers.items()})
    return next(answer_mark for answer_mark in marks if answer_mark.question == last)


@pytest.mark.parametrize(
    ("question", "points", "verdict", "texts"),
    [
        ("goodput_off", 3, "right", ["231 kbit/s", "0.23 Mbps", "28.9 kB/s", "233 kbit/s"]),
        ("goodput_off", 1.5, "unit", ["231"]),
        ("goodput_off", 0.75, "unit", ["231 ms"]),
        ("goodput_off", 0.75, "factor", ["231 kB/s", "231 Mbit/s", "225.6 kbit/s"]),
        ("goodput_off", 0, "mistake", ["1 Mbit/s"]),
        ("goodput_off", 0, "wrong", ["240 kbit/s", "2e2 kbit/s", "-231 kbit/s", "0 kbit/s"]),
        ("goodput_off", 0, "wrong", ["0.2 Mbit/s"]),
        ("goodput_off", None, "unreadable", ["fast", "1,234 kbit/s", "231 445 kbit/s"]),
        ("resent_share_on", 3, "right", ["\u2248 9 %", "8.5%", "0.0852", "0.085"]),
        ("resent_share_on", 1.5, "unit", ["8.52"]),
        ("resent_share_on", 0.75, "factor", ["0.0852 %", "852 %"]),
        ("resent_share_on", 0, "wrong", ["8.72 %", "68.2 %"]),
        ("factor", 2, "right", ["1.93\u00d7", "193 %"]),
        ("factor", 0, "wrong", ["2", "1.97", "+93 %"]),
        ("factor", None, "unreadable", ["445/231"]),
        ("resent_off", 3, "right", ["306 pkts", "306"]),
        ("resent_off", 0.75, "unit", ["306 %"]),
        ("resent_off", 0, "wrong", ["2448", "313"]),
        ("timeouts_on", 2, "right", ["15 RTOs"]),
        ("timeouts_on", 0, "wrong", ["9 RTOs"]),
        ("silence_off", 0.75, "factor", ["53870 s"]),
        ("silence_off", 0, "wrong", ["431 s", "52.6 s"]),
    ],
)
def test_a_number_earns_what_it_says_and_a_factor_only_if_the_unit_allows_it(
    marker: Marker, question: str, points: float | None, verdict: str, texts: list[str]
) -> None:
    found = {text: mark(marker, **{question: text}) for text in texts}
    assert {text: (each.points, each.verdict) for text, each in found.items()} == dict.fromkeys(
        texts, (points, verdict)
    )


@pytest.mark.parametrize(("expected", "points"), [(1234.0, None), (1.234, 3), (5.0, 0)])
def test_a_german_thousand_is_read_by_a_person_if_it_would_be_right(
    marker: Marker, expected: float, points: float | None
) -> None:
    silent = replace(marker, key=Key({"silence_off": expected}))
    assert mark(silent, silence_off="1.234 s").points == points


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("9 %", [8.8, 9.4], [9.6]),
        ("5 %", [5.4], []),
        ("4 %", [], [4.4]),
        ("1 %", [], [1.04]),
        ("10 %", [10.4], [10.6]),
    ],
)
def test_one_digit_tells_enough_from_five_up(
    marker: Marker, text: str, right: list[float], wrong: list[float]
) -> None:
    for expected in (*right, *wrong):
        precise = replace(marker, key=Key({"resent_share_on": expected}))
        verdict = mark(precise, resent_share_on=text).verdict
        assert verdict == ("right" if expected in right else "wrong"), expected


@pytest.mark.parametrize(
    ("given", "share"),
    [("ab", 2 / 3), ("abc", 1.0), ("abcd", 0.0), ("d", 0.0), ("", 0.0), ("ad", 0.0)],
)
def test_a_wrong_option_costs_a_right_one_and_all_options_earn_nothing(
    given: str, share: float
) -> None:
    assert _ticked(set(given), set("abc"), set("d")) == pytest.approx(share)
    halves = {"abc": 0.5, "abcd": 0.0, "ab": 1.0, "a": 0.5, "ac": 0.0}
    assert {name: _ticked(set(name), set("ab"), set("cd")) for name in halves} == halves


@pytest.mark.parametrize(("expected", "verdict"), [(231.4, "right"), (231.6, "wrong")])
def test_a_rounding_counts_in_the_unit_that_was_written(
    marker: Marker, expected: float, verdict: str
) -> None:
    """Half of the last digit of 0.231 Mbit/s is 0.5 kbit/s, the unit of the question."""
    exact = replace(marker, key=Key({"goodput_off": expected}), tolerance={"goodput_off": 0.0})
    assert mark(exact, goodput_off="0.231 Mbit/s").verdict == verdict


@pytest.mark.parametrize(
    ("text", "note"),
    [("1600 kbit/s", "It is 8 times too large"), ("25 kbit/s", "It is 8 times too small")],
)
def test_bytes_taken_for_bits_are_named_in_their_direction(
    marker: Marker, text: str, note: str
) -> None:
    exact = replace(marker, key=Key({"goodput_off": 200.0}), tolerance={"goodput_off": 0.01})
    answer_mark = mark(exact, goodput_off=text)
    assert (answer_mark.points, answer_mark.verdict) == (0.75, "factor")
    assert answer_mark.note.startswith(note)


def test_a_right_number_has_a_note_only_if_a_band_decides(marker: Marker) -> None:
    exact = replace(marker, key=Key({"goodput_off": 200.0}))
    assert mark(exact, goodput_off="200 kbit/s").note == ""
    band = replace(exact, bands={"goodput_off": (180.0, 280.0)})
    assert mark(band, goodput_off="250 kbit/s").note == "It lies in the band of repeated runs."


def test_notes_keep_the_capitals_of_units(marker: Marker) -> None:
    answer_mark = mark(marker, goodput_off="231 Mbit/fortnight")
    remedy = "write one such as kbit/s, Mbps, kB/s, s, ms or %"
    assert answer_mark.note.startswith(f"The unit 'Mbit/fortnight' is not known; {remedy}.")


def test_without_captures_a_run_in_real_time_is_judged_by_its_band(sack: LabSpec, key: Key) -> None:
    by_band = Marker(sack, key, {}, DERIVED, {}, {}, {"goodput_off": (180.0, 280.0)})
    assert mark(by_band, goodput_off="200 kbit/s").points == 3
    assert mark(by_band, goodput_off="300 kbit/s").points == 0


def test_a_known_mix_up_is_named(marker: Marker) -> None:
    answer_mark = mark(marker, resent_off="61")
    assert (answer_mark.points, answer_mark.mistake) == (0, "at_receiver")
    assert "arrived there twice" in answer_mark.note


def _with_mistakes(marker: Marker, **values: float) -> Marker:
    return replace(marker, key=replace(marker.key, mistakes={"goodput_off": values}))


def test_the_nearest_mix_up_is_named_and_none_of_two_that_are_as_near(marker: Marker) -> None:
    near = _with_mistakes(marker, other_condition=606.0, link=600.0)
    assert mark(near, goodput_off="601 kbit/s").mistake == "link"
    assert mark(near, goodput_off="605 kbit/s").mistake == "other_condition"
    tie = mark(near, goodput_off="603 kbit/s")
    assert (tie.mistake, tie.note, tie.points) == ("", "", 0)
    factor = _with_mistakes(marker, other_condition=231 * 8 * 1.004)
    assert mark(factor, goodput_off="231 kB/s").mistake == "factor 8"


def test_the_link_s_rate_and_the_amount_of_data_are_known_mix_ups(marker: Marker) -> None:
    own = _with_mistakes(marker, link=1000.0, transfer=2640 / 1.024)
    assert mark(own, goodput_off="1 Mbit/s").mistake == "link"
    assert mark(own, goodput_off="2.58 Mbit/s").mistake == "transfer"


def test_frames_counted_from_zero_and_wrong_options_are_named(marker: Marker) -> None:
    key = replace(marker.key, frames={"timeout_frame": {7: 1.25}})
    counted = mark(replace(marker, key=key), timeout_frame="6")
    assert (counted.points, counted.mistake) == (0, "from_zero")
    first = catalogue.find("first_look")
    same = Marker(first, Key(choices={"whose_capture": {"at_once"}}), {}, {}, {}, {})
    assert mark(same, whose_capture="other").note.startswith("They are the same packets, seen")
    assert mark(same, whose_capture="at_once").note == ""


def test_what_follows_rightly_from_a_wrong_value_earns_its_points(marker: Marker) -> None:
    answer_mark = mark(marker, goodput_off="231 kbit/s", goodput_on="693 kbit/s", factor="3.0")
    assert answer_mark.verdict == "follows" and answer_mark.points == 2
    assert mark(marker, goodput_off="231 kbit/s", goodput_on="693 kbit/s", factor="2.4").points == 0
    assert mark(marker, goodput_off="0 kbit/s", goodput_on="693 kbit/s", factor="9").points == 0


def test_choices_are_not_won_by_ticking_all(marker: Marker, sack: LabSpec) -> None:
    everything = [option.id for option in sack.question("blocks").options]

    def points(*ticked: str) -> float | None:
        marks = marker.marks({"blocks": list(ticked)})
        return next(each.points for each in marks if each.question == "blocks")

    assert points("both_syns", "fewer_timeouts") == 2 and points("both_syns") == 1
    assert points(*everything) == 0 and points("both_syns", "no_loss") == 0
    assert mark(marker, where="sender").points == 1 and mark(marker, where="receiver").points == 0


def test_texts_and_graphs_wait_for_a_person(marker: Marker) -> None:
    assert mark(marker, why="Because.").points is None
    assert mark(marker, graph="graph.png").points == 0  # it was not handed in


def test_tolerance_is_a_quarter_of_the_spread_within_limits(sack: LabSpec) -> None:
    def keys(*values: float) -> list[Key]:
        return [Key({"goodput_off": value}) for value in values]

    assert tolerances(sack, keys(100, 100, 100))["goodput_off"] == 0.01
    assert tolerances(sack, keys(90, 100, 110))["goodput_off"] == pytest.approx(0.025)
    assert tolerances(sack, keys(10, 100, 300))["goodput_off"] == 0.05


def case_of(marker: Marker, sack: LabSpec, student: str = "ann", **answers: str) -> Case:
    given = {name: [text] for name, text in answers.items()}
    return Case(
        HandIn(Path(), student, moodle="7"),
        Path(),
        InspectedHandIn(student=student, answers=given),
        variant=variant(COURSE, sack, student),
        person=Person(student, "Ann", "a@b.c", "7", "8"),
        marks=marker.marks(given),
    )


def test_points_by_hand_survive_grading_again(
    marker: Marker, sack: LabSpec, tmp_path: Path
) -> None:
    read_decisions(tmp_path, sack)  # makes the file
    line = '[[override]]\nstudent = "Ann"\nquestion = "why"\npoints = 3.5\ncomment = "Good."\n'
    with (tmp_path / OVERRIDES).open("a") as file:
        file.write(line)
    before = (tmp_path / OVERRIDES).read_text()
    for _ in range(2):
        case = case_of(marker, sack, why="Because.")
        case = apply_overrides(case, sack, read_decisions(tmp_path, sack))
        assert case.points == 3.5 and case.state == "graded" and not case.open
    assert (tmp_path / OVERRIDES).read_text() == before
    (tmp_path / OVERRIDES).write_text(line.replace("3.5", "99.0"))
    with pytest.raises(UsageError, match="points at most"):
        read_decisions(tmp_path, sack)


def test_could_not_grade_is_never_zero_points(marker: Marker, sack: LabSpec) -> None:
    case = replace(case_of(marker, sack), refused="It is no whole zip file.", marks=())
    assert case.state == "could not grade" and case.points is None
    assert "score" not in results(sack, case)
    row = next(csv.DictReader(io.StringIO(files.grades(sack, [case]))))
    assert row["points"] == row["final"] == "" and row["state"] == "could not grade"
    worksheet = own_worksheet(sack, exported_points([case]))
    assert next(csv.DictReader(io.StringIO(worksheet)))["Grade"] == ""
    page = feedback_page(sack, case)
    assert "Could not be graded" in page and "It is no whole zip file." in page


def test_names_and_answers_are_text_on_every_page(
    marker: Marker, sack: LabSpec, tmp_path: Path
) -> None:
    bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    case = case_of(marker, sack, why=bad, goodput_off=bad)
    case = replace(case, person=Person("ann", bad)).flagged(Flag(bad, bad, bad)).noted(bad)
    names = {case: "ann"}
    pages = [
        feedback_page(sack, case),
        class_page(GradedClass(sack, COURSE, [Person(bad)], [case]), names),
        reading_page(GradedClass(sack, COURSE, [], [case], read_decisions(tmp_path, sack)), names),
    ]
    for page in pages:
        assert "<script>alert" not in page and "<img src=x" not in page
    refused = Case(HandIn(Path(), bad), Path(), refused=bad)
    page = class_page(GradedClass(sack, COURSE, [], [refused]), {refused: "x"})
    assert "<script>alert" not in page


def found_run(digest: str) -> HandedInRun:
    files = {"seed-1/sack_on/h1-eth0.pcap": digest}
    return HandedInRun("runs/sack", "virtual", {}, [], {}, files, [])


def test_copied_captures_flag_the_copy_and_not_whose_they_are(
    marker: Marker, sack: LabSpec
) -> None:
    ann, ben, eve = (case_of(marker, sack, name) for name in ("ann", "ben", "eve"))
    for case, digest in ((ann, "a"), (ben, "a"), (eve, "e")):
        case.inspected.runs["sack"] = found_run(digest)
    ann, eve = (replace(case, authentic={"sack": True}) for case in (ann, eve))
    ((flagged, flag),) = same_captures([ann, ben, eve])
    assert flagged is ben and flag.with_whom == "ann"


def test_a_file_that_both_runs_give_when_repeated_accuses_nobody(
    marker: Marker, sack: LabSpec
) -> None:
    """As of two students who chose the same settings without a loss."""
    ann, ben = (case_of(marker, sack, name) for name in ("ann", "ben"))
    name = "seed-1/sack_on/h1-eth0.pcap"
    for case in (ann, ben):
        case.inspected.runs["sack"] = found_run("a")
    alike = [replace(case, expected={"sack": {name: "now"}}) for case in (ann, ben)]
    assert not [*same_captures(alike)]
    other = replace(alike[1], expected={"sack": {name: "another"}})
    assert {flagged.student for flagged, _ in same_captures([alike[0], other])} == {"ann", "ben"}


def test_numbers_that_fit_anothers_run_are_flagged_and_own_ones_are_not(
    marker: Marker, sack: LabSpec
) -> None:
    ann, ben = case_of(marker, sack, "ann"), case_of(marker, sack, "ben")
    numbers = {question.id for question in sack.questions if question.kind == "number"}
    ann = other_variants(replace(ann, right=numbers), [ben], sack, lambda _: [set()])
    ben = other_variants(ben, [ann], sack, lambda _: [numbers])
    assert ann.state == "graded" and [flag.with_whom for flag in ben.flags] == ["ann"]


def test_two_hand_ins_of_one_student_are_for_a_person(marker: Marker, sack: LabSpec) -> None:
    first, second = case_of(marker, sack), case_of(marker, sack)
    flagged = same_student([first, second])
    assert [(case, flag.kind) for case, flag in flagged] == [(first, "twice"), (second, "twice")]
    assert len(set(files.file_names([first, second]).values())) == 2


def test_a_class_is_read_from_plain_lists_and_from_exports(tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text("ann\nBen\n")
    assert [person.id for person in read_roster(file)] == ["ann", "ben"]
    file.write_text(
        "Identifier,Full name,Email address,Status,Grade\nParticipant 17,Ann A,ann@b.c,,\n"
    )
    assert read_roster(file) == [Person("ann@b.c", "Ann A", "ann@b.c", "17")]
    file.write_text('Student,ID,SIS User ID,SIS Login ID,Section\n"A, Ann",4711,u17,ann@b.c,one\n')
    assert read_roster(file) == [Person("u17", "A, Ann", "ann@b.c", "", "4711", "one")]
    file.write_text("id\nann\nANN\n")
    with pytest.raises(UsageError, match="twice"):
        read_roster(file)
