"""Downloads of a class: every file ends in one line, and a hand-in counts for who uploaded it."""

from __future__ import annotations

import csv
import itertools
import os
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from labs import catalogue
from labs.assignment import ANSWERS, FILE
from labs.grading import output
from labs.grading.case import Case
from labs.grading.download import DownloadFile
from labs.grading.grade import Grading, _inspected
from labs.grading.intake import Intake, receive
from labs.grading.newest import Chosen, newest
from labs.grading.overrides import ByHand
from labs.grading.received import Received, received
from labs.grading.references import References
from labs.grading.roster import Person
from labs.grading.sorting import sorted_out
from labs.spec import LabSpec
from tests.labs.conftest import COURSE
from tests.labs.downloads import SHEET, WHEN, below, folder_of, hand_in, tar_of, written, zip_of
from topologies.errors import TcplabError, UsageError

ANN, BEN, EVE = (zip_of(hand_in(name)) for name in ("ann", "ben", "eve"))
PEOPLE = [
    Person("ann", "Ann Årgård", moodle="17", canvas="4711"),
    Person("ben", "Ben de la Cruz", moodle="18", canvas="4712"),
    Person("eve", "Eve Li", moodle="19", canvas="4713"),
]
MOODLE = {
    "Ann Årgård_17_assignsubmission_file/sack-ann.zip": ANN,
    "Ben de la Cruz_18_assignsubmission_file/sack-ben.zip": BEN,
}
FLAT = {
    "Ann Årgård_17_assignsubmission_file_sack-ann.zip": ANN,
    "Ben de la Cruz_18_assignsubmission_file_sack-ben.zip": BEN,
}
CANVAS = {
    "årgårdann_4711_100_sack-ann.zip": ANN,
    "delacruzben_LATE_4712_101_sack-ben-1.zip": BEN,
}
FORMS = ["folder", "zip", "tar", "tar.gz", "tar.bz2", "tar.xz"]


@dataclass(frozen=True)
class TakenIn:
    """What a download came to, up to the point where runs would be repeated."""

    intake: Intake
    chosen: Chosen
    report: Received

    @property
    def graded(self) -> dict[str, str]:
        """Which hand-in counts for whom."""
        return {case.student: case.hand_in.label for case in self.chosen.cases if not case.refused}

    @property
    def became(self) -> dict[str, str]:
        return {line.file: line.became for line in self.report.lines}

    @property
    def flags(self) -> set[tuple[str, str]]:
        return {(case.student, flag.kind) for case in self.chosen.cases for flag in case.flags}


def taken_in(
    members: Mapping[str, bytes], place: Path, form: str = "zip", people: Sequence[Person] = PEOPLE
) -> TakenIn:
    return opened(written(place, members, form), place, people)


def opened(submissions: Path, place: Path, people: Sequence[Person] = PEOPLE) -> TakenIn:
    intake = receive(submissions, place / "class")
    references = cast(References, None)  # nothing is run
    grading = Grading(catalogue.find("sack"), COURSE, people, references, place / "work", place)
    chosen = newest(list(_inspected(intake.hand_ins, grading)))
    return TakenIn(intake, chosen, received(intake, chosen))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS], ids=["Moodle", "flat Moodle", "Canvas"])
def test_hand_ins_are_found_as_course_systems_leave_them(
    members: dict[str, bytes],
    form: str,
    tmp_path: Path,
) -> None:
    found = taken_in(members, tmp_path, form)
    assert found.graded == {"ann": next(iter(members)), "ben": list(members)[1]}
    assert found.flags == set()
    assert found.report.summary == "2 files: 2 hand-ins of 2 students."
    assert found.report.told() == [found.report.summary]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS])
def test_a_loose_sheet_at_the_top_takes_no_hand_in_with_it(
    members: dict[str, bytes], form: str, tmp_path: Path
) -> None:
    found = taken_in({ANSWERS: SHEET} | members, tmp_path, form)
    assert set(found.graded) == {"ann", "ben"}
    assert found.became[ANSWERS] == "ignored"
    assert [line.file for line in found.report.looks] == [ANSWERS]


