"""What a person has to look at exports no points; a decision is of the hand-in that was seen."""

import csv
import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition.assignment import variant
from labs.definition.spec import LabSpec
from labs.grading import decisions, files, moodle
from labs.grading import exports as written_exports
from labs.grading.case import AnswerMark, Case, Flag, exported_points
from labs.grading.exports import results
from labs.grading.files import CourseFiles
from labs.grading.inspection import InspectedHandIn, fingerprint
from labs.grading.intake import HandIn
from labs.grading.pages import GradedClass, class_page, feedback_page, reading_page
from labs.grading.tables import Person
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

FRIEND = "ben.friend"
DIGEST, OTHER_DIGEST = "a" * 32, "b" * 32


@pytest.fixture
def case(sack: LabSpec) -> Case:
    """Ann's upload of Ben's zip: every answer is right."""
    right = AnswerMark("", "x", "x", 0, "right")
    return Case(
        HandIn(Path(), "Ann_7_assignsubmission_file", moodle="7", canvas="8"),
        Path(),
        variant=variant(COURSE, sack, "ann"),
        person=Person("ann", "Ann", "ann@uni.example", "7", "8"),
        marks=[replace(right, question=each.id, points=each.points) for each in sack.questions],
        digest=DIGEST,
    ).flagged(
        Flag("whose", f"It was handed in by ann and says that it is of {FRIEND}.", FRIEND),
        Flag("same captures", f"Run sack holds captures that {FRIEND} handed in too.", FRIEND),
    )


def exports(sack: LabSpec, case: Case) -> tuple[str, str, bool]:
    """The grade in moodle.csv, in canvas.csv, and whether Gradescope gets a score."""
    points = exported_points([case])
    (worksheet,) = rows_of(moodle.own_worksheet(sack, points))
    *_, (_, *gradebook) = csv.reader(io.StringIO(written_exports.own_gradebook(sack, points)))
    return worksheet["Grade"], gradebook[-1], "score" in results(sack, case)


