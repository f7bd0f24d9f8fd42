"""Downloads as Moodle, Canvas and people make them, written as a folder or a zip."""

import io
import json
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from labs.definition.assignment import ANSWERS, FILE
from tests.labs.conftest import COURSE

SHEET = b'[answers]\ngoodput_off = "231 kbit/s"\n'
WHEN = 1_700_000_000
"""Seconds since the epoch: when files of a download were changed, if nothing else is said."""


def hand_in(student: str) -> dict[str, bytes]:
    """A hand-in without runs, as names and contents."""
    variant = {"lab": "sack", "student": student, "course": COURSE.name, "values": [], "seed": 1}
    return {FILE: json.dumps({"format": 1, "variant": variant}).encode(), ANSWERS: SHEET}


def below(folder: str, members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in members.items()}


def zip_of(members: Mapping[str, bytes], when: Mapping[str, int] | None = None) -> bytes:
    """A zip; `when` gives times of its files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, time.gmtime((when or {}).get(name, WHEN))[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    return stream.getvalue()


def folder_of(place: Path, members: Mapping[str, bytes]) -> Path:
    """The same as a folder."""
    place.mkdir(parents=True, exist_ok=True)
    for name, content in members.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def written(place: Path, members: Mapping[str, bytes], form: str) -> Path:
    """A download in one of the forms that people have: `folder`, `zip`."""
    if form == "folder":
        return folder_of(place / "download", members)
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"download.{form}"
    file.write_bytes(zip_of(members))
    return file