def test_an_instructors_own_lab_among_the_hand_ins_is_not_the_class(tmp_path: Path) -> None:
    found = taken_in(hand_in("prof") | {"a.zip": ANN, "b.zip": BEN}, tmp_path, "folder")
    assert set(found.graded) == {"ann", "ben"} and found.became[ANSWERS] == "ignored"


@pytest.mark.parametrize("form", ["folder", "zip", "tar.gz"])
def test_tars_and_loose_files_of_one_student_are_hand_ins(form: str, tmp_path: Path) -> None:
    members = {
        "Ann Årgård_17_assignsubmission_file/sack-ann.tar.gz": tar_of(hand_in("ann")),
        **below("Ben de la Cruz_18_assignsubmission_file", hand_in("ben")),
        **below("Eve Li_19_assignsubmission_file/my lab", hand_in("eve")),
    }
    found = taken_in(members, tmp_path, form)
    assert set(found.graded) == {"ann", "ben", "eve"}
    assert Counter(found.became.values()) == {"graded": 5}
    assert found.report.summary == "5 files: 3 hand-ins of 3 students in 5 files."


@pytest.mark.parametrize("packed", ["", "gz", "bz2", "xz"])
def test_a_tar_is_known_by_what_it_is_and_not_by_its_name(packed: str, tmp_path: Path) -> None:
    content = tar_of({f"./{name}": data for name, data in hand_in("ann").items()}, packed)
    found = taken_in({"Ann Årgård_17_assignsubmission_file_lab.zip": content}, tmp_path)
    assert set(found.graded) == {"ann"}


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_loose_files_without_folders_are_gathered(form: str, tmp_path: Path) -> None:
    prefix = "Ann Årgård_17_assignsubmission_file_"
    members = {f"{prefix}{name}": content for name, content in hand_in("ann").items()}
    members |= {
        "crben_4712_7_answers-1.toml": SHEET,
        "crben_4712_8_assignment-1.json": hand_in("ben")[FILE],
    }
    found = taken_in(members, tmp_path, form)
    assert set(found.graded) == {"ann", "ben"}
    assert found.chosen.cases[0].inspected.answers["goodput_off"] == ["231 kbit/s"]


@pytest.mark.parametrize("members", [MOODLE, FLAT, CANVAS])
def test_another_ones_zip_counts_for_who_uploaded_it(
    members: dict[str, bytes],
    tmp_path: Path,
) -> None:
    first, second = members
    found = taken_in({first: ANN, second: ANN}, tmp_path)
    assert set(found.graded) == {"ann", "ben"}
    assert found.flags == {("ben", "whose")}


@pytest.mark.parametrize(
    "name",
    [
        "Eve Li_19_assignsubmission_file_x_17_assignsubmission_file_y.zip",
        "Eve Li_19_assignsubmission_file/Ann Årgård_17_assignsubmission_file/y.zip",
        "lieve_4713_9_x_4711_8_y.zip",
    ],
)
def test_a_name_that_the_student_chose_speaks_of_nobody_else(name: str, tmp_path: Path) -> None:
    found = taken_in({name: ANN}, tmp_path)
    assert set(found.graded) == {"eve"} and found.flags == {("eve", "whose")}


def test_moodle_groups_are_found_below_their_folders_and_in_names(tmp_path: Path) -> None:
    members = below("Tuesday", {next(iter(MOODLE)): ANN})
    members |= {"Wednesday/Tue_x-Ben de la Cruz_18_assignsubmission_file_/lab.zip": BEN}
    members |= {"Monday-Eve_Li_19_assignsubmission_file_/sack-eve.zip": EVE}
    found = taken_in(members, tmp_path)
    assert set(found.graded) == {"ann", "ben", "eve"} and found.flags == set()


