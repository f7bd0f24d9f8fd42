"""Hand-ins that broke or changed on their way: cut short, damaged, no zip, packed otherwise."""

import codecs
import os
import random
import shutil
import struct
import zipfile
from pathlib import Path

from labs.definition.assignment import ANSWERS, FILE
from labs.definition.spec import LabSpec
from tests.labs.downloads import zip_of
from tests.labs.honest_students import honest
from tests.labs.student import PICTURE, Student, borrowed, rewritten


def cut_short(student: Student, lab: LabSpec, target: Path) -> None:
    """A download that broke off in the middle of a capture."""
    honest(student, lab, target)
    rewritten(
        target,
        lambda name, content: (
            content[: len(content) // 2] if name.endswith("sack_off/h1-eth0.pcap") else content
        ),
    )


def damaged(student: Student, lab: LabSpec, target: Path) -> None:
    """A capture whose lengths are nonsense."""
    honest(student, lab, target)
    chance = random.Random(student.name)

    def garbled(name: str, content: bytes) -> bytes:
        if not name.endswith(".pcap"):
            return content
        return content[:24] + b"".join(
            struct.pack("<I", chance.getrandbits(32)) for _ in range(len(content) // 4)
        )

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


def packed_by_hand(student: Student, lab: LabSpec, target: Path) -> None:
    """With the folder around it."""
    honest(student, lab, target)
    with zipfile.ZipFile(target) as archive:
        members = {f"./my lab/{name}": archive.read(name) for name in archive.namelist()}
    target.write_bytes(zip_of(members))


def by_windows(student: Student, lab: LabSpec, target: Path) -> None:
    """Names with backslashes, and texts that Notepad saved."""
    honest(student, lab, target)
    with zipfile.ZipFile(target) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[ANSWERS] = codecs.BOM_UTF16_LE + members[ANSWERS].decode().encode("utf-16-le")
    members[FILE] = codecs.BOM_UTF8 + members[FILE]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("/", "\\"), content)


def twice(student: Student, lab: LabSpec, target: Path) -> None:
    """A day later once more, with another file in it."""
    the_same_again(student, lab, target)
    rewritten(target, lambda _, content: content, {"another.png": PICTURE})
    a_day_before(target, target.with_name("again.zip"))


def the_same_again(student: Student, lab: LabSpec, target: Path) -> None:
    """A day later once more, byte for byte."""
    again = target.with_name("again.zip")
    honest(student, lab, again)
    shutil.copyfile(again, target)
    a_day_before(target, again)


def a_day_before(target: Path, other: Path) -> None:
    os.utime(target, (0, other.stat().st_mtime - 86_400))
