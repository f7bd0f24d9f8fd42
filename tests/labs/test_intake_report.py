"""Every file of a download ends in one line: which of two counts, what is refused, and the sums."""

import csv
import itertools
import os
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from labs.definition.assignment import ANSWERS, FILE
from labs.definition.spec import LabSpec
from labs.grading import files
from labs.grading.archives import DownloadFile
from labs.grading.case import Case
from labs.grading.files import CourseFiles
from labs.grading.intake import Intake, receive
from labs.grading.intake_report import CountingHandIns, counting_hand_ins, report_on
from labs.grading.pages import GradedClass
from labs.grading.sorting import sort_files
from tests.labs.conftest import COURSE
from tests.labs.downloads import SHEET, WHEN, below, folder_of, hand_in, written, zip_of
from tests.labs.taken_in import ANN, ANN_LATER, BEN, EVE, FORMS, MOODLE, PEOPLE, opened, taken_in
from topologies.errors import TcplabError, UsageError

OF_ANN = "Ann Årgård_17_assignsubmission_file"


def test_canvas_numbers_tell_which_of_two_is_newer(tmp_path: Path) -> None:
    older, newer = "årgårdann_4711_100_b.zip", "årgårdann_4711_101_a.zip"
    intake = taken_in({older: ANN, newer: ANN_LATER}, tmp_path)
    assert intake.graded == {"ann": newer} and intake.flags == {("ann", "twice")}
    assert intake.became == {older: "not graded", newer: "graded"}
    assert intake.report.summary.endswith("1 other hand-in of the same students not graded.")
    assert any(older in line for line in intake.report.terminal_lines())


@pytest.mark.parametrize("newer", ["a.zip", "b.zip"])
def test_times_tell_if_they_are_apart(newer: str, tmp_path: Path) -> None:
    members = {f"{OF_ANN}/a.zip": ANN, f"{OF_ANN}/b.zip": ANN_LATER}
    download = tmp_path / "download.zip"
    times = {name: WHEN + 3600 * name.endswith(newer) for name in members}
    download.write_bytes(zip_of(members, times))
    intake = opened(download, tmp_path)
    assert intake.graded == {"ann": f"{OF_ANN}/{newer}"} and intake.flags == {("ann", "twice")}


def test_if_nothing_tells_both_are_graded(tmp_path: Path) -> None:
    intake = taken_in({f"{OF_ANN}/a.zip": ANN, f"{OF_ANN}/b.zip": ANN_LATER}, tmp_path)
    assert [case.student for case in intake.chosen.cases] == ["ann", "ann"]
    assert set(intake.became.values()) == {"graded"}


def test_a_file_that_is_uploaded_twice_is_one_row(tmp_path: Path) -> None:
    """Two students with the same bytes are two rows, since one has copied."""
    other = "Ben de la Cruz_18_assignsubmission_file/b.zip"
    intake = taken_in({f"{OF_ANN}/a.zip": ANN, f"{OF_ANN}/b.zip": ANN, other: ANN}, tmp_path)
    assert sorted(case.student for case in intake.chosen.cases) == ["ann", "ben"]
    assert intake.became[f"{OF_ANN}/b.zip"] == "not graded" and ("ann", "twice") not in intake.flags


def test_the_own_and_readable_one_counts(tmp_path: Path) -> None:
    members = {"årgårdann_4711_100_a.zip": ANN, "årgårdann_4711_101_b.zip": ANN[:40]}
    members["årgårdann_4711_102_sack-ben.zip"] = BEN
    intake = taken_in(members, tmp_path)
    assert intake.graded == {"ann": "årgårdann_4711_100_a.zip"}
    assert intake.flags == {("ann", "twice")}
    reasons = {line.file: line.why for line in intake.report.lines}
    assert "cannot be read" in reasons["årgårdann_4711_101_b.zip"]
    assert "names ben as its student" in reasons["årgårdann_4711_102_sack-ben.zip"]