def test_members_folders_in_a_groups_folder_are_hand_ins_of_their_own(tmp_path: Path) -> None:
    plain = below("Group 1/ann", hand_in("ann")) | below("Group 1/ben", hand_in("ben"))
    found = taken_in(plain, tmp_path / "plain", "folder")
    assert found.graded == {"ann": "Group 1/ann", "ben": "Group 1/ben"} and found.flags == set()
    team = below(
        "Team A_17_assignsubmission_file",
        below("ann", hand_in("ann")) | below("ben", hand_in("ben")),
    )
    found = taken_in(team, tmp_path / "team")
    assert set(found.graded) == {"ann", "ben"}
    assert found.flags == {
        ("ann", "whose"),
        ("ben", "whose"),
    }  # 17 is the group's number, not Ann's


def test_with_anonymous_marking_numbers_tell(tmp_path: Path) -> None:
    members = {f"Participant_{number}_assignsubmission_file/lab.zip": ANN for number in (17, 18)}
    found = taken_in(members, tmp_path / "moodle")
    assert set(found.graded) == {"ann", "ben"} and found.flags == {("ben", "whose")}
    members = {"anon_x7Y_9_lab.zip": ANN, "LATE_anon_b8Z_10_lab.zip": BEN}
    assert set(taken_in(members, tmp_path / "canvas").graded) == {"ann", "ben"}


def test_a_name_tells_where_the_class_list_has_no_numbers(tmp_path: Path) -> None:
    people = [Person(person.id, person.name) for person in PEOPLE]
    members = {next(iter(FLAT)): BEN, list(CANVAS)[1]: BEN}
    found = taken_in(members, tmp_path / "known", people=people)
    assert set(found.graded) == {"ann", "ben"} and found.flags == {("ann", "whose")}
    stranger = {"Mallory M_666_assignsubmission_file_x.zip": ANN}
    for whole in (people, PEOPLE):
        found = taken_in(stranger, tmp_path / str(len(whole[0].moodle)), people=whole)
        assert found.flags == {("ann", "whose")}
    assert taken_in(stranger, tmp_path / "ids", people=[Person("ann")]).flags == set()


def test_text_typed_into_a_course_system_is_no_hand_in(tmp_path: Path) -> None:
    members = MOODLE | {
        "Ann Årgård_17_assignsubmission_onlinetext/onlinetext.html": b"<p>hello",
        "Eve Li_19_assignsubmission_onlinetext_onlinetext.html": b"<p>only text",
        "delacruzben_4712_text.html": b"<p>",
        "lieve_4713_link.html": b"<p>",
    }
    found = taken_in(members, tmp_path)
    assert set(found.graded) == {"ann", "ben"}
    typed = [name for name, became in found.became.items() if became == "ignored"]
    assert len(typed) == 4
    looks = {line.file for line in found.report.looks}
    assert "Eve Li_19_assignsubmission_onlinetext_onlinetext.html" in looks
    assert "Ann Årgård_17_assignsubmission_onlinetext/onlinetext.html" not in looks


def test_who_handed_in_something_else_is_told_so(tmp_path: Path) -> None:
    members = MOODLE | {
        "Eve Li_19_assignsubmission_file/report.pdf": b"%PDF",
        "Eve Li_19_assignsubmission_file/graph.png": b"PNG",
        "Fay_20_assignsubmission_file_lab.rar": b"Rar!",
        "gil/report.pdf": b"%PDF",
        "roster.csv": b"id",
    }
    found = taken_in(members, tmp_path)
    refused = {case.student: case.refused for case in found.chosen.cases if case.refused}
    assert refused["eve"].startswith(f"It holds no {ANSWERS}")
    assert "no whole zip" in refused["Fay_20_assignsubmission_file_lab.rar"]
    assert refused["gil"].startswith(f"It holds no {ANSWERS}")
    assert found.became["roster.csv"] == "ignored"
    assert found.report.summary == (
        "7 files: 2 hand-ins of 2 students, 3 hand-ins that could not be graded, 3 ignored."
    )


