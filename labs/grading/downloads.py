"""What an instructor downloads: the hand-ins of a class, listed and taken out.

A download is a folder or an archive. An archive is opened in a process of its own
(labs.measuring.contained), as each hand-in is. A file in it that cannot be taken out is refused
alone; only a download that cannot be read on is refused as a whole, since the rest is
unknown.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from labs.grading.archives import (
    LARGEST_ARCHIVE,
    ArchiveLimits,
    ArchiveMember,
    Opener,
    Refusal,
    copy_limited,
    damage_refused,
    folder_members,
    members,
    name_problem,
    open_strangers_file,
)
from labs.measuring.contained import Allowance, contained_as
from topologies.errors import TcplabError, UsageError, is_disk_full

_MOST_FILES = 50_000  # in an archive
_MOST_IN_FOLDER = 500_000
_LARGEST = 20 << 30  # bytes of a whole class
_LIMITS = ArchiveLimits(_MOST_FILES, LARGEST_ARCHIVE)
_LONGEST_LIST = 12 << 20  # characters of JSON, which labs.measuring.contained limits
_ALLOWANCE = Allowance(seconds=1800.0)
_OF_NAMES = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG}
"""Errors that only the names of a hand-in cause, such as a file that is also a folder."""
_REMEDY = "Download it again, or unpack it yourself and name the folder."


@dataclass(frozen=True)
class DownloadFile:
    """A file as it lies in a download. `problem` is why it is not opened; `hostile`: its name."""

    path: str
    size: int = 0
    time: float = 0.0
    problem: str = ""
    hostile: bool = False


def files_in(submissions: Path) -> list[DownloadFile]:
    """Return every file of a download, in its order. Raises UsageError if that cannot be known."""
    if not submissions.exists():
        remedy = "Name the folder or the archive with the hand-ins."
        raise UsageError(f"There is no '{submissions}'.", remedy)
    try:
        if submissions.is_dir():
            return [_listed(member) for member, _ in folder_members(submissions, _MOST_IN_FOLDER)]
        place = str(submissions.resolve())
        return contained_as(list[DownloadFile], list_archive, place, allowance=_ALLOWANCE)
    except TcplabError as error:
        raise UsageError(f"{submissions} cannot be opened. {error.problem}", _REMEDY) from None


def _listed(member: ArchiveMember) -> DownloadFile:
    hostile = name_problem(member.name)
    problem = str(hostile or member.problem or "")
    return DownloadFile(member.name, member.size, member.time, problem, hostile is not None)


def list_archive(file: str) -> list[DownloadFile]:
    """Return the files of an archive, in a process of its own. Raises Refusal."""
    try:
        with open_strangers_file(Path(file)) as stream:
            files = list(_short_list(_listed(member) for member, _ in members(stream, _LIMITS)))
    except OSError as error:
        raise Refusal(f"It cannot be read ({error.strerror}).") from None
    if sum(file.size for file in files) > _LARGEST:
        raise Refusal(f"Unpacked it would be larger than {_LARGEST >> 30} GiB.")
    return files


def _short_list(files: Iterable[DownloadFile]) -> Iterator[DownloadFile]:
    length = 0
    for file in files:
        length += len(json.dumps(astuple(file)))
        if length > _LONGEST_LIST:
            raise Refusal("The names in it are too many or too long.")
        yield file


def extract(archive: Path, targets: Mapping[int, Path]) -> dict[int, str]:
    """Take files out of an archive by their places; why some could not be. Raises TcplabError."""
    if not targets:
        return {}
    places = {str(index): str(target) for index, target in targets.items()}
    inside = extract_inside, str(archive.resolve()), places
    return contained_as(dict[int, str], *inside, allowance=_ALLOWANCE)


def extract_inside(archive: str, targets: dict[str, str]) -> dict[str, str]:
    """Take files out in a limited process, which speaks JSON."""
    problems = {}
    try:
        with open_strangers_file(Path(archive)) as stream:
            for index, (member, opened) in enumerate(members(stream, _LIMITS)):
                if target := targets.get(str(index)):
                    problems[str(index)] = _problem(opened, Path(target), member.size)
    except OSError as error:
        problem = f"The download cannot be unpacked: {error.strerror}."
        remedy = (
            "Free space, or set TMPDIR."
            if is_disk_full(error)
            else "Check that you may read it, and write to TMPDIR."
        )
        raise TcplabError(problem, remedy) from None
    return {index: problem for index, problem in problems.items() if problem}


def _problem(opened: Opener, target: Path, size: int) -> str:
    """Take out one file; why it could not be."""
    try:
        with damage_refused(), opened() as content:
            copy_limited(content, target, size)
    except Refusal as refused:
        return str(refused)
    except OSError as error:
        if error.errno not in _OF_NAMES:
            raise
        return f"A name in it cannot be used ({error.strerror}): {target.name[:80]!r}."
    return ""