def test_a_labs_own_folder_is_one_hand_in_with_the_zip_that_was_packed_of_it(
    tmp_path: Path,
) -> None:
    members = below("sack-ann", hand_in("ann") | {"sack-ann.zip": ANN, "old/answers.toml": SHEET})
    intake = taken_in(members | {"sack-ben.zip": BEN}, tmp_path / "class", "folder")
    assert intake.graded == {"ann": "sack-ann", "ben": "sack-ben.zip"} and intake.flags == set()
    lab = folder_of(tmp_path / "sack-ann", hand_in("ann") | {"sack-ann.zip": ANN})
    alone = opened(lab, tmp_path / "alone")
    assert alone.graded == {"ann": "sack-ann"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("root", ["", "sack-ann/"])
def test_a_single_hand_in_is_graded_as_it_is(root: str, form: str, tmp_path: Path) -> None:
    members = {f"{root}{name}": content for name, content in hand_in("ann").items()}
    intake = taken_in(members, tmp_path, form)
    assert set(intake.graded) == {"ann"} and len(intake.report.lines) == 2


def test_an_entry_that_cannot_be_taken_out_refuses_itself_only(tmp_path: Path) -> None:
    hostile = ("../../owned.zip", "C:\\owned.zip", "/owned.zip", "..\\..\\owned.zip")
    members = dict.fromkeys(hostile, EVE) | {next(iter(MOODLE)): ANN}
    members["Ben de la Cruz_18_assignsubmission_file/lab.zip"] = BEN
    download = tmp_path / "download.zip"
    download.write_bytes(_encrypted(zip_of(members), "lab.zip"))
    intake = opened(download, tmp_path)
    assert set(intake.graded) == {"ann"}
    assert "encrypted" in intake.refused["ben"]
    became = Counter(line.became for line in intake.report.lines)
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
    intake = opened(tmp_path / "download.zip", tmp_path)
    assert set(intake.graded) == {"ann"}
    assert intake.refused.keys() == {"ben"}


def test_names_that_are_there_twice_have_a_line_each(tmp_path: Path) -> None:
    download = tmp_path / "download.zip"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(download, "w") as archive:
        for content in (ANN, ANN):
            archive.writestr(next(iter(MOODLE)), content)
        for _ in range(2):
            archive.writestr("Ben de la Cruz_18_assignsubmission_file/answers.toml", SHEET)
    intake = opened(download, tmp_path)
    assert len(intake.report.lines) == 4
    assert "twice" in intake.refused["ben"]


def test_a_download_that_breaks_off_is_refused_as_a_whole(tmp_path: Path) -> None:
    file = written(tmp_path, MOODLE, "zip")
    content = file.read_bytes()
    for end in (1, *(len(content) * part // 16 for part in range(1, 16))):
        file.write_bytes(content[:end])
        with pytest.raises(UsageError, match="cannot be opened"):
            receive(file, tmp_path / "work" / f"{end}")


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
    intake = opened(place, tmp_path)
    assert set(intake.graded) == {"ann", "ben", "eve"}
    assert intake.became["folder"] == intake.became["fifo"] == "refused"
    assert intake.became["link.zip"] == "could not grade"


def test_what_computers_leave_is_ignored_and_needs_nobody(tmp_path: Path) -> None:
    left = ["__MACOSX/._sack-ann.zip", ".DS_Store", "Thumbs.db", "x/desktop.ini", ".git/config"]
    intake = taken_in(MOODLE | dict.fromkeys(left, b""), tmp_path)
    assert intake.report.summary == "7 files: 2 hand-ins of 2 students, 5 ignored."
    assert intake.report.looks == []


def test_the_report_is_written_and_shown(tmp_path: Path, sack: LabSpec) -> None:
    members = MOODLE | {"=cmd|'!A0": b"", "<b>.txt": b"", "\u202elive.txt": b""}
    intake = taken_in(members, tmp_path)
    cases, out = intake.chosen.cases, tmp_path / "grades"
    files.write(out, GradedClass(sack, COURSE, PEOPLE, cases, report=intake.report), CourseFiles())
    rows = list(csv.DictReader((out / "intake.csv").read_text().splitlines()))
    assert len(rows) == 5
    assert [*rows[0]] == ["file", "whose", "size", "became", "why", "look"]
    assert [*rows[0].values()] == [next(iter(MOODLE)), "ann", str(len(ANN)), "graded", "", ""]
    assert "'=cmd|'!A0" in {row["file"] for row in rows}
    page = (out / "class.html").read_text()
    assert "5 files: 2 hand-ins of 2 students, 3 ignored." in page
    assert "&lt;b&gt;.txt" in page and "\u202e" not in page


def test_names_that_are_no_text_are_shown_all_the_same(tmp_path: Path, sack: LabSpec) -> None:
    place = folder_of(tmp_path / "class", MOODLE)
    for name, content in ((b"\xff.zip", EVE), (b"\xfe.zip", b""), (b"\xfd\n.txt", b"")):
        Path(os.fsdecode(os.fsencode(place) + b"/" + name)).write_bytes(content)
    intake = opened(place, tmp_path)
    assert set(intake.graded) == {"ann", "ben", "eve"}
    cases, out = intake.chosen.cases, tmp_path / "grades"
    files.write(out, GradedClass(sack, COURSE, PEOPLE, cases, report=intake.report), CourseFiles())
    assert len((out / "intake.csv").read_text().splitlines()) == 6
    assert not any("\n" in line for line in intake.report.terminal_lines())


def test_a_file_without_a_line_is_an_error(tmp_path: Path) -> None:
    intake = taken_in(MOODLE, tmp_path)
    for belongs in ({}, {0: intake.intake.hand_ins[0]}):
        broken = Intake(intake.intake.files, intake.intake.hand_ins, belongs, {}, frozenset())
        with pytest.raises(TcplabError, match="accounted for"):
            report_on(broken, intake.chosen)
    lost = CountingHandIns(intake.chosen.cases[:1])
    with pytest.raises(TcplabError, match="accounted for"):
        report_on(intake.intake, lost)


_BY_SYSTEMS = (
    "Ann_17_assignsubmission_file|Ann_17_assignsubmission_file_a.zip|B_o_18_assignsubmission_file_"
    "|Ann_17_assignsubmission_onlinetext_onlinetext.html|annlee_LATE_4711_99_a.zip"
    "|annlee_4711_100_answers-1.toml|anon_x_3_a.zip"
)
_OTHERS = "a.zip|b.tar.gz|graph.png|report.pdf|.DS_Store|notes_1_2_x.txt|sack-ann|Group 1|..|x\\y"
_NAMES = some.sampled_from([ANSWERS, FILE, "\udcff", *f"{_BY_SYSTEMS}|{_OTHERS}".split("|")])
_PATHS = some.lists(some.lists(_NAMES, min_size=1, max_size=5).map("/".join), max_size=30)


@settings(max_examples=500, deadline=None)
@given(_PATHS)
def test_every_file_of_any_download_has_one_line(paths: list[str]) -> None:
    """Names alone, as they stand in an archive: some twice, and a file with a folder's name."""
    files = [DownloadFile(path, number, hostile=".." in path) for number, path in enumerate(paths)]
    sorting = sort_files(files)
    places = [index for parcel in sorting.parcels for index in parcel.files] + list(sorting.others)
    assert sorted(places) == list(range(len(paths)))


@settings(max_examples=40, deadline=None)
@given(paths=_PATHS)
def test_the_sums_hold_for_any_folder(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str]
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
    cases = [Case(entry, entry.place, refused=next(refusals)) for entry in intake.hand_ins]
    report = report_on(intake, counting_hand_ins(cases))
    assert len(report.lines) == len({line.file for line in report.lines}) == count
    assert report.summary.startswith(f"{count} file")