def test_canvas_numbers_tell_which_of_two_is_newer(tmp_path: Path) -> None:
    older, newer = "årgårdann_4711_100_b.zip", "årgårdann_4711_101_a.zip"
    found = taken_in({older: ANN, newer: ANN}, tmp_path)
    assert found.graded == {"ann": newer} and found.flags == {("ann", "twice")}
    assert found.became == {older: "not graded", newer: "graded"}
    assert found.report.summary.endswith("1 other hand-in of the same students not graded.")
    assert any(older in line for line in found.report.told())


@pytest.mark.parametrize("newer", ["a.zip", "b.zip"])
def test_times_tell_if_they_are_apart(newer: str, tmp_path: Path) -> None:
    folder = "Ann Årgård_17_assignsubmission_file"
    names = [f"{folder}/a.zip", f"{folder}/b.zip"]
    download = tmp_path / "download.zip"
    times = {name: WHEN + 3600 * name.endswith(newer) for name in names}
    download.write_bytes(zip_of(dict.fromkeys(names, ANN), times))
    found = opened(download, tmp_path)
    assert found.graded == {"ann": f"{folder}/{newer}"} and found.flags == {("ann", "twice")}


def test_if_nothing_tells_both_are_graded(tmp_path: Path) -> None:
    folder = "Ann Årgård_17_assignsubmission_file"
    found = taken_in({f"{folder}/a.zip": ANN, f"{folder}/b.zip": ANN}, tmp_path)
    assert [case.student for case in found.chosen.cases] == ["ann", "ann"]
    assert set(found.became.values()) == {"graded"}


def test_the_own_and_readable_one_counts(tmp_path: Path) -> None:
    members = {"årgårdann_4711_100_a.zip": ANN, "årgårdann_4711_101_b.zip": ANN[:40]}
    members["årgårdann_4711_102_sack-ben.zip"] = BEN
    found = taken_in(members, tmp_path)
    assert found.graded == {"ann": "årgårdann_4711_100_a.zip"}
    assert found.flags == {("ann", "twice")}
    reasons = {line.file: line.why for line in found.report.lines}
    assert "cannot be read" in reasons["årgårdann_4711_101_b.zip"]
    assert "says that it is of ben" in reasons["årgårdann_4711_102_sack-ben.zip"]


def test_a_labs_own_folder_is_one_hand_in_with_the_zip_that_was_packed_of_it(
    tmp_path: Path,
) -> None:
    members = below("sack-ann", hand_in("ann") | {"sack-ann.zip": ANN, "old/answers.toml": SHEET})
    found = taken_in(members | {"sack-ben.zip": BEN}, tmp_path / "class", "folder")
    assert found.graded == {"ann": "sack-ann", "ben": "sack-ben.zip"} and found.flags == set()
    lab = folder_of(tmp_path / "sack-ann", hand_in("ann") | {"sack-ann.zip": ANN})
    alone = opened(lab, tmp_path / "alone")
    assert alone.graded == {"ann": "sack-ann"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("root", ["", "sack-ann/"])
def test_a_single_hand_in_is_graded_as_it_is(root: str, form: str, tmp_path: Path) -> None:
    members = {f"{root}{name}": content for name, content in hand_in("ann").items()}
    found = taken_in(members, tmp_path, form)
    assert set(found.graded) == {"ann"} and len(found.report.lines) == 2


def test_an_entry_that_cannot_be_taken_out_refuses_itself_only(tmp_path: Path) -> None:
    members = {
        "../../owned.zip": EVE,
        "C:\\owned.zip": EVE,
        "/owned.zip": EVE,
        next(iter(MOODLE)): ANN,
    }
    members |= {"Ben de la Cruz_18_assignsubmission_file/lab.zip": BEN, "..\\..\\owned.zip": EVE}
    download = tmp_path / "download.zip"
    download.write_bytes(_encrypted(zip_of(members), "lab.zip"))
    found = opened(download, tmp_path)
    assert set(found.graded) == {"ann"}
    assert "encrypted" in next(case.refused for case in found.chosen.cases if case.student == "ben")
    became = Counter(line.became for line in found.report.lines)
    assert became == {"refused": 4, "graded": 1, "could not grade": 1}
    assert not list(tmp_path.parent.rglob("owned*"))


def _encrypted(content: bytes, name: str) -> bytes:
    """The zip with the bit set that says that an entry is encrypted, in its central directory."""
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(name.encode()))
    return content[: place + 8] + bytes([content[place + 8] | 1]) + content[place + 9 :]


