"""Hand-ins from strangers: what leaves its folder, swells, links or crashes does no harm."""

import multiprocessing
import os
import socket
import stat
import time
import zipfile
from pathlib import Path

import pytest

from experiments.run.verify import differences
from labs.definition.answers import picture_kind
from labs.definition.assignment import ANSWERS
from labs.grading.archives import Refusal
from labs.grading.comparison import inconsistencies
from labs.grading.inspection import inspect, unpack
from labs.measuring.contained import Allowance, NotContained, contained, inform
from topologies.errors import TcplabError

SHEET = b'[answers]\ngoodput_off = "231 kbit/s"\n'
CAPTURE = "runs/sack/raw/seed-1/sack_on/h1-eth0.pcap"


def zipped(file: Path, members: dict[str, bytes], modes: dict[str, int] | None = None) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(entry, content)
    return file


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "inside" / "target"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK]
)
def test_links_and_devices_are_refused(kind: int, tmp_path: Path, target: Path) -> None:
    source = zipped(
        tmp_path / "bad.zip", {ANSWERS: SHEET, CAPTURE: b"/etc/passwd"}, {CAPTURE: kind | 0o777}
    )
    with pytest.raises(Refusal, match="link or a device"):
        unpack(source, target)


def test_a_misspelt_question_is_named_in_what_could_not_be_read(
    tmp_path: Path, target: Path
) -> None:
    sheet = SHEET.replace(b"goodput_off", b"goodput_of")
    inspected = inspect(zipped(tmp_path / "hand-in.zip", {ANSWERS: sheet}), target, "sack")
    named = "goodput_of in answers.toml: no question has this name; is goodput_off meant?"
    assert named in inspected.problems


def test_bombs_are_refused_before_they_go_off(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.grading.inspection._LARGEST_WHOLE", 20 << 20)
    for content in (
        {CAPTURE: bytes(10 << 20)},
        {f"{CAPTURE}{number}": bytes(3 << 20) for number in range(10)},
    ):
        source = zipped(tmp_path / "bomb.zip", {ANSWERS: SHEET, **content})
        with pytest.raises(Refusal, match=r"unpack|Unpacked"):
            unpack(source, target)
    assert sum(file.stat().st_size for file in target.rglob("*") if file.is_file()) < 1000


def test_a_size_that_lies_is_found_out(tmp_path: Path, target: Path) -> None:
    source = zipped(tmp_path / "liar.zip", {ANSWERS: SHEET + b"#" * 5000})
    content = source.read_bytes()
    true = (len(SHEET) + 5000).to_bytes(4, "little")
    source.write_bytes(content.replace(true, (10).to_bytes(4, "little")))
    with pytest.raises(Refusal):
        unpack(source, target)


def test_too_many_files_and_files_twice_are_refused(tmp_path: Path, target: Path) -> None:
    many = zipped(
        tmp_path / "many.zip", {f"runs/sack/raw/seed-1/a/{number}": b"" for number in range(5001)}
    )
    with pytest.raises(Refusal, match="5000 files"):
        unpack(many, target)
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive,
    ):
        archive.writestr(ANSWERS, SHEET)
        archive.writestr(ANSWERS, SHEET)
    with pytest.raises(Refusal, match="twice"):
        unpack(tmp_path / "twice.zip", target)


def test_a_folder_is_read_without_following_a_link(tmp_path: Path, target: Path) -> None:
    folder = tmp_path / "folder"
    (folder / CAPTURE).parent.mkdir(parents=True)
    (folder / ANSWERS).write_bytes(SHEET)
    (folder / CAPTURE).write_bytes(b"x")
    (folder / "runs" / "sack" / "latest").symlink_to("raw")
    assert sorted(unpack(folder, target)) == sorted([ANSWERS, CAPTURE])
    (folder / "runs" / "sack" / "raw" / "seed-2").symlink_to("/etc")
    with pytest.raises(Refusal, match="link or a device"):
        unpack(folder, tmp_path / "again")
    (folder / "runs" / "sack" / "raw" / "seed-2").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder / "runs")
        listener.bind("socket")
        os.chdir(here)
    with pytest.raises(Refusal, match="link or a device"):
        unpack(folder, tmp_path / "more")


def test_a_manifest_that_points_elsewhere_reads_nothing_there(tmp_path: Path, target: Path) -> None:
    manifest = (
        b'{"seeds": ["x", 1], "files": {"../../../../etc/passwd": "0", "raw/../../x": "1"},'
        b' "testbed": ["native"]}'
    )
    source = zipped(
        tmp_path / "good.zip",
        {
            ANSWERS: SHEET,
            CAPTURE: b"x",
            "runs/sack/manifest.json": manifest,
            "runs/sack/spec.json": b"[" * 100_000,
        },
    )
    inspected = inspect(source, target, "sack")
    run = inspected.runs["sack"]
    assert run.testbed == "unknown" and run.seeds == [1] and run.parameters == {}
    assert run.misfits == ["seed-1/sack_on/h1-eth0.pcap", "../../x"] and inspected.problems


