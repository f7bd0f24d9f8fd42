"""packetdrill scripts as they are found: read, checked, and with the files that they call.

A script may come from a stranger. It is read here, and run only in a guest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from topologies.foundation.errors import UsageError

LONGEST = 1 << 20
"""Bytes of a script or of a file that it calls; the longest of the kernel's has 12 000."""
_MOST_SCRIPTS = 5000
_WORD = re.compile(r"[\w.+-]+")
SUFFIX = ".pkt"


@dataclass(frozen=True)
class Script:
    """A script: what it is called, its text, and the files beside it that it may call, by name."""

    name: str
    text: str
    beside: Mapping[str, bytes]

    @property
    def file(self) -> str:
        """The name of its file in the guest, which packetdrill's messages have."""
        return Path(self.name).name

    def line(self, number: int) -> str:
        """The text of a line, from 1."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def files(self) -> dict[str, bytes]:
        """Itself and what it calls, by name."""
        return {**self.beside, self.file: self.text.encode()}


def scripts_in(places: tuple[Path, ...], helpers: Mapping[str, bytes]) -> list[Script]:
    """The scripts of files and folders, in the order given; those of a folder by name.

    `helpers` are files that a script may call though they are not beside it. Raises UsageError.
    """
    found = [script for place in places for script in _at(place)]
    if len(found) > _MOST_SCRIPTS:
        raise UsageError(f"{len(found)} scripts are too many at once.", "Name a folder with fewer.")
    return [_script(file, name, helpers) for file, name in found]


def _at(place: Path) -> list[tuple[Path, str]]:
    """The files of a place, each with the name that it is shown by."""
    if not place.is_dir():
        return [(place, str(place))]
    files = sorted(file for file in place.rglob(f"*{SUFFIX}") if file.is_file())
    if not files:
        raise UsageError(f"{place} holds no script.", f"A script's name ends in {SUFFIX}.")
    return [(file, str(file)) for file in files]


def _script(file: Path, name: str, helpers: Mapping[str, bytes]) -> Script:
    text = _text(file)
    near = {other.name: other for other in file.resolve().parent.iterdir() if other.is_file()}
    words = called(text)
    beside = {other: content for other, content in helpers.items() if other in words}
    beside |= {other: _small(place) for other, place in near.items() if other in words}
    return Script(name, text, beside)


def called(text: str) -> set[str]:
    """All words of a script that may be names of files that it calls; no scripts."""
    return {word for word in _WORD.findall(text) if not word.endswith(SUFFIX)}


def _text(file: Path) -> str:
    """The text of a script. Raises UsageError for what is none."""
    content = _small(file)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{file} is no script: it is not text.", "Name a packetdrill script.")
    if not text.strip():
        raise UsageError(f"{file} is empty.", "Name a packetdrill script.")
    return text


def _small(file: Path) -> bytes:
    """The content of a regular file. Raises UsageError."""
    try:
        if not file.is_file():
            raise UsageError(
                f"There is no file {file}." if not file.exists() else f"{file} is no regular file.",
                "Name a packetdrill script, or a folder of them.",
            )
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if len(content) > LONGEST:
        raise UsageError(f"{file} is too long for a script: more than {LONGEST >> 20} MiB.")
    return content
