"""Absent students, late hand-ins, hidden keys, and grades that a new grading changes."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from labs.definition.assignment import Course, Dates, Late, StudentDates, read_course
from labs.definition.spec import LabSpec
from labs.grading import decisions, files
from labs.grading.case import AnswerMark, Case, Verdict
from labs.grading.files import CourseFiles
from labs.grading.intake import HandIn
from labs.grading.moodle import read_worksheet
from labs.grading.pages import GradedClass, feedback_page
from labs.grading.tables import Person
from tests.labs.conftest import COURSE
from tests.labs.taken_in import CANVAS, MOODLE, PEOPLE, taken_in
from topologies.errors import UsageError

ZERO = replace(COURSE, zero_if_missing=True)
UNOWNED = {"somebody.zip": b"no archive"}


def rows_of(table: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(table.read_text().splitlines()))


def cases_of(place: Path, members: dict[str, bytes]) -> list[Case]:
    return taken_in(members, place).chosen.cases


@pytest.mark.parametrize(
    ("course", "others", "points"), [(COURSE, {}, ""), (ZERO, {}, "0"), (ZERO, UNOWNED, "")]
)
def test_a_student_without_a_hand_in_has_a_row(
    course: Course, others: dict[str, bytes], points: str, sack: LabSpec, tmp_path: Path
) -> None:
    """Zero points wait while a hand-in of an unknown owner may belong to them."""
    out, cases = tmp_path / "grades", cases_of(tmp_path, MOODLE | others)
    files.write(out, GradedClass(sack, course, PEOPLE, cases), CourseFiles())
    row = next(row for row in rows_of(out / "grades.csv") if row["student"] == "eve")
    assert (row["name"], row["state"]) == ("Eve Li", "not handed in")
    assert (row["points"], row["final"], row["flags"]) == (points, points, "")
    exported = {row["Full name"]: row["Grade"] for row in rows_of(out / "moodle.csv")}
    assert exported.get("Eve Li", "") == points
    everybody = (out / "class.html").read_text().partition("<h2>Everybody</h2>")[2]
    assert "<td>eve</td><td>not handed in</td>" in everybody
    assert "feedback/ann.html" in everybody and not (out / "feedback" / "eve.html").exists()


DATES = Dates(
    "sack",
    deadline=datetime(2026, 9, 20, 23, 59),
    grace_minutes=15,
    percent_per_day=10,
    exception=(StudentDates("Ben", deadline=datetime(2026, 9, 22)),),
)
SHEET = Path(__file__).with_name("worksheets") / "english.csv"
GERMAN = SHEET.with_name("german.csv")


def graded(student: str, number: str = "", **fields: object) -> Case:
    """A hand-in with 30 points for one question."""
    return Case(
        HandIn(Path(), student, moodle=number, **fields),  # type: ignore[arg-type]
        Path(),
        person=Person(student),
        digest=f"digest of {student}",
        marks=[AnswerMark("why", "mine", "the key", 30.0, Verdict.WRONG, "Too large.")],
    )


def dated(
    cases: Sequence[Case], dates: Dates, sheet: Path | None = None, in_folder: bool = False
) -> tuple[list[Case], list[str]]:
    """The hand-ins with their lateness, and sentences for the instructor."""
    worksheet = read_worksheet(sheet) if sheet else None
    late = [
        decisions.apply_dates(decisions.hide_key(case, dates), dates, worksheet, in_folder)
        for case in cases
    ]
    return late, [*decisions.date_notices(late)]


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("Monday, 21 September 2026, 2:13 PM", (9, 21, 14, 13)),
        ("Wednesday, September 23, 2026, 12:05 AM", (9, 23, 0, 5)),
        ("Montag, 21. September 2026, 14:13", (9, 21, 14, 13)),
        ("mardi 5 mai 2026, 09:03", (5, 5, 9, 3)),
        ("mercredi 1 juillet 2026 à 9h03", (7, 1, 9, 3)),
        ("martes, 3 de marzo de 2026, 23:59", (3, 3, 23, 59)),
        ("dilluns, 10 d'agost 2026, 14:14", (8, 10, 14, 14)),
        ("måndag, 4 maj 2026, 14:14", (5, 4, 14, 14)),
    ],
)
def test_the_time_of_a_worksheet_in_many_languages(words: str, time: tuple[int, ...]) -> None:
    assert decisions.moodle_time(words) == datetime(2026, *time)


@pytest.mark.parametrize(
    "words", ["-", "", "Monday", "31 February 2026, 1:00", "21 Foo 2026, 1:00"]
)
def test_other_words_are_no_time(words: str) -> None:
    assert decisions.moodle_time(words) is None


@pytest.mark.parametrize("sheet", [SHEET, GERMAN])
def test_points_are_taken_off_for_the_days_by_moodle(
    sheet: Path, sack: LabSpec, tmp_path: Path
) -> None:
    """Ann is 14 hours late, Ben has another deadline; tables, class and feedback say so."""
    ann, ben = graded("ann", "1001"), graded("ben", "1002")
    (ann, ben), notices = dated([ann, ben], DATES, sheet)
    assert notices == []
    assert ann.late and ben.late and (ann.late.days, ben.late.days) == (1, 0)
    assert (ann.points, ann.final, ben.final) == (30.0, 27.0, 30.0)
    files.write(tmp_path, GradedClass(sack, COURSE, [], [ann, ben]), CourseFiles())
    row = rows_of(tmp_path / "grades.csv")[0]
    assert (row["points"], row["late_days"], row["late_percent"]) == ("30", "1", "10")
    assert (row["final"], row["submitted"]) == ("27", "2026-09-21 14:13")
    assert "<td>1 (10 % off)</td>" in (tmp_path / "class.html").read_text()
    feedback = (tmp_path / "feedback" / "ann.html").read_text()
    assert "<h1>27 of" in feedback and "1 day late: 10 % off" in feedback


def test_grace_free_days_and_the_most_that_is_taken_off() -> None:
    deadline = datetime(2026, 9, 20)
    dates = Dates("sack", deadline, grace_minutes=15, percent_per_day=60, free_days=1)
    times = [datetime(2026, 9, day, 0, minute) for day, minute in ((20, 15), (20, 16), (22, 0))]
    late = [dates.late(time, "", None) for time in (*times, datetime(2026, 9, 29))]
    assert [(each.days, each.percent) for each in late] == [(0, 0), (1, 0), (2, 60), (9, 100)]
    assert late[-1].after(30.0) == 0


def test_a_mark_of_canvas_gives_no_time(tmp_path: Path) -> None:
    ann, ben = sorted(cases_of(tmp_path, CANVAS), key=lambda case: case.student)
    (ann, ben), (notice,) = dated([ann, ben], replace(DATES, exception=()))
    assert ann.late and ben.late and (ann.late.days, ben.late.days) == (0, None)
    assert "late without a time" in notice and "ben" in notice and "ann" not in notice
    said = StudentDates("ben", submitted=datetime(2026, 9, 22, 12))
    (ben,), notices = dated([ben], replace(DATES, exception=(said,)))
    assert notices == [] and ben.late and ben.late.percent == 20


def test_times_of_files_count_without_a_course_system() -> None:
    """A download of Moodle's has its own time, so its hand-ins have none without a worksheet."""
    noon = datetime(2026, 9, 21, 12).timestamp()
    loose, of_moodle = graded("ann", time=noon), graded("ben", "18", time=noon)
    (loose, of_moodle), (notice,) = dated([loose, of_moodle], DATES, in_folder=True)
    assert loose.late and loose.late.percent == 10 and of_moodle.late is None
    assert "No time is known of the hand-in of ben" in notice


