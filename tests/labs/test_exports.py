"""Tables for course systems: files as Moodle and Canvas write them, filled as they read them.

The worksheets are made after moodle/moodle (mod/assign/gradingtable.php) and its language packs,
the gradebook after instructure/canvas-lms (lib/gradebook_exporter.rb).
"""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition.spec import LabSpec
from labs.grading import exports, moodle
from labs.grading.case import AnswerMark, Case, Flag, exported_points
from labs.grading.intake import HandIn
from labs.grading.tables import FilledTable, Person, foreign_table, read_roster
from topologies.errors import UsageError

WORKSHEETS = Path(__file__).with_name("worksheets")
LAST = b"Grade can be changed,Last modified (grade)"


@pytest.fixture
def sack(sack: LabSpec) -> LabSpec:
    """Of 30 points, so that shares of them are whole."""
    questions = [each for each in sack.questions if each.kind in ("number", "text", "graph")]
    short = replace(sack, questions=tuple(each for each in questions if each.id != "compare"))
    assert short.points == 30
    return short


def case_of(student: str, points: float | None = 24.0, number: str = "", **person: str) -> Case:
    """A hand-in with one mark; None is an answer still to be read."""
    marks = [AnswerMark("why", "", "", points, "read")]
    known = Person(student, student.title(), f"{student}@uni.example", **person)
    return Case(HandIn(Path(), student, moodle=number), Path(), person=known, marks=marks)


def filled(
    sack: LabSpec, cases: list[Case], sheet: Path = WORKSHEETS / "english.csv"
) -> FilledTable:
    return moodle.filled(sheet, sack, exported_points(cases))


@pytest.fixture
def students() -> list[Case]:
    """Ann is graded, Ben flagged, an answer of Eve is not read yet."""
    ben = case_of("ben", 24.0, "1002").flagged(Flag("same captures", "as somebody else", "ann"))
    return [case_of("ann", 22.5, "1001"), ben, case_of("eve", None, "1003")]


@pytest.mark.parametrize("name", ["english", "german", "without_comments", "gradebook"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_table_that_nobody_changes_is_the_same_bytes(name: str, encoding: str) -> None:
    content = (WORKSHEETS / f"{name}.csv").read_bytes().decode("utf-8-sig").encode(encoding)
    assert foreign_table(content).content() == content
    short = content.rstrip(b"\r\n\0")  # without a line end; half a character of UTF-16 is kept too
    assert foreign_table(short).content() == short


def rows_of(content: bytes) -> list[list[str]]:
    text = content.decode("utf-8-sig")
    delimiter = ";" if text.startswith("ID;") else ","
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def different(name: str, content: bytes) -> dict[tuple[int, str], str]:
    """The cells that are not as they were, by row and heading."""
    before, after = rows_of((WORKSHEETS / name).read_bytes()), rows_of(content)
    assert [len(row) for row in before] == [len(row) for row in after]
    return {
        (number, before[0][column]): new
        for number, (old_row, row) in enumerate(zip(before, after, strict=True))
        for column, (old, new) in enumerate(zip(old_row, row, strict=True))
        if old != new
    }


def test_moodles_worksheet_gets_grades_and_comments_and_nothing_else(
    students: list[Case], sack: LabSpec
) -> None:
    """22.5 of 30 points are 75 of 100. What is not final gets no grade, and no comment either."""
    table = filled(sack, students)
    changes = different("english.csv", table.content)
    comment = "Selective acknowledgement: 22.5 of 30 points."
    assert changes == {(1, "Grade"): "75.00", (1, "Feedback comments"): comment, (3, "Grade"): ""}
    assert table.content.startswith(b'\xef\xbb\xbfIdentifier,"Full name"')
    assert b'"Ben ""Benny"" Baker"' in table.content
    notices = " ".join(table.notices)
    assert "has 100 points, the lab 30: grades are scaled" in notices
    assert "1 of 4 participants" in notices
    assert "eve has a grade in Moodle; an empty cell does not take it away" in notices


def test_a_worksheet_in_another_language_keeps_its_separators(
    students: list[Case], sack: LabSpec
) -> None:
    """Its decimal separator too."""
    table = filled(sack, students, WORKSHEETS / "german.csv")
    changes = different("german.csv", table.content)
    assert changes[1, "Bewertung"] == "36,00" and {row for row, _ in changes} == {1}
    assert changes[1, "Feedback als Kommentar"].endswith("22.5 of 30 points.")
    assert b"\r\n" in table.content


def test_without_a_column_for_comments_only_grades_are_written(
    students: list[Case], sack: LabSpec
) -> None:
    table = filled(sack, students[:1], WORKSHEETS / "without_comments.csv")
    assert different("without_comments.csv", table.content) == {(1, "Grade"): "18.00"}
    assert any("no known column for comments" in sentence for sentence in table.notices)


def test_a_student_without_a_number_is_found_by_the_address(sack: LabSpec) -> None:
    table = filled(sack, [case_of("ann"), case_of("zoe")])
    assert different("english.csv", table.content)[1, "Grade"] == "80.00"
    assert any("Not in the worksheet: zoe" in sentence for sentence in table.notices)


def test_a_comment_of_the_instructors_stays_and_one_of_ours_is_renewed(
    sack: LabSpec, tmp_path: Path
) -> None:
    again = tmp_path / "again.csv"
    again.write_bytes(filled(sack, [case_of("ann", 20.0, "1001")]).content)
    cases = [case_of("ann", 22.0, "1001"), case_of("eve", 1.0, "1003")]
    second = filled(sack, cases, again)
    assert b"22 of 30 points" in second.content and b"20 of 30" not in second.content
    assert b"Talk to me.\nRoom 5." in second.content
    assert any("eve has a comment in Moodle already" in sentence for sentence in second.notices)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id,name\nann,Ann\n", "Its columns: id, name"),
        (b"", "Its columns: none"),
        (b"Tunniste,Arvosana,Suurin\nOsallistuja 1,,24.00\n", "Its columns: Tunniste, Arvosana"),
        (b"Identifier,Name,Email address,Grade,Maximum grade,Feedback comments\n", "no grading"),
        ((WORKSHEETS / "gradebook.csv").read_bytes(), "Its columns: Student, ID"),
        (
            b'Identifier,Grade,Scale,%b,Feedback\nParticipant 1,,"A, B",Yes,-,\n' % LAST,
            "no grading",
        ),
        (b"Identifier,Grade,Maximum grade,%b\nParticipant 1,,A,Yes,-\n" % LAST, "but a scale"),
    ],
)
def test_what_is_no_worksheet_is_refused_with_its_columns(
    content: bytes, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "sheet.csv"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=problem):
        moodle.read_worksheet(file)