def rows_of(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


def accepted(case: Case, student: str, digest: str, *flags: str, comment: str = "") -> Case:
    line = decisions.Acceptance(student, digest, flags, comment)
    return decisions.apply_acceptances(case, decisions.Decisions(accept=(line,)))


def test_a_flagged_hand_in_exports_no_points_until_it_is_accepted(
    case: Case, sack: LabSpec
) -> None:
    assert exports(sack, case) == ("", "", False)
    (row,) = rows_of(files.grades(sack, [case]))
    assert (row["points"], row["final"], row["state"]) == (str(sack.points), "", "look")
    case = accepted(case, "Ann ", DIGEST, "whose", "same captures", comment="Together.")
    assert exports(sack, case) == (str(sack.points), str(sack.points), True)
    (row,) = rows_of(files.grades(sack, [case]))
    assert (row["state"], row["flags"], row["accepted"]) == ("graded", "", "same captures; whose")


def test_no_student_reads_about_anybody_else(case: Case, sack: LabSpec) -> None:
    case = case.flagged(Flag("twice", f"There is another hand-in of ann: {FRIEND}.zip."))
    page = feedback_page(sack, case)
    assert FRIEND not in page and FRIEND not in str(results(sack, case))
    assert "No points yet" in page and "A person will look at this hand-in first" in page
    names = {case: "ann"}
    assert FRIEND in class_page(GradedClass(sack, COURSE, [], [case]), names)
    assert FRIEND in reading_page(GradedClass(sack, COURSE, [], [case]), names)


def test_an_acceptance_is_of_one_hand_in_and_of_the_flags_that_were_seen(
    case: Case, sack: LabSpec
) -> None:
    case = accepted(case, "ann", DIGEST, "whose")
    assert [flag.kind for flag in case.flags] == ["same captures"] and case.final is None
    assert accepted(case, FRIEND, DIGEST, "same captures").final is None


def test_what_the_student_uploads_after_the_look_is_not_accepted(case: Case, sack: LabSpec) -> None:
    case = accepted(case, "ann", OTHER_DIGEST, "whose", "same captures")
    assert case.final is None and "new hand-in" in {flag.kind for flag in case.flags}
    whole = class_page(GradedClass(sack, COURSE, [], [case]), {case: "ann"})
    for page in (whole, feedback_page(sack, case)):
        assert "This is another, and was not looked at yet" in page


def test_acceptances_are_in_one_file(sack: LabSpec, tmp_path: Path) -> None:
    assert decisions.read_decisions(tmp_path, sack) == decisions.Decisions()
    assert (tmp_path / decisions.ACCEPTED).read_text().startswith("#")
    (tmp_path / decisions.ACCEPTED).write_text('[[accept]]\nstudent = "ann"\n')
    with pytest.raises(UsageError, match="hand_in"):
        decisions.read_decisions(tmp_path, sack)
    (tmp_path / decisions.OVERRIDES).write_text('[[accept]]\nstudent = "ann"\n')
    with pytest.raises(UsageError, match="no field 'accept'"):
        decisions.read_decisions(tmp_path, sack)


def refused() -> Case:
    hand_in = HandIn(Path(), "Ann_7_assignsubmission_file", moodle="7")
    ann = Person("ann", "Ann", "", "7")
    return Case(hand_in, Path(), person=ann, refused="It is no whole zip file.", digest=DIGEST)


def lines(*given: tuple[str, float]) -> decisions.Decisions:
    comment = "Shown to me."
    return decisions.Decisions(
        tuple(decisions.Override("ann", *each, comment, DIGEST) for each in given)
    )


def test_what_could_not_be_graded_is_marked_by_hand(sack: LabSpec) -> None:
    case = decisions.apply_overrides(refused(), sack, lines(("why", 3.5), ("rest", 10.0)))
    assert case.state == "marked by hand" and case.points == case.final == 13.5
    assert exported_points([case])[0].points == 13.5 and results(sack, case)["score"] == 13.5
    page = feedback_page(sack, case)
    assert "13.5 of" in page and "A person marked it by hand" in page and "Everything else" in page
    (row,) = rows_of(files.grades(sack, [case]))
    assert (row["state"], row["why"], row["points"]) == ("marked by hand", "3.5", "13.5")
    assert row["message"] == "It is no whole zip file."


def test_questions_without_a_line_wait_and_are_no_zeros(sack: LabSpec) -> None:
    case = decisions.apply_overrides(refused(), sack, lines(("why", 3.5)))
    assert case.state == "marked by hand" and case.final is None
    assert len(case.open) == len(sack.questions) - 1


def test_the_rest_has_at_most_what_is_left(sack: LabSpec) -> None:
    everything = tuple((question.id, float(question.points)) for question in sack.questions[1:])
    points = lines(*everything, ("rest", float(sack.points)))
    assert decisions.apply_overrides(refused(), sack, points).points == sack.points


def test_points_that_were_given_to_another_hand_in_do_not_count(case: Case, sack: LabSpec) -> None:
    case = replace(case, digest=OTHER_DIGEST)
    case = decisions.apply_overrides(case, sack, lines(("why", 0.5)))
    assert case.points == sack.points
    case = decisions.apply_overrides(
        case, sack, decisions.Decisions((decisions.Override("ann", "why", 0.5),))
    )
    assert case.points == sack.points - sack.question("why").points + 0.5


def test_the_digest_is_of_all_that_was_handed_in(tmp_path: Path) -> None:
    folder = tmp_path / "ann"
    (folder / "runs").mkdir(parents=True)
    (folder / "answers.toml").write_text("[answers]\n")
    (folder / "runs" / "a").write_text("1")
    (folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "fifo")
    before = fingerprint(folder)
    assert fingerprint(folder) == before and len(before) == 32
    (folder / "runs" / "a").write_text("2")
    changed = fingerprint(folder)
    (folder / "runs" / "a").rename(folder / "runs" / "b")
    digests = {before, changed, fingerprint(folder), fingerprint(folder / "answers.toml")}
    assert len(digests) == 4


def write(
    out: Path, sack: LabSpec, cases: list[Case], accepted: decisions.Decisions | None = None
) -> list[str]:
    out.mkdir(exist_ok=True)
    whole = GradedClass(sack, COURSE, [], cases, accepted or decisions.Decisions())
    return files.write(out, whole, CourseFiles())


def files_of(out: Path) -> set[str]:
    return {file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()}


def test_only_pages_of_a_former_grading_are_removed(
    case: Case, sack: LabSpec, tmp_path: Path
) -> None:
    source, out = tmp_path / "unpacked", tmp_path / "grades"
    source.mkdir()
    (source / "graph.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    inspected = InspectedHandIn(student="eve", pictures={"graph": "graph.png"})
    eve = Case(HandIn(source, "eve"), source, inspected)
    zoe = Case(HandIn(source, "zoe"), source, InspectedHandIn(student="zoe"))
    write(out, sack, [case, eve, zoe])
    (out / "feedback" / "mine.html").write_text("the instructor's")
    (out / "feedback" / "zoe.html").write_text("changed by the instructor")
    assert "handed-in/eve/graph.png" in files_of(out)
    notices = write(out, sack, [case])
    left = {name for name in files_of(out) if not name.startswith("former/")}
    assert {f"feedback/{name}.html" for name in ("ann", "mine", "zoe")} < left
    assert "gradescope/ann.json" in left
    assert not any("eve" in name for name in left) and "gradescope/zoe.json" not in left
    assert any("feedback/eve.html" in sentence for sentence in notices)
    assert not (out / "handed-in").exists()


def test_the_list_of_what_was_written_leads_nowhere_else(
    case: Case, sack: LabSpec, tmp_path: Path
) -> None:
    out, stranger = tmp_path / "grades", tmp_path / "stranger.txt"
    stranger.write_text("x")
    write(out, sack, [case])
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of x
    listed = f'{{"../stranger.txt": "{digest}", "{stranger}": "{digest}"}}'
    (out / "written.json").write_text(listed)
    write(out, sack, [case])
    assert stranger.read_text() == "x"


def test_decisions_about_nobody_are_told(case: Case, sack: LabSpec, tmp_path: Path) -> None:
    about_anne = decisions.Decisions(accept=(decisions.Acceptance("anne", DIGEST, ("whose",)),))
    notices = write(tmp_path / "grades", sack, [case], about_anne)
    assert notices == ["There are decisions about 'anne', who has no hand-in."]


def test_a_rejected_hand_in_has_zero_points(case: Case, sack: LabSpec) -> None:
    rejections = (decisions.Rejection("ben", DIGEST), decisions.Rejection("ann", OTHER_DIGEST))
    case = decisions.apply_acceptances(case, decisions.Decisions(reject=rejections))
    assert exports(sack, case) == ("", "", False)
    case = decisions.apply_acceptances(
        case, decisions.Decisions(reject=(decisions.Rejection("Ann ", DIGEST, "It is Ben's."),))
    )
    assert case.final == 0 and exports(sack, case) == ("0", "0", True)
    assert "It is Ben&#39;s." in feedback_page(sack, case)


def test_the_rest_of_a_graded_hand_in_is_what_waits_for_a_person(case: Case, sack: LabSpec) -> None:
    read = [
        replace(each, points=None) for each in case.marks if each.question in ("why", "compare")
    ]
    others = [each for each in case.marks if each.question not in ("why", "compare")]
    case = replace(case, flags=(), marks=[*read, *others])
    given = decisions.apply_overrides(
        case, sack, decisions.Decisions((decisions.Override("ann", "rest", 8.0),))
    )
    assert given.open == [] and given.points == (case.points or 0.0) + 8.0