def _sleeps(seconds: float) -> None:
    time.sleep(seconds)


def _spins() -> None:
    while True:
        pass


def _eats() -> int:
    return len(bytearray(64 << 30))


def _recurses(depth: int) -> int:
    return _recurses(depth + 1) + 1


def _dies() -> None:
    os.kill(os.getpid(), 11)


def _writes(file: str) -> None:
    with open(file, "wb") as stream:
        stream.truncate(2 << 30)


def test_what_crashes_loops_or_eats_memory_ends_alone(tmp_path: Path) -> None:
    with pytest.raises(NotContained, match="more than 1 s"):
        contained(_sleeps, 60, allowance=Allowance(seconds=1.0))
    with pytest.raises(NotContained):
        contained(_spins, allowance=Allowance(seconds=2.0))
    with pytest.raises(NotContained, match="crash"):
        contained(_dies)
    with pytest.raises(TcplabError, match=r"too large|crash"):
        contained(_eats)
    with pytest.raises(TcplabError, match="nested too deeply"):
        contained(_recurses, 0)
    with pytest.raises(TcplabError):
        contained(_writes, str(tmp_path / "large"))
    assert contained(len, "abc") == 3


def pcap(*packets: bytes) -> bytes:
    head = b"\x4d\x3c\xb2\xa1" + bytes(16) + b"\x01\x00\x00\x00"
    records = (
        b"".join(value.to_bytes(4, "little") for value in (index, 0, len(packet), len(packet)))
        + packet
        for index, packet in enumerate(packets)
    )
    return head + b"".join(records)


@pytest.mark.parametrize(
    ("theirs", "packet", "cut", "what"),
    [
        (pcap(b"aaaa", b"bbbb", b"cccc"), None, False, ""),
        (pcap(b"aaaa", b"bbXb", b"cccc"), 2, False, "another from byte 3 on (Ethernet"),
        (pcap(b"aaaa", b"bbbb"), 3, True, "it ends there"),
        (pcap(b"aaaa", b"bbbb", b"cccc")[:-2], 3, True, "it ends there"),
        (pcap(b"aaaa", b"bbbb", b"cccc", b"dddd"), 4, False, "goes on"),
        (pcap(b"aaaa")[:24] + b"\xee" * 64, 1, False, ""),
        (b"<html>", 0, False, "no capture"),
        (b"", 0, True, "no capture"),
        (None, 0, True, "missing"),
    ],
)
def test_the_first_packet_that_differs_is_named(
    theirs: bytes | None, packet: int | None, cut: bool, what: str, tmp_path: Path
) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours" / "a.pcap").write_bytes(pcap(b"aaaa", b"bbbb", b"cccc"))
    if theirs is not None:
        (tmp_path / "theirs" / "a.pcap").write_bytes(theirs)
    differing = differences(tmp_path / "ours", tmp_path / "theirs", ["a.pcap"])
    if packet is None:
        assert differing == []
    else:
        assert (
            differing[0].packet == packet and differing[0].cut is cut and what in differing[0].what
        )


def test_a_captures_witnesses_must_agree() -> None:
    good = {
        "ss.bytes_sent": 8_883_888.0,
        "sender.actual_data_bytes": 8_883_888.0,
        "tcpdump.sender": 9823.0,
        "sender.both.total_packets": 9823.0,
        "nstat.TcpRetransSegs": 524.0,
        "sender.rexmt_data_pkts": 524.0,
    }
    assert inconsistencies({"sack_on": good}) == []
    for name, value in (
        ("sender.actual_data_bytes", 3e6),
        ("tcpdump.sender", 5000.0),
        ("nstat.TcpRetransSegs", 20.0),
    ):
        assert len(inconsistencies({"sack_on": good | {name: value}})) == 1


def test_pictures_are_pictures(tmp_path: Path) -> None:
    for name, content, kind in (
        ("a.png", b"\x89PNG\r\n\x1a\n..", "png"),
        ("b.png", b"<svg onload=alert(1)>", None),
        ("c.jpg", b"\xff\xd8\xff\xe0", "jpeg"),
        ("d.png", b"", None),
    ):
        (tmp_path / name).write_bytes(content)
        assert picture_kind(tmp_path / name) == kind
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    assert picture_kind(tmp_path / "link.png") is None


def test_a_reader_for_whom_nobody_waits_any_more_ends_without_a_traceback() -> None:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    receiver.close()
    with pytest.raises(SystemExit):
        inform(sender, {"phase": "reading", "elapsed": 0.0})