def test_without_a_worksheet_moodles_importer_finds_its_columns(
    students: list[Case], sack: LabSpec
) -> None:
    """By these very names; what follows "Participant" is the number."""
    rows = list(csv.DictReader(io.StringIO(moodle.own_worksheet(sack, exported_points(students)))))
    assert {"Identifier", "Grade", "Last modified (grade)", "Feedback comments"} <= rows[0].keys()
    assert [row["Grade"] for row in rows] == ["22.5", "", ""]
    for word in ("Participant", "Participant "):  # as the importer cuts it, in either language pack
        assert [int(row["Identifier"][len(word) :]) for row in rows] == [1001, 1002, 1003]
    assert moodle.own_worksheet(sack, exported_points([case_of("ann")])) == ""


def test_a_comment_is_html(sack: LabSpec) -> None:
    odd = replace(sack, title="Loss <1 % & more")
    text = moodle.comment(odd, exported_points([case_of("ann")])[0])
    assert text.startswith("Loss &lt;1 % &amp; more: 24")


def test_canvas_gets_no_zero_for_what_is_not_final(students: list[Case], sack: LabSpec) -> None:
    rows = list(csv.reader(io.StringIO(exports.own_gradebook(sack, exported_points(students)))))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", sack.title]
    assert rows[1][0].strip() == "Points Possible" and rows[1][5] == str(sack.points)
    assert [row[5] for row in rows[2:]] == ["22.5", "", ""]


def test_canvas_own_gradebook_is_answered_with_its_rows_and_its_assignment(
    students: list[Case], sack: LabSpec
) -> None:
    people = {person.id: person for person in read_roster(WORKSHEETS / "gradebook.csv")}
    students[0] = replace(students[0], person=people["u-ann"])
    book = exports.read_gradebook(WORKSHEETS / "gradebook.csv", sack)
    assert book
    table = exports.matched(book, sack, exported_points([*students, case_of("zoe")]))
    rows = rows_of(table.content)
    assert rows[0][:3] == ["Student", "ID", "SIS User ID"]
    assert rows[0][3:] == ["SIS Login ID", "Section", "Selective acknowledgement (901)"]
    assert rows[1] == ["Points Possible", "", "", "", "", "48"]
    assert rows[2] == ["Archer, Ann", "2001", "u-ann", "ann@uni.example", "TCP 1", "36"]
    assert [row[-1] for row in rows[3:]] == ["", ""] and len(rows) == 5
    notices = " ".join(table.notices)
    assert "has 48 points, the lab 30: scores are scaled" in notices
    assert "Not in the gradebook: zoe" in notices and "new assignment" not in notices


def test_a_gradebook_without_the_assignment_says_that_one_is_made(
    sack: LabSpec, tmp_path: Path
) -> None:
    file = tmp_path / "gradebook.csv"
    gradebook = (WORKSHEETS / "gradebook.csv").read_text()
    file.write_text(gradebook.replace("Selective ack", "Other ack"))
    book = exports.read_gradebook(file, sack)
    assert book
    table = exports.matched(book, sack, exported_points([case_of("ann")]))
    assert rows_of(table.content)[0][-1] == sack.title and "new assignment" in table.notices[0]
    assert exports.read_gradebook(WORKSHEETS / "english.csv", sack) is None


def test_two_hand_ins_of_a_student_are_one_row(sack: LabSpec) -> None:
    """The one that was accepted counts; two of them leave the cell empty."""
    first, second = case_of("ann", 20.0, "1001"), case_of("ann", 24.0, "1001")
    twice = Flag("twice", "There is another.")
    flagged = [first.flagged(twice), second.flagged(twice)]
    assert [student.points for student in exported_points(flagged)] == [None]
    assert [student.points for student in exported_points([flagged[0], second])] == [24.0]
    assert [student.points for student in exported_points([first, second])] == [None]