def test_feedback_hides_the_key_until_its_date(sack: LabSpec) -> None:
    for key_after, shown in ((datetime(2999, 1, 1), False), (datetime(2000, 1, 1), True)):
        (case,), _ = dated([graded("ann")], Dates("sack", key_after=key_after))
        page = feedback_page(sack, case)
        assert ("the key" in page, sack.question("why").how in page) == (shown, shown)
        assert "Too large." in page and ("after 2999-01-01 00:00" in page) is not shown
        assert case.described()["marks"][0]["expected"] == "the key"


def test_dates_of_a_course_file(tmp_path: Path) -> None:
    file = tmp_path / "course.toml"
    course = 'name = "c"\nsecret = "a secret of sixteen"\n[[dates]]\nlab = "sack"\n'
    file.write_text(f"{course}deadline = 2026-09-20T23:59:00\n")
    assert read_course(file).dates_of("sack").deadline == DATES.deadline
    assert read_course(file).dates_of("first_look").deadline is None
    for wrong, problem in (
        (f"{course}deadline = 2026-09-20T23:59:00Z\n", "time zone"),
        (f"{course}percent_per_day = 101\n", "not possible"),
        (course.replace("sack", "sock"), "which is no lab"),
    ):
        file.write_text(wrong)
        with pytest.raises(UsageError, match=problem):
            read_course(file)


