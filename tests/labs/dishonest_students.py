"""Students who hand in another's run or numbers, or numbers and captures that nobody measured."""

import json
import random
import shutil
from pathlib import Path

from labs.definition.spec import LabSpec
from tests.labs.native_run import RELEASE, dressed
from tests.labs.student import Student, borrowed, packed, sheet, signed, written


def fabricated(student: Student, lab: LabSpec, target: Path) -> None:
    """True captures, invented numbers."""
    assert student.key
    chance = random.Random(student.name)
    sheet(
        student,
        written(
            lab,
            student.key,
            lambda name, value: (
                f"{value * chance.uniform(1.3, 1.9) + 3:.4g} {lab.question(name).unit}"
            ),
        ),
    )
    packed(student, target)


def numbers_of_another(student: Student, lab: LabSpec, target: Path) -> None:
    """The own run, and the neighbour's numbers."""
    assert student.other and student.other.key
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def captures_of_another(student: Student, lab: LabSpec, target: Path) -> None:
    """The neighbour's whole run under the own name."""
    assert student.other and student.other.key
    shutil.rmtree(student.folder / "runs")
    shutil.copytree(student.other.folder / "runs", student.folder / "runs", symlinks=True)
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def relabelled(student: Student, lab: LabSpec, target: Path) -> None:
    """The neighbour's captures, with parameters, seed and digests of the own run."""
    assert student.other and student.other.key
    manifest = json.loads((student.run / "manifest.json").read_text())
    theirs = next((student.other.run / "raw").iterdir())
    own = next((student.run / "raw").iterdir())
    shutil.rmtree(own)
    shutil.copytree(theirs, own)
    signed(student.run, manifest)
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def edited(student: Student, lab: LabSpec, target: Path) -> None:
    """A byte of a capture is another."""
    assert student.key
    sheet(student, written(lab, student.key))
    _edit(student)
    packed(student, target)


def edited_and_signed(student: Student, lab: LabSpec, target: Path) -> None:
    """The same, and a manifest that fits."""
    assert student.key
    sheet(student, written(lab, student.key))
    _edit(student)
    signed(student.run, json.loads((student.run / "manifest.json").read_text()))
    packed(student, target)


def _edit(student: Student) -> None:
    file = next(student.run.rglob("sack_on/h1-eth0.pcap"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x55
    file.write_bytes(content)


def said_to_be_native(student: Student, lab: LabSpec, target: Path) -> None:
    """Edited captures under the pretext that they were made in real time."""
    assert student.key
    sheet(
        student,
        written(
            lab, student.key, lambda name, value: f"{1.5 * value:.4g} {lab.question(name).unit}"
        ),
    )
    file = next(student.run.rglob("sack_on/h1-eth0.pcap"))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 3])
    signed(
        student.run, json.loads((student.run / "manifest.json").read_text()) | {"testbed": "native"}
    )
    packed(student, target)


def zip_of_another(student: Student, _lab: LabSpec, target: Path) -> None:
    """The neighbour's hand-in as it is, uploaded under the own name."""
    borrowed(student, target)


def relabelled_as_native(student: Student, lab: LabSpec, target: Path) -> None:
    """The own run in virtual time, labelled in two fields of its manifest as one in real time."""
    assert student.key
    sheet(student, written(lab, student.key))
    manifest = json.loads((student.run / "manifest.json").read_text())
    kernel = manifest["kernel"] | {"release": RELEASE}
    signed(student.run, manifest | {"testbed": "native", "kernel": kernel})
    packed(student, target)


def dated_as_native(student: Student, lab: LabSpec, target: Path) -> None:
    """The own run in virtual time, in which everything says real time.

    Its packets are those that anybody repeats.
    """
    assert student.key
    sheet(student, written(lab, student.key))
    dressed(student.run)
    packed(student, target)