def test_damaged_contents_refuse_that_hand_in_only(tmp_path: Path) -> None:
    name = list(MOODLE)[1]
    content = bytearray(zip_of(MOODLE))
    header = content.index(name.encode())
    content[header + len(name.encode()) + 4] ^= 0xFF
    (tmp_path / "download.zip").write_bytes(bytes(content))
    found = opened(tmp_path / "download.zip", tmp_path)
    assert set(found.graded) == {"ann"}
    assert [case.student for case in found.chosen.cases if case.refused] == ["ben"]


def test_names_that_are_there_twice_have_a_line_each(tmp_path: Path) -> None:
    download = tmp_path / "download.zip"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(download, "w") as archive:
        for content in (ANN, ANN):
            archive.writestr(next(iter(MOODLE)), content)
        for _ in range(2):
            archive.writestr("Ben de la Cruz_18_assignsubmission_file/answers.toml", SHEET)
    found = opened(download, tmp_path)
    assert len(found.report.lines) == 4
    assert "twice" in next(case.refused for case in found.chosen.cases if case.student == "ben")


def test_a_download_that_breaks_off_is_refused_as_a_whole(tmp_path: Path) -> None:
    for form in FORMS[1:]:
        file = written(tmp_path / form, MOODLE, form)
        content = file.read_bytes()
        end_of_files = len(content.rstrip(b"\0")) if form == "tar" else len(content)
        for end in (1, *(end_of_files * part // 16 for part in range(1, 16))):
            file.write_bytes(content[:end])
            with pytest.raises(UsageError, match="cannot be opened"):
                receive(file, tmp_path / "work" / f"{form} {end}")


def test_a_tar_that_ends_between_two_files_is_broken_off(tmp_path: Path) -> None:
    """tarfile itself takes that for the end, and the hand-ins behind would vanish."""
    first = tar_of({"Ann_17_assignsubmission_file_a.zip": ANN}, "").rstrip(b"\0")
    (tmp_path / "download.tar").write_bytes(first + bytes(-len(first) % 512))
    with pytest.raises(UsageError, match="cannot be opened"):
        receive(tmp_path / "download.tar", tmp_path / "work")


def test_without_a_hand_in_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no hand-in"):
        receive(folder_of(tmp_path / "empty", {}), tmp_path / "a")
    with pytest.raises(UsageError, match="leave its folder"):
        receive(written(tmp_path, {"../../owned.zip": ANN}, "zip"), tmp_path / "b")
    with pytest.raises(UsageError, match="There is no"):
        receive(tmp_path / "nothing", tmp_path / "c")


def test_links_and_devices_beside_hand_ins_have_their_lines(tmp_path: Path) -> None:
    place = folder_of(tmp_path / "class", MOODLE | {"x/real.zip": EVE})
    (place / "link.zip").symlink_to(place / "x" / "real.zip")
    (place / "folder").symlink_to("/etc")
    os.mkfifo(place / "fifo")
    found = opened(place, tmp_path)
    assert set(found.graded) == {"ann", "ben", "eve"}
    assert found.became["folder"] == found.became["fifo"] == "refused"
    assert found.became["link.zip"] == "could not grade"


def test_what_computers_leave_is_ignored_and_needs_nobody(tmp_path: Path) -> None:
    left = ["__MACOSX/._sack-ann.zip", ".DS_Store", "Thumbs.db", "x/desktop.ini", ".git/config"]
    found = taken_in(MOODLE | dict.fromkeys(left, b""), tmp_path)
    assert found.report.summary == "7 files: 2 hand-ins of 2 students, 5 ignored."
    assert found.report.looks == []


def test_the_report_is_written_and_shown(tmp_path: Path, sack: LabSpec) -> None:
    members = MOODLE | {"=cmd|'!A0": b"", "<b>bold</b>.txt": b"", "\u202elive.txt": b""}
    found = taken_in(members, tmp_path)
    cases, out = found.chosen.cases, tmp_path / "grades"
    output.write(out, sack, COURSE, PEOPLE, cases, ByHand(), found.report)
    rows = list(csv.DictReader((out / "intake.csv").read_text().splitlines()))
    assert len(rows) == 5
    assert rows[0] == {
        "file": next(iter(MOODLE)),
        "whose": "ann",
        "size": str(len(ANN)),
        "became": "graded",
        "why": "",
        "look": "",
    }
    assert "'=cmd|'!A0" in {row["file"] for row in rows}
    page = (out / "class.html").read_text()
    assert "5 files: 2 hand-ins of 2 students, 3 ignored." in page
    assert "&lt;b&gt;bold&lt;/b&gt;.txt" in page and "\u202e" not in page


def test_a_file_without_a_line_is_an_error(tmp_path: Path) -> None:
    found = taken_in(MOODLE, tmp_path)
    for belongs in ({}, {0: found.intake.hand_ins[0]}):
        broken = Intake(found.intake.files, found.intake.hand_ins, belongs, {}, frozenset())
        with pytest.raises(TcplabError, match="accounted for"):
            received(broken, found.chosen)
    lost = Chosen(found.chosen.cases[:1])
    with pytest.raises(TcplabError, match="accounted for"):
        received(found.intake, lost)


_NAMES = some.sampled_from(
    [
        ANSWERS,
        FILE,
        "a.zip",
        "b.tar.gz",
        "graph.png",
        "report.pdf",
        ".DS_Store",
        "notes_1_2_x.txt",
        "sack-ann",
        "Group 1",
        "Ann_17_assignsubmission_file",
        "Ann_17_assignsubmission_file_a.zip",
        "B_o_18_assignsubmission_file_",
        "Ann_17_assignsubmission_onlinetext_onlinetext.html",
        "annlee_LATE_4711_99_a.zip",
        "annlee_4711_100_answers-1.toml",
        "anon_x_3_a.zip",
        "..",
        "x\\y",
        "\udcff",
    ]
)
_PATHS = some.lists(some.lists(_NAMES, min_size=1, max_size=5).map("/".join), max_size=30)


@settings(max_examples=500, deadline=None)
@given(_PATHS)
def test_every_file_of_any_download_has_one_line(paths: list[str]) -> None:
    """Names alone, as they stand in an archive: also twice, and also a file where another has a
    folder.
    """
    files = [DownloadFile(path, number, hostile=".." in path) for number, path in enumerate(paths)]
    sorting = sorted_out(files)
    places = [index for parcel in sorting.parcels for index in parcel.files] + list(sorting.others)
    assert sorted(places) == list(range(len(paths)))


@settings(max_examples=40, deadline=None)
@given(paths=_PATHS)
def test_the_sums_hold_for_any_folder(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
) -> None:
    place = tmp_path_factory.mktemp("tree")
    for path in paths:
        file = place / path.replace("..", "dots")
        if not file.exists() and not any(parent.is_file() for parent in file.parents):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"x")
    count = sum(len(names) for _, _, names in os.walk(place))
    try:
        intake = receive(place, tmp_path_factory.mktemp("work"))
    except UsageError:
        return
    refusals = itertools.cycle(["", "It is empty."])
    chosen = newest([Case(entry, entry.place, refused=next(refusals)) for entry in intake.hand_ins])
    report = received(intake, chosen)
    assert len(report.lines) == len({line.file for line in report.lines}) == count
    assert report.summary.startswith(f"{count} file")
