"""Zips from strangers, and how Windows writes names and texts."""

import codecs
import io
import zipfile
from pathlib import Path

import pytest

from labs.definition.answers import decoded, read_sheet
from labs.definition.assignment import ANSWERS, FILE, Assignment, read_assignment
from labs.definition.spec import LabSpec
from labs.grading.archives import Refusal
from labs.grading.inspection import inspect, unpack
from labs.student.hand_in import check
from tests.labs.downloads import SHEET, hand_in, zip_of
from topologies.errors import TcplabError

CAPTURE = "runs/sack/raw/seed-1/sack_on/h1-eth0.pcap"
ENCODINGS = {
    "UTF-8 with a mark": (codecs.BOM_UTF8, "utf-8"),
    "UTF-16 LE": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "UTF-16 BE": (codecs.BOM_UTF16_BE, "utf-16-be"),
    "UTF-16 LE without a mark": (b"", "utf-16-le"),
    "UTF-16 BE without a mark": (b"", "utf-16-be"),
}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "deep" / "target").mkdir(parents=True)
    return tmp_path / "deep" / "target"


@pytest.mark.parametrize("root", ["", "./", "sack-ann/", "./sack-ann/"])
def test_a_zip_gives_what_a_hand_in_has(root: str, tmp_path: Path, target: Path) -> None:
    names = (
        *(ANSWERS, CAPTURE, "virus.exe", "a.png", ".bashrc", "__MACOSX/._sack-ann"),
        *("runs/sack/report.html", "runs/sack/raw/.bashrc"),
    )
    members = {f"{root}{name}": b"x" for name in names}
    source = tmp_path / "any.name"
    source.write_bytes(zip_of(members))
    assert sorted(unpack(source, target)) == sorted([ANSWERS, CAPTURE, "a.png"])
    assert sum(file.is_file() for file in target.rglob("*")) == 3


@pytest.mark.parametrize(
    "name",
    [
        *("../owned", "/tmp/owned", "runs/../../owned", "./../owned", ".//owned/../../x"),
        *("..\\owned", "\\owned", "C:\\owned", "C:/owned", "\\\\host\\share\\owned"),
        *("a/" * 20 + "b", "x" * 600),
    ],
)
def test_nothing_leaves_its_folder(name: str, tmp_path: Path, target: Path) -> None:
    source = tmp_path / "bad"
    source.write_bytes(zip_of({ANSWERS: SHEET, name: b"owned"}))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(Refusal, match="leave its folder" if "owned" in name else "too long"):
        unpack(source, target)
    assert set(tmp_path.rglob("*")) == before


def test_every_damage_of_a_zip_is_a_sentence(tmp_path: Path, target: Path) -> None:
    """It is unpacked or refused; it never ends in another error."""
    whole = {ANSWERS: SHEET, CAPTURE: b"abc" * 100}
    good, bad = zip_of(whole), tmp_path / "bad.zip"
    refused = 0
    for place in range(0, len(good), 1 + len(good) // 150):
        for content in (
            good[:place],
            good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :],
        ):
            bad.write_bytes(content)
            into = target / f"{place}-{len(content)}"
            into.mkdir()
            try:
                unpack(bad, into)
            except Refusal:
                refused += 1
    assert refused > len(good) // 4


def test_backslashes_of_windows_are_slashes(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "windows.zip"
    members = {f"sack-ann\\{name}".replace("/", "\\"): b"x" for name in (ANSWERS, CAPTURE)}
    source.write_bytes(zip_of(members | {"sack-ann\\runs\\": b""}))
    with zipfile.ZipFile(source) as archive:
        assert any("\\" in name for name in archive.namelist())
    assert sorted(unpack(source, target)) == sorted([ANSWERS, CAPTURE])


def test_a_zip_without_dates_is_read(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "undated.zip"
    content = zip_of({ANSWERS: SHEET})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        directory = archive.start_dir
    for header, place in ((0, 10), (directory, 12)):
        content = content[: header + place] + bytes(4) + content[header + place + 4 :]
    source.write_bytes(content)
    assert unpack(source, target) == [ANSWERS]


def test_a_linked_folder_in_a_folder_is_not_followed(tmp_path: Path, target: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ANSWERS).write_bytes(SHEET)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lab").symlink_to(tmp_path / "other")
    assert unpack(tmp_path / "mine", target) == []


@pytest.mark.parametrize("name", ENCODINGS)
def test_sheets_and_assignments_of_windows_editors_are_read(
    name: str, tmp_path: Path, target: Path, sack: LabSpec, assignment: Assignment
) -> None:
    mark, encoding = ENCODINGS[name]

    def saved(content: bytes) -> bytes:
        return mark + content.decode().replace("\n", "\r\n").encode(encoding)

    members = {file: saved(content) for file, content in hand_in("änn").items()}
    source = tmp_path / "lab.zip"
    source.write_bytes(zip_of(members))
    inspected = inspect(source, target, "sack")
    assert inspected.answers["goodput_off"] == ["231 kbit/s"] and inspected.student == "änn"
    for file in (FILE, ANSWERS):
        place = assignment.folder / file
        place.write_bytes(saved(place.read_bytes()))
    assert read_assignment(assignment.folder).variant == assignment.variant
    assert check(assignment)


@pytest.mark.parametrize("content", [b"a = '\xe4'", b"\xff\xfea", b"a\0\0\0b", b"abc\0def"])
def test_what_is_no_text_is_refused_with_a_sentence(
    content: bytes, tmp_path: Path, sack: LabSpec
) -> None:
    with pytest.raises(ValueError, match="save it as UTF-8"):
        decoded(content)
    (tmp_path / ANSWERS).write_bytes(content)
    with pytest.raises(TcplabError, match="cannot be read"):
        read_sheet(tmp_path / ANSWERS, sack)
