"""Files in a stranger's zip or folder, and a whole download, read within limits.

A zip lists its files in its directory, and each extracted file is checked against it. A download
with the hand-ins of a class is a folder or an archive. An archive is opened in a limited process
(labs.measuring.contained), as each hand-in is. A file in it that cannot be extracted is refused
alone; only a download that cannot be read on is refused as a whole.
"""

import errno
import json
import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from labs.measuring.contained import Allowance, contained_as
from topologies import untrusted
from topologies.errors import TcplabError, UsageError, is_disk_full

_CHUNK = 1 << 16
_LARGEST_RATIO = 200  # text that repeats itself, such as samples of sockets, is packed 30 to 1
_RATIO_FROM = 4 << 20  # bytes from which the ratio counts
_LONGEST_NAME = 500  # characters
_DEEPEST = 12  # folders
LARGEST_ARCHIVE = 256 << 20  # bytes
PACK = "Hand in what ./tcplab lab pack makes."
AGAIN = "Pack and hand it in again."
_BY_MACHINE = re.compile(
    r"(^|/)(__MACOSX|\.git)/|(^|/)(\.[^/]*|Thumbs\.db|desktop\.ini)$", re.IGNORECASE
)


class Refusal(TcplabError):
    """A stranger's file that is not opened; the sentence is for its owner."""


@dataclass(frozen=True)
class DownloadFile:
    """A file in an archive or a folder: its path with slashes, and its size as claimed.

    `time` is when it was last changed, in seconds; it tells only which of two in one archive is
    newer. `problem` is why the file is not to be read; `hostile`: for its name.
    """

    path: str
    size: int = 0
    time: float = 0.0
    problem: str = ""
    hostile: bool = False


Opener = Callable[[], IO[bytes]]


def by_machine(name: str) -> bool:
    """Return whether macOS, Windows or git left that file."""
    return bool(_BY_MACHINE.search(name))


def open_strangers_file(file: Path) -> IO[bytes]:
    """Return a regular file, opened without following a link. Raises Refusal, OSError."""
    try:
        return untrusted.opened(file.parent, file.name)
    except untrusted.StrangeFile:
        raise link_problem(file.name) from None


def members(stream: IO[bytes], most: int, largest: int) -> Iterator[tuple[DownloadFile, Opener]]:
    """Yield each of at most `most` files of a zip, and how to read it. Raises Refusal."""
    with damage_refused(), zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > most:
            raise Refusal(f"It holds more than {most} files.", PACK)
        for entry in entries:
            # Programs on Windows write backslashes, others `./` in front of every name. Only
            # slashes are allowed in a zip (APPNOTE.TXT, section 4.4.17).
            name = re.sub(r"(?<![^/])\./", "", entry.filename.replace("\\", "/"))
            if not name.endswith("/"):
                time = 0.0
                with suppress(ValueError):  # some programs write zeros
                    time = datetime(*entry.date_time, tzinfo=UTC).timestamp()
                problem = str(_problem(entry, name, largest) or "")
                member = DownloadFile(name, entry.file_size, time, problem)
                yield member, partial(archive.open, entry)


def folder_members(root: Path, most: int) -> Iterator[tuple[DownloadFile, Opener]]:
    """Yield at most `most` files and links of a folder, following no link. Raises Refusal."""
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        folders.sort()
        for file in (Path(place, name) for name in (*sorted(files), *folders)):
            count += 1
            if count > most:
                raise Refusal(f"It holds more than {most} files.", PACK)
            status, inside = file.lstat(), file.relative_to(root).as_posix()
            if not stat.S_ISDIR(status.st_mode):
                problem = "" if stat.S_ISREG(status.st_mode) else str(link_problem(inside))
                member = DownloadFile(inside, status.st_size, status.st_mtime, problem)
                yield member, partial(open_strangers_file, file)


