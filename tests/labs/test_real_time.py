"""A run in virtual time labelled as one in real time: each witness that says otherwise is found."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labs.definition import catalogue
from labs.definition.assignment import ANSWERS, Assignment, variant
from labs.definition.spec import LabSpec
from labs.grading.case import Case
from labs.grading.comparison import GUESTS_BEGIN, check_label, contradictions
from labs.grading.inspection import HandedInRun, InspectedHandIn
from labs.grading.intake import HandIn
from labs.student.handout import start
from labs.student.runs import carry_out_run
from testbed.native.realtime import REALTIME
from testbed.virtual import guest
from tests.labs.conftest import COURSE
from tests.labs.native_run import RELEASE, STARTED, dressed, later
from tests.labs.test_hostile import pcap

LAB_RELEASE = "7.2.12"
NATIVE: dict[str, Any] = {
    "testbed": "native",
    "kernel": {"release": RELEASE},
    "started": "2026-09-21T14:13:20+00:00",
    "virtual_seconds": 100.0,
    "wall_seconds": 103.0,
}


def run_of(folder: Path) -> Path:
    """A run in real time as tcplab leaves it, with a capture of two packets."""
    seed = folder / "raw" / "seed-1"
    (seed / "sack_on").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(NATIVE))
    (seed / "environment.json").write_text(
        json.dumps({"clock": "real", "kernel": f"Linux {RELEASE}"})
    )
    (seed / REALTIME).write_text(json.dumps({"seconds": 101.0, "naps": 9000}))
    (seed / "sack_on" / "h1-eth0.pcap").write_bytes(later(pcap(b"aaaa", b"bbbb"), STARTED + 5))
    (seed / "sack_on" / "h1.sockets.jsonl").write_text(
        f'{{"time": {STARTED + 6}.25, "sockets": []}}\n'
    )
    return folder


def test_the_clock_of_guests_begins_as_the_testbed_says() -> None:
    assert GUESTS_BEGIN * 10**9 == guest.EPOCH


def test_a_run_in_real_time_contradicts_nothing(tmp_path: Path) -> None:
    assert contradictions(run_of(tmp_path), LAB_RELEASE) == []


def manifest(**fields: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "manifest.json").write_text(json.dumps(NATIVE | fields))

    return change


def rewritten(name: str, content: bytes | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "raw" / "seed-1" / name
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)

    return change


CAPTURE, SOCKETS = "sack_on/h1-eth0.pcap", "sack_on/h1.sockets.jsonl"
SAMPLE = b'{"time": 1700000114.5, "sockets": []}\n'
ENVIRONMENTS = (b'{"clock": "virtual"}', None, b"[" * 99_999)
NOT_REAL = "does not say that the clock was real"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (manifest(image={"digest": "i"}), "names a lab's kernel and image"),
        (manifest(lab_digest="d"), "names a lab's kernel and image"),
        (manifest(kernel={"release": RELEASE, "digest": "k"}), "names a lab's kernel and image"),
        (manifest(kernel={"release": LAB_RELEASE}), "which keeps no real time"),
        (manifest(kernel={"release": "6.5.0"}), f"ran on the kernel Linux {RELEASE}"),
        (manifest(started="yesterday"), "does not say when"),
        (manifest(started="2026-08-21T14:13:20+00:00"), "and the manifest says 2026-08-21"),
        (manifest(virtual_seconds=210.0, wall_seconds=6.0), "its clock went 210 s in 6 s"),
        *((rewritten("environment.json", content), NOT_REAL) for content in ENVIRONMENTS),
        (rewritten(REALTIME, None), f"has no {REALTIME}"),
        (rewritten(CAPTURE, later(pcap(b"a"), GUESTS_BEGIN + 11)), "the clock of every guest does"),
        (rewritten(CAPTURE, later(pcap(b"a"), STARTED - 86_400)), "is of 2026-09-20"),
        (rewritten(CAPTURE, later(pcap(*[b"a"] * 300), STARTED)), "lasts 299 s, and the run was"),
        (rewritten(SOCKETS, SAMPLE), "h1.sockets.jsonl begins at the time"),
    ],
)
def test_each_witness_that_says_otherwise_is_named(
    change: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    change(run_of(tmp_path))
    sentences = contradictions(tmp_path, LAB_RELEASE)
    assert any(words in sentence for sentence in sentences)


@pytest.fixture(scope="module")
def virtual_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A run of the SACK lab in virtual time, by its seed."""
    lab, place = catalogue.find("sack"), tmp_path_factory.mktemp("runs")
    begun = start(lab, variant(COURSE, lab, "ann"), place / "ann")

    def run(seed: int) -> Path:
        other = Assignment(place / str(seed), lab, replace(begun.variant, seed=seed))
        other.folder.mkdir()
        shutil.copy(begun.folder / ANSWERS, other.folder)
        return carry_out_run(other, lab.runs[0], "virtual")

    return run


@pytest.mark.virtual
def test_a_run_in_virtual_time_is_found_under_any_label(
    virtual_run: Callable[[int], Path], sack: LabSpec, tmp_path: Path
) -> None:
    """Two fields changed; everything dressed around the packets that anybody repeats; others."""
    reference, other = virtual_run(1), virtual_run(2)
    assert _flags(tmp_path / "relabelled", reference, reference, sack) == {
        "image",
        "clock",
        "guest",
        "same bytes",
    }
    dated = shutil.copytree(reference, tmp_path / "dated source")
    dressed(dated)
    assert _flags(tmp_path / "dated", dated, reference, sack) == {"other times"}
    (other / "raw" / "seed-2").rename(other / "raw" / "seed-1")
    dressed(other)
    found_out = _flags(tmp_path / "honest", other, reference, sack)
    assert found_out == set(), "a student who rewrites everything is not found out"


_SIGNS = {
    "image": "names a lab's kernel and image",
    "clock": "does not say that the clock was real",
    "guest": "at which the clock of every guest does",
    "same bytes": "byte for byte",
    "other times": "with other times",
}


def _raw_files(run: Path) -> dict[str, str]:
    """The digests of a run's raw files."""
    files = json.loads((run / "manifest.json").read_text())["files"]
    return {name.removeprefix("raw/"): digest for name, digest in files.items()}


def _flags(folder: Path, run: Path, reference: Path, sack: LabSpec) -> set[str]:
    """Which signs are among the flags of `run` as a hand-in that says it is native."""
    shutil.copytree(run, folder / "runs" / "sack")
    files, wanted = _raw_files(run), _raw_files(reference)
    record = {name: digest for name, digest in wanted.items() if "/sack_o" in name}
    handed_in = HandedInRun("runs/sack", "native", {}, [1], {}, files, [])
    inspected = InspectedHandIn(runs={sack.runs[0].name: handed_in})
    case = Case(HandIn(folder, "ann"), folder, inspected)
    records = [{"values": {}, "files": record}]
    case = check_label(case, sack.runs[0], records, reference / "raw", LAB_RELEASE)
    flag_texts = " ".join(flag.text for flag in case.flags)
    assert all(flag.kind == "not real time" for flag in case.flags)
    return {sign for sign, words in _SIGNS.items() if words in flag_texts}
