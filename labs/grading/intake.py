"""Which hand-ins there are: folders and zips, as students or Moodle or Canvas left them."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from labs.assignment import ANSWERS
from labs.grading.roster import Person
from labs.grading.unpack import Refused, require_inside
from topologies.errors import UsageError

_MOODLE = re.compile(r"(?P<name>.{1,200})_(?P<number>\d{1,12})_assignsubmission_file(?:_.*)?")
_CANVAS = re.compile(r"(?P<name>[^_]{1,200})_(?:LATE_)?(?P<number>\d{1,12})_\d{1,12}_.{1,200}")
_MOST = 10_000
_LARGEST = 20 << 30  # bytes of a whole class


@dataclass(frozen=True)
class HandIn:
    """One hand-in: where it is, what it is called there, and whose it is by the words of Moodle or Canvas."""

    place: Path
    label: str
    moodle: str = ""
    canvas: str = ""

    def owner(self, people: list[Person]) -> Person | None:
        """Who handed it in by the course system's word; None where it says nothing."""
        for person in people:
            if (self.moodle and self.moodle == person.moodle) or (self.canvas and self.canvas == person.canvas):
                return person
        return None


def hand_ins(submissions: Path, work: Path) -> list[HandIn]:
    """All hand-ins in a folder or in a zip that Moodle or Canvas gave. Raises UsageError where there is none."""
    place = _opened(submissions, work) if submissions.is_file() else submissions
    if not place.is_dir():
        raise UsageError(f"There is no '{submissions}'.", "Name the folder or the zip with the hand-ins.")
    if (place / ANSWERS).is_file():
        return [HandIn(place, place.resolve().name)]
    found = [one for entry in sorted(place.iterdir()) if not entry.name.startswith((".", "__")) for one in _of(entry)]
    if not found:
        raise UsageError(f"There is no hand-in in '{submissions}'.", "It should hold a zip for each student.")
    return found


def _of(entry: Path) -> list[HandIn]:
    label = entry.name
    if entry.is_dir() and not entry.is_symlink() and (found := _MOODLE.fullmatch(label)):
        inside = sorted(entry.iterdir()) or [entry]
        chosen = next((file for file in inside if file.suffix.lower() == ".zip"), entry)
        return [HandIn(chosen, label, moodle=found["number"])]
    if found := _CANVAS.fullmatch(label):
        return [HandIn(entry, label, canvas=found["number"])]
    return [HandIn(entry, label)]


def _opened(file: Path, work: Path) -> Path:
    """A download of a whole class, unpacked; or a single hand-in, which stays as it is."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if any(entry.filename.split("/")[-1] == ANSWERS for entry in entries):
                return _alone(file, work)
            if len(entries) > _MOST or sum(entry.file_size for entry in entries) > _LARGEST:
                raise UsageError(f"{file} is too large for a class.", "Unpack it yourself and name the folder.")
            for entry in entries:
                require_inside(entry.filename)
                if entry.filename.lower().endswith(".zip"):
                    archive.extract(entry, work)
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise UsageError(f"{file} cannot be opened: {error}.", "Download it again, or name a folder.") from None
    except Refused as error:
        raise UsageError(f"{file}: {error.problem}", "Unpack it yourself and name the folder.") from None
    return work


def _alone(file: Path, work: Path) -> Path:
    work.mkdir(parents=True, exist_ok=True)
    (work / file.name).hardlink_to(file) if file.stat().st_dev == work.stat().st_dev else _copied(file, work)
    return work


def _copied(file: Path, work: Path) -> None:
    (work / file.name).write_bytes(file.read_bytes())