@contextmanager
def damage_refused() -> Iterator[None]:
    """Turn the errors of libraries at a damaged archive into Refusal, but not a full disk."""
    errors = zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, ValueError
    try:
        yield
    except errors as error:
        raise Refusal(f"It is no whole zip file ({str(error)[:120]}).", PACK) from None
    except (zlib.error, lzma.LZMAError, struct.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Refusal("Its compressed data is damaged.", AGAIN) from None


def copy_limited(stream: IO[bytes], target: Path, limit: int) -> int:
    """Copy a stream, and return its bytes. Raises Refusal for more than `limit`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as out:
        while chunk := stream.read(_CHUNK):
            written += len(chunk)
            if written > limit:
                raise Refusal(f"{target.name} is larger than it may be.", PACK)
            out.write(chunk)
    return written


def name_problem(name: str) -> Refusal | None:
    """Return the problem of a name with slashes: it leads out of its folder, or is too long."""
    parts = name.split("/")
    if name.startswith("/") or "\0" in name or ".." in parts or re.match(r"[A-Za-z]:", name):
        return Refusal(f"A file in it would leave its folder: {name[:80]!r}.", PACK)
    if len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
        return Refusal("A name in it is too long.", PACK)
    return None


def link_problem(name: str) -> Refusal:
    return Refusal(f"It holds a link or a device: {name[:80]!r}.", "Hand in files only.")


def _problem(entry: zipfile.ZipInfo, name: str, largest: int) -> Refusal | None:
    if problem := name_problem(name):
        return problem
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return link_problem(name)
    if entry.flag_bits & 1:
        return Refusal("It is encrypted.", "Hand it in without a password.")
    if entry.file_size > largest:
        return Refusal(f"It is larger than {largest >> 20} MiB.", PACK)
    if entry.file_size > max(_RATIO_FROM, _LARGEST_RATIO * max(1, entry.compress_size)):
        return Refusal("It would unpack to very much more than it is.", PACK)
    return None


_LIMITS = 50_000, LARGEST_ARCHIVE  # files of a download's archive, and bytes of one
_MOST_IN_FOLDER = 500_000
_LARGEST = 20 << 30  # bytes of a whole class
_LONGEST_LIST = 12 << 20  # characters of JSON, which labs.measuring.contained limits
_ALLOWANCE = Allowance(seconds=1800.0)
_OF_NAMES = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG}
"""Errors that only the names of a hand-in cause, such as a file that is also a folder."""


def files_in(submissions: Path) -> list[DownloadFile]:
    """Return every file of a download, in its order. Raises UsageError if that cannot be known."""
    if not submissions.exists():
        remedy = "Name the folder or the archive with the hand-ins."
        raise UsageError(f"There is no '{submissions}'.", remedy)
    try:
        if submissions.is_dir():
            return [_named(file) for file, _ in folder_members(submissions, _MOST_IN_FOLDER)]
        place = submissions.resolve()
        return contained_as(list[DownloadFile], list_archive, place, allowance=_ALLOWANCE)
    except TcplabError as error:
        remedy = "Download it again, or unpack it yourself and name the folder."
        raise UsageError(f"{submissions} cannot be opened. {error.problem}", remedy) from None


def _named(file: DownloadFile) -> DownloadFile:
    hostile = name_problem(file.path)
    return replace(file, problem=str(hostile or file.problem), hostile=hostile is not None)


def list_archive(archive: Path) -> list[DownloadFile]:
    """Return the files of an archive, in a process of its own. Raises Refusal."""
    files, length = [], 0
    try:
        with open_strangers_file(archive) as stream:
            for file in (_named(member) for member, _ in members(stream, *_LIMITS)):
                length += len(json.dumps(astuple(file)))
                if length > _LONGEST_LIST:
                    raise Refusal("The names in it are too many or too long.")
                files.append(file)
    except OSError as error:
        raise Refusal(f"It cannot be read ({error.strerror}).") from None
    if sum(file.size for file in files) > _LARGEST:
        raise Refusal(f"Unpacked it would be larger than {_LARGEST >> 30} GiB.")
    return files


def extract(archive: Path, targets: Mapping[int, Path]) -> dict[int, str]:
    """Take files out of an archive by their indices; why some could not be. Raises TcplabError."""
    if not targets:
        return {}
    inside = extract_inside, archive.resolve(), dict(targets)
    return contained_as(dict[int, str], *inside, allowance=_ALLOWANCE)


def extract_inside(archive: Path, targets: Mapping[int, Path]) -> dict[int, str]:
    problems = {}
    try:
        with open_strangers_file(archive) as stream:
            for index, (member, opened) in enumerate(members(stream, *_LIMITS)):
                if target := targets.get(index):
                    problems[index] = _extraction_problem(opened, target, member.size)
    except OSError as error:
        by_permission = "Check that you may read it, and write to TMPDIR."
        remedy = "Free space, or set TMPDIR." if is_disk_full(error) else by_permission
        problem = f"The download cannot be unpacked: {error.strerror}."
        raise TcplabError(problem, remedy) from None
    return {index: problem for index, problem in problems.items() if problem}


def _extraction_problem(opened: Opener, target: Path, size: int) -> str:
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