def graded_again(out: Path, lab: LabSpec, cases: list[Case]) -> list[str]:
    told: list[str] = []
    files.write(out, GradedClass(lab, COURSE, [], cases), CourseFiles(), told.append)
    return told


def test_a_new_grading_lists_each_changed_grade_and_keeps_the_former(
    sack: LabSpec, tmp_path: Path
) -> None:
    ann, ben, eve = graded("ann"), graded("ben"), graded("eve")
    assert graded_again(tmp_path, sack, [ann, ben, eve]) == []
    before = {name: (tmp_path / name).read_bytes() for name in ("grades.csv", "report.json")}
    assert graded_again(tmp_path, sack, [ann, ben, eve]) == []
    assert not (tmp_path / "former").exists()
    ann = replace(ann, marks=[replace(ann.marks[0], points=5.0, verdict=Verdict.BY_HAND)])
    marks = [replace(ben.marks[0], points=20.0, expected="another key")]
    ben = replace(ben, marks=marks, digest="of another hand-in")
    told = graded_again(tmp_path, sack, [ann, ben])
    assert told[0].startswith("5 changes") and "former/1" in told[0]
    assert "  ann, why: 30 before, 5 now (points by hand)" in told
    assert "  ben, why: 30 before, 20 now (another hand-in)" in told
    assert "  eve, final: 30 before, none now (no hand-in any more)" in told
    assert {name: (tmp_path / "former" / "1" / name).read_bytes() for name in before} == before
    assert (tmp_path / "former" / "1" / "gradescope" / "eve.json").is_file()
    marks = [replace(ben.marks[0], points=25.0, expected="a third key")]
    ben = replace(ben, marks=marks, late=Late("", "", days=1, percent=10))
    graded_again(tmp_path, sack, [ann, ben])
    lines = rows_of(tmp_path / "log.csv")
    assert [line["former"] for line in lines] == ["1"] * 5 + ["2"] * 2
    assert lines[-2]["why"] == "0 % off for lateness, now 10 %"
    assert lines[-1]["why"] == "the key was 'another key' and is 'a third key'"


def test_the_log_has_who_decided_what_and_when_and_each_change(
    sack: LabSpec, tmp_path: Path
) -> None:
    """A decision is logged once, and again if it is changed or withdrawn."""
    given = decisions.Override("ann", "why", 2.0, "=too short", "h", (1,), "kim")
    refused = decisions.Rejection("ben", "h", "It is Ann's.")

    def graded_with(*lines: decisions.Override) -> list[tuple[str, ...]]:
        cases = [graded("ann"), graded("ben")]
        decided = decisions.Decisions(lines, reject=(refused,))
        files.write(tmp_path, GradedClass(sack, COURSE, [], cases, decided), CourseFiles())
        rows = rows_of(tmp_path / "log.csv")
        assert all(row["when"].startswith("20") and row["who"] for row in rows)
        return [(row["what"], row["student"], row["old"], row["new"]) for row in rows]

    first = [("points by hand", "ann", "", "2 (items: 1)"), ("rejected", "ben", "", "zero points")]
    assert graded_with(given) == graded_with(given) == first
    assert rows_of(tmp_path / "log.csv")[0]["who"] == "kim"
    changed = ("points by hand", "ann", "2 (items: 1)", "3 (items: none)")
    assert graded_with(replace(given, points=3.0, items=())) == [*first, changed]
    withdrawn = ("points by hand", "ann", "3 (items: none)", "")
    assert graded_with() == graded_with() == [*first, changed, withdrawn]
    page = (tmp_path / "class.html").read_text()
    assert "4 lines of" in page and '<td class="left">kim</td>' in page
