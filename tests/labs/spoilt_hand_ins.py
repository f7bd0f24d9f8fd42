"""Hand-ins that broke on their way: cut short, damaged, empty, or no zip at all."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

from labs.spec import LabSpec
from tests.labs.honest_students import honest
from tests.labs.student import Student, borrowed, rewritten


def cut_short(student: Student, lab: LabSpec, target: Path) -> None:
    """A download that broke off in the middle of a capture."""
    honest(student, lab, target)
    rewritten(
        target,
        lambda name, content: content[: len(content) // 2] if name.endswith("sack_off/h1-eth0.pcap") else content,
    )


def damaged(student: Student, lab: LabSpec, target: Path) -> None:
    """A capture whose lengths are nonsense."""
    honest(student, lab, target)
    chance = random.Random(student.name)

    def garbled(name: str, content: bytes) -> bytes:
        if not name.endswith(".pcap"):
            return content
        return content[:24] + b"".join(struct.pack("<I", chance.getrandbits(32)) for _ in range(len(content) // 4))

    rewritten(target, garbled)


def no_run(student: Student, lab: LabSpec, target: Path) -> None:
    honest(student, lab, target)
    rewritten(target, lambda name, content: None if name.startswith("runs/") else content)


def half_a_zip(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])


def no_zip(student: Student, _lab: LabSpec, target: Path) -> None:
    target.write_bytes(b"I could not get it to work, sorry.\n")


def empty(student: Student, _lab: LabSpec, target: Path) -> None:
    with zipfile.ZipFile(target, "w"):
        pass
