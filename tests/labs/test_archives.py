"""Zips and tars from strangers with every limit, and how Windows writes names and texts."""

from __future__ import annotations

import codecs
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from labs.definition.answers import read_sheet
from labs.definition.assignment import ANSWERS, FILE, Assignment, read_assignment
from labs.definition.files import decoded
from labs.definition.spec import LabSpec
from labs.grading.archives import Refusal
from labs.grading.inspection import inspect
from labs.grading.unpacking import unpack
from labs.student.hand_in import check
from tests.labs.downloads import SHEET, hand_in, tar_of, zip_of
from topologies.foundation.errors import TcplabError

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


def tar_with(file: Path, *entries: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> Path:
    """A tar with answers and whatever else; the entries' contents are zeros."""
    with tarfile.open(file, "w:gz", format=form) as archive:
        answers = tarfile.TarInfo(ANSWERS)
        answers.size = len(SHEET)
        archive.addfile(answers, io.BytesIO(SHEET))
        for entry in entries:
            archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    return file


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = ""
) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.size, header.linkname = kind, size, link
    return header


@pytest.mark.parametrize("packed", ["", "gz", "bz2", "xz"])
@pytest.mark.parametrize("root", ["", "./", "sack-ann/", "./sack-ann/"])
def test_a_tar_gives_what_a_hand_in_has(
    packed: str, root: str, tmp_path: Path, target: Path
) -> None:
    names = (ANSWERS, CAPTURE, "virus.exe", "a.png", ".bashrc")
    members = {f"{root}{name}": b"x" for name in names}
    source = tmp_path / "any.name"
    source.write_bytes(tar_of(members, packed))
    assert sorted(unpack(source, target)) == sorted([ANSWERS, CAPTURE, "a.png"])
    assert sum(file.is_file() for file in target.rglob("*")) == 3


@pytest.mark.parametrize(
    "name",
    [
        *("../owned", "/tmp/owned", "runs/../../owned", "./../owned", ".//owned/../../x"),
        *("..\\owned", "\\owned", "C:\\owned", "C:/owned", "\\\\host\\share\\owned"),
    ],
)
@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_nothing_leaves_its_folder(name: str, pack: type, tmp_path: Path, target: Path) -> None:
    source = tmp_path / "bad"
    source.write_bytes(pack({ANSWERS: SHEET, name: b"owned"}))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(Refusal, match="leave its folder"):
        unpack(source, target)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(kind: bytes, tmp_path: Path, target: Path) -> None:
    source = tar_with(tmp_path / "bad.tgz", entry(CAPTURE, kind, link="/etc/passwd"))
    with pytest.raises(Refusal, match="link or a device"):
        unpack(source, target)


def test_sparse_files_in_a_tar_are_refused(tmp_path: Path, target: Path) -> None:
    old = entry(CAPTURE, tarfile.GNUTYPE_SPARSE)
    new = entry(CAPTURE)
    new.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": CAPTURE,
        "GNU.sparse.size": str(1 << 40),
        "GNU.sparse.map": f"0,1,{1 << 39},1",
    }
    for number, member in enumerate((old, new)):
        with pytest.raises(Refusal, match=r"link or a device|larger"):
            unpack(tar_with(tmp_path / f"{number}.tgz", member), target)


def test_a_bomb_in_a_tar_is_counted_while_it_is_read(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.grading.unpacking._LARGEST_WHOLE", 20 << 20)
    swelling = tar_with(tmp_path / "swelling.tgz", entry("any.bin", size=10 << 20))
    with pytest.raises(Refusal, match="very much more"):
        unpack(swelling, target)
    many = tmp_path / "many.tar"
    many.write_bytes(tar_of({f"runs/{number}": bytes(3 << 20) for number in range(20)}, ""))
    with pytest.raises(Refusal, match="Unpacked it would be larger"):
        unpack(many, target)
    liar = entry(CAPTURE, size=0)
    source = tar_with(tmp_path / "liar.tgz", liar)
    content = bytearray(gzip.decompress(source.read_bytes()))
    header = content.index(CAPTURE.encode())
    content[header + 124 : header + 136] = b"77777777777\0"  # 8 GiB
    content[header + 148 : header + 156] = b" " * 8
    content[header + 148 : header + 156] = b"%06o\0 " % sum(content[header : header + 512])
    source.write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(Refusal, match="larger"):
        unpack(source, target)
    assert not list(target.iterdir())


def test_a_header_that_is_read_into_memory_is_short(tmp_path: Path, target: Path) -> None:
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        long = tar_with(tmp_path / f"{form}.tgz", entry("a" * 100_000), form=form)
        with pytest.raises(Refusal, match="header in it is too long"):
            unpack(long, target)


def test_too_many_files_and_files_twice_in_a_tar_are_refused(tmp_path: Path, target: Path) -> None:
    many = tar_with(tmp_path / "many.tgz", *(entry(f"raw/{number}") for number in range(5001)))
    with pytest.raises(Refusal, match="5000 files"):
        unpack(many, target)
    with pytest.raises(Refusal, match="twice"):
        unpack(tar_with(tmp_path / "twice.tgz", entry("a.png"), entry("./a.png")), target)


@pytest.mark.parametrize("packed", ["", "gz", "bz2", "xz"])
def test_every_damage_of_a_tar_is_a_sentence(packed: str, tmp_path: Path, target: Path) -> None:
    """It is unpacked whole or refused; it never ends in another error, and nothing vanishes."""
    whole = {ANSWERS: SHEET, CAPTURE: b"abc" * 100}
    good, bad = tar_of(whole, packed), tmp_path / "bad.tar"
    used = len(good.rstrip(b"\0")) if not packed else len(good)
    for place in range(0, used, 1 + used // 150):
        for content in (
            good[:place],
            good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :],
        ):
            bad.write_bytes(content)
            into = target / f"{place}-{len(content)}"
            into.mkdir()
            try:
                names = unpack(bad, into)
            except Refusal as refused:
                assert str(refused)
            else:
                assert packed == "" or len(names) == 2


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
    inspected = inspect(str(source), str(target), "sack")
    assert inspected["answers"]["goodput_off"] == ["231 kbit/s"] and inspected["student"] == "änn"
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
