"""The uploader of a file, by the name that Moodle or Canvas gives it in a download.

Moodle (mod/assign/classes/downloader.php) writes a folder `NAME_NUMBER_assignsubmission_PLUGIN` for
each student, or without folders that in front of each file's name; it takes underscores out of
names. Of a group's assignment the name and the number are the group's, and students without a group
have no number; older ones put `GROUP-` in front.

Canvas (lib/content_zipper.rb) writes `NAME[_LATE]_NUMBER_FILE_ORIGINAL`; FILE is its number of the
file and grows from upload to upload. It writes `anon_WORD` for name and number if they are hidden,
and `..._text.html` and `..._link.html` for typed text. To the name of a file that was handed in
before, it appends -1, -2 and so on.

The system's own words come first, and the rest is the student's: the first match counts, so that no
name of a file can speak of another student.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_MOODLE = re.compile(
    r"(?P<name>.{1,200}?)(?:_(?P<number>[0-9]{1,12}))?"
    r"_assignsubmission_(?P<plugin>[a-z0-9]{1,40})(?:_(?P<original>.*))?"
)
_FILE = r"(?:(?P<file>[0-9]{1,12})_(?P<original>.{1,255})|(?P<typed>text|link)\.html)"
_CANVAS = re.compile(rf"(?P<name>.{{1,200}}?)(?:_LATE)?_(?P<number>[0-9]{{1,12}})_{_FILE}")
_ANONYMOUS = re.compile(rf"(?P<name>)(?:LATE_)?anon_(?P<number>[0-9A-Za-z]{{1,40}})_{_FILE}")
_TYPED = ("onlinetext", "comments")
"""Moodle's plugins whose files hold what was typed into it."""
_AROUND_MOODLE, _AROUND_CANVAS = 2, 1
"""Folders that may be around an upload: of the download and of a group."""
_AGAIN = re.compile(r"(answers|assignment)-[0-9]{1,3}(\.toml|\.json)")


@dataclass(frozen=True)
class Upload:
    """The word of a course system on a file.

    `folder` is the folder that it named, empty if it named the file itself; `inside` is the name
    below that, as the student gave it. `file` is Canvas's number of the file, 0 of others. `typed`
    says that the student handed in no file.
    """

    system: Literal["moodle", "canvas"]
    name: str
    number: str
    folder: str
    inside: str
    file: int = 0
    typed: bool = False

    @property
    def key(self) -> str:
        """The same for everything that one student, or one group, uploaded."""
        return f"{self.system} {self.number or self.name}"

    @property
    def words(self) -> str:
        """As a person reads it."""
        return " ".join(word for word in (self.name, self.number) if word)


def upload_of(path: str) -> Upload | None:
    """The uploader of the file at a path in a download; None if no course system says it."""
    parts = path.split("/")
    for depth, part in enumerate(parts[: _AROUND_MOODLE + 1]):
        rest = "/".join(parts[depth + 1 :])
        folder = "/".join(parts[: depth + 1]) if rest else ""
        upload = _by_moodle(part, folder, rest)
        if upload is None and depth <= _AROUND_CANVAS:
            upload = _by_canvas(part, folder, rest)
        if upload:
            return upload
    return None


def _by_moodle(part: str, folder: str, rest: str) -> Upload | None:
    words = _MOODLE.fullmatch(part)
    if words is None:
        return None
    inside, typed = rest or words["original"] or part, words["plugin"] in _TYPED
    return Upload("moodle", words["name"], words["number"] or "", folder, inside, typed=typed)


def _by_canvas(part: str, folder: str, rest: str) -> Upload | None:
    words = _ANONYMOUS.fullmatch(part) or _CANVAS.fullmatch(part)
    if words is None:
        return None
    inside = rest or _AGAIN.sub(r"\1\2", words["original"] or part)
    file, typed = int(words["file"] or 0), bool(words["typed"])
    return Upload("canvas", words["name"], words["number"], folder, inside, file, typed)
