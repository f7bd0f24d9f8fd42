"""Downloads of a class: what is a hand-in in them, and whose it is."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labs.definition.assignment import ANSWERS, FILE
from labs.grading.archives import extract_inside
from labs.grading.tables import Person
from labs.measuring import contained
from tests.labs.downloads import SHEET, below, hand_in, written, zip_of
from tests.labs.saboteurs import is_killed
from tests.labs.taken_in import ANN, BEN, CANVAS, EVE, FLAT, FORMS, MOODLE, PEOPLE, opened, taken_in


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS], ids=["Moodle", "flat Moodle", "Canvas"])
def test_hand_ins_are_found_as_course_systems_leave_them(
    members: dict[str, bytes], form: str, tmp_path: Path
) -> None:
    download = taken_in(members, tmp_path, form)
    assert download.graded == {"ann": next(iter(members)), "ben": list(members)[1]}
    assert download.flags == set()
    assert download.report.summary == "2 files: 2 hand-ins of 2 students."
    assert download.report.terminal_lines() == [download.report.summary]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS])
def test_a_loose_sheet_at_the_top_takes_no_hand_in_with_it(
    members: dict[str, bytes], form: str, tmp_path: Path
) -> None:
    download = taken_in({ANSWERS: SHEET} | members, tmp_path, form)
    assert set(download.graded) == {"ann", "ben"}
    assert download.became[ANSWERS] == "ignored"
    assert [line.file for line in download.report.looks] == [ANSWERS]


def test_an_instructors_own_lab_among_the_hand_ins_is_not_the_class(tmp_path: Path) -> None:
    download = taken_in(hand_in("prof") | {"a.zip": ANN, "b.zip": BEN}, tmp_path, "folder")
    assert set(download.graded) == {"ann", "ben"} and download.became[ANSWERS] == "ignored"


@pytest.mark.parametrize("form", FORMS)
def test_zips_and_loose_files_of_one_student_are_hand_ins(form: str, tmp_path: Path) -> None:
    members = {
        "Ann Årgård_17_assignsubmission_file/sack-ann.zip": ANN,
        **below("Ben de la Cruz_18_assignsubmission_file", hand_in("ben")),
        **below("Eve Li_19_assignsubmission_file/my lab", hand_in("eve")),
    }
    download = taken_in(members, tmp_path, form)
    assert set(download.graded) == {"ann", "ben", "eve"}
    assert Counter(download.became.values()) == {"graded": 5}
    assert download.report.summary == "5 files: 3 hand-ins of 3 students in 5 files."


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_loose_files_without_folders_are_gathered(form: str, tmp_path: Path) -> None:
    prefix = "Ann Årgård_17_assignsubmission_file_"
    members = {f"{prefix}{name}": content for name, content in hand_in("ann").items()}
    members |= {
        "crben_4712_7_answers-1.toml": SHEET,
        "crben_4712_8_assignment-1.json": hand_in("ben")[FILE],
    }
    download = taken_in(members, tmp_path, form)
    assert set(download.graded) == {"ann", "ben"}
    assert download.chosen.cases[0].inspected.answers["goodput_off"] == ["231 kbit/s"]


@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS])
def test_a_zip_of_another_student_counts_for_its_uploader(
    members: dict[str, bytes], tmp_path: Path
) -> None:
    first, second = members
    download = taken_in({first: ANN, second: ANN}, tmp_path)
    assert set(download.graded) == {"ann", "ben"}
    assert download.flags == {("ben", "whose")}


@pytest.mark.parametrize(
    "name",
    [
        "Eve Li_19_assignsubmission_file_x_17_assignsubmission_file_y.zip",
        "Eve Li_19_assignsubmission_file/Ann Årgård_17_assignsubmission_file/y.zip",
        "lieve_4713_9_x_4711_8_y.zip",
    ],
)
def test_a_name_that_the_student_chose_speaks_of_nobody_else(name: str, tmp_path: Path) -> None:
    download = taken_in({name: ANN}, tmp_path)
    assert set(download.graded) == {"eve"} and download.flags == {("eve", "whose")}


def test_moodle_groups_are_found_below_their_folders_and_in_names(tmp_path: Path) -> None:
    members = below("Tuesday", {next(iter(MOODLE)): ANN})
    members |= {"Wednesday/Tue_x-Ben de la Cruz_18_assignsubmission_file_/lab.zip": BEN}
    members |= {"Monday-Eve_Li_19_assignsubmission_file_/sack-eve.zip": EVE}
    download = taken_in(members, tmp_path)
    assert set(download.graded) == {"ann", "ben", "eve"} and download.flags == set()


def test_members_folders_in_a_groups_folder_are_hand_ins_of_their_own(tmp_path: Path) -> None:
    plain = below("Group 1/ann", hand_in("ann")) | below("Group 1/ben", hand_in("ben"))
    download = taken_in(plain, tmp_path / "plain", "folder")
    assert (
        download.graded == {"ann": "Group 1/ann", "ben": "Group 1/ben"} and download.flags == set()
    )
    team = below(
        "Team A_17_assignsubmission_file",
        below("ann", hand_in("ann")) | below("ben", hand_in("ben")),
    )
    download = taken_in(team, tmp_path / "team")
    assert set(download.graded) == {"ann", "ben"}
    assert download.flags == {
        ("ann", "whose"),
        ("ben", "whose"),
    }  # 17 is the group's number, not Ann's


def test_with_anonymous_marking_numbers_tell(tmp_path: Path) -> None:
    members = {f"Participant_{number}_assignsubmission_file/lab.zip": ANN for number in (17, 18)}
    download = taken_in(members, tmp_path / "moodle")
    assert set(download.graded) == {"ann", "ben"} and download.flags == {("ben", "whose")}
    members = {"anon_x7Y_9_lab.zip": ANN, "LATE_anon_b8Z_10_lab.zip": BEN}
    assert set(taken_in(members, tmp_path / "canvas").graded) == {"ann", "ben"}


def test_a_name_tells_if_the_class_list_has_no_numbers(tmp_path: Path) -> None:
    people = [Person(person.id, person.name) for person in PEOPLE]
    members = {next(iter(FLAT)): BEN, list(CANVAS)[1]: BEN}
    download = taken_in(members, tmp_path / "known", people=people)
    assert set(download.graded) == {"ann", "ben"} and download.flags == {("ann", "whose")}
    stranger = {"Mallory M_666_assignsubmission_file_x.zip": ANN}
    for whole in (people, PEOPLE):
        download = taken_in(stranger, tmp_path / str(len(whole[0].moodle)), people=whole)
        assert download.flags == {("ann", "whose")}
    assert taken_in(stranger, tmp_path / "ids", people=[Person("ann")]).flags == set()


def test_text_typed_into_a_course_system_is_no_hand_in(tmp_path: Path) -> None:
    members = MOODLE | {
        "Ann Årgård_17_assignsubmission_onlinetext/onlinetext.html": b"<p>hello",
        "Eve Li_19_assignsubmission_onlinetext_onlinetext.html": b"<p>only text",
        "delacruzben_4712_text.html": b"<p>",
        "lieve_4713_link.html": b"<p>",
    }
    download = taken_in(members, tmp_path)
    assert set(download.graded) == {"ann", "ben"}
    typed = [name for name, became in download.became.items() if became == "ignored"]
    assert len(typed) == 4
    looks = {line.file for line in download.report.looks}
    assert "Eve Li_19_assignsubmission_onlinetext_onlinetext.html" in looks
    assert "Ann Årgård_17_assignsubmission_onlinetext/onlinetext.html" not in looks


def test_a_student_who_handed_in_something_else_is_told_so(tmp_path: Path) -> None:
    members = MOODLE | {
        "Eve Li_19_assignsubmission_file/report.pdf": b"%PDF",
        "Eve Li_19_assignsubmission_file/graph.png": b"PNG",
        "Fay_20_assignsubmission_file_lab.rar": b"Rar!",
        "gil/report.pdf": b"%PDF",
        "roster.csv": b"id",
    }
    download = taken_in(members, tmp_path)
    refused = download.refused
    assert refused["eve"].startswith(f"It holds no {ANSWERS}")
    assert "no whole zip" in refused["Fay_20_assignsubmission_file_lab.rar"]
    assert refused["gil"].startswith(f"It holds no {ANSWERS}")
    assert download.became["roster.csv"] == "ignored"
    assert (
        download.report.summary
        == "7 files: 2 hand-ins of 2 students, 3 hand-ins that could not be graded, 3 ignored."
    )


@pytest.mark.parametrize("assignment", [{}, {FILE: b"{ broken"}])
def test_a_hand_in_of_nobody_says_so(assignment: dict[str, bytes], tmp_path: Path) -> None:
    members = {"ann.zip": ANN, "someone.zip": zip_of({ANSWERS: SHEET, **assignment})}
    cases = taken_in(members, tmp_path).chosen.cases
    (refused,) = [case.refused for case in cases if case.refused]
    assert refused.startswith(f"It is not known whose it is: {FILE} is missing or broken")


@pytest.mark.parametrize("members", [MOODLE, FLAT])
def test_a_file_that_ends_its_extraction_stops_nobody_else(
    members: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned = {f"Eve Li_19_assignsubmission_file{'_' if members is FLAT else '/'}x.zip": EVE}
    archive, real = written(tmp_path, members | poisoned, "zip"), contained.contained
    place = list(members | poisoned).index(*poisoned)

    def killed(function: Callable[..., Any], *arguments: Any, **limits: Any) -> Any:
        if function is extract_inside and place in arguments[1]:
            return real(is_killed)
        return real(function, *arguments, **limits)

    monkeypatch.setattr(contained, "contained", killed)
    download = opened(archive, tmp_path)
    assert set(download.graded) == {"ann", "ben"}
    (line,) = download.report.looks
    assert line.became == "could not grade" and line.whose == "eve" and "crash" in line.why


def test_a_file_that_is_also_a_folder_is_its_students_failure(tmp_path: Path) -> None:
    raw = "Eve Li_19_assignsubmission_file/runs/sack/raw/seed-1/a"
    evil = below("Eve Li_19_assignsubmission_file", hand_in("eve")) | {raw: b"", f"{raw}/b": b""}
    download = taken_in(MOODLE | evil, tmp_path, "zip")
    assert set(download.graded) == {"ann", "ben"}
    assert {line.whose for line in download.report.looks} == {"eve"}


def test_one_student_cannot_keep_a_class_busy_with_many_hand_ins(tmp_path: Path) -> None:
    many = {f"Eve Li_19_assignsubmission_file/{number}.zip": EVE for number in range(21)}
    download = taken_in(MOODLE | many, tmp_path)
    assert set(download.graded) == {"ann", "ben"}
    assert [case.student for case in download.chosen.cases] == ["ann", "ben", "eve"]
