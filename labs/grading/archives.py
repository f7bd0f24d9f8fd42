"""Files in a stranger's zip or folder, read within limits.

A zip lists its files in its directory, and each extracted file is checked against it.

A stranger's zip or folder, unpacked into an empty folder.

Only the files that a hand-in has are taken out. Names, kinds and claimed sizes are not
trusted. A hand-in is refused as a whole, with a sentence for its owner. Files that no hand-in needs
are passed over.
"""

from __future__ import annotations

import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from labs.definition.answers import LARGEST_PICTURE, PREDICTIONS
from labs.definition.assignment import ANSWERS, FILE
from labs.definition.runs import FOLDER, TYPED
from topologies import untrusted
from topologies.errors import TcplabError

_CHUNK = 1 << 16
_LARGEST_RATIO = 200  # text that repeats itself, such as samples of sockets, is packed 30 to 1
_RATIO_FROM = 4 << 20  # bytes from which the ratio counts
_LONGEST_NAME = 500  # characters
_DEEPEST = 12  # folders
PACK = "Hand in what ./tcplab lab pack makes."
AGAIN = "Pack and hand it in again."


class Refusal(TcplabError):
    """A stranger's file that is not opened; the sentence is for its owner."""


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of an archive: files, and bytes of one file."""

    files: int
    file: int


@dataclass(frozen=True)
class ArchiveMember:
    """A file in an archive or a folder: its name with slashes, and its size as claimed.

    `time` is when it was last changed, in seconds; it tells only which of two in one archive is
    newer. `problem` is why the file is not to be read.
    """

    name: str
    size: int
    time: float = 0.0
    problem: Refusal | None = None


Opener = Callable[[], IO[bytes]]


def open_strangers_file(file: Path) -> IO[bytes]:
    """Return a regular file, opened without following a link or waiting for a writer.

    Raises Refusal, OSError.
    """
    try:
        return untrusted.opened(file.parent, file.name)
    except untrusted.StrangeFile:
        raise link_problem(file.name) from None


def members(stream: IO[bytes], allowance: ArchiveLimits) -> Iterator[tuple[ArchiveMember, Opener]]:
    """Yield each file of a zip in its order, and how to read it. Raises Refusal."""
    with damage_refused(), zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > allowance.files:
            raise Refusal(f"It holds more than {allowance.files} files.", PACK)
        for entry in entries:
            name = _slashed(entry.filename)
            if not name.endswith("/"):
                problem = _problem(entry, name, allowance)
                member = ArchiveMember(name, entry.file_size, _time(entry), problem)
                yield member, partial(archive.open, entry)


def folder_members(root: Path, most: int) -> Iterator[tuple[ArchiveMember, Opener]]:
    """Yield the files and links of a folder in their order, without following a link.

    Raises Refusal if there are more than `most`, folders included.
    """
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        folders.sort()
        for name in (*sorted(files), *folders):
            count += 1
            if count > most:
                raise Refusal(f"It holds more than {most} files.", PACK)
            file = Path(place, name)
            status, inside = file.lstat(), file.relative_to(root).as_posix()
            if not stat.S_ISDIR(status.st_mode):
                problem = None if stat.S_ISREG(status.st_mode) else link_problem(inside)
                member = ArchiveMember(inside, status.st_size, status.st_mtime, problem)
                yield member, partial(open_strangers_file, file)


@contextmanager
def damage_refused() -> Iterator[None]:
    """Turn the errors of libraries at a damaged archive into Refusal, but not a full disk."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
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
    """Return the refusal of a member that is neither a file nor a folder."""
    return Refusal(f"It holds a link or a device: {name[:80]!r}.", "Hand in files only.")


def _slashed(name: str) -> str:
    """Return a name as it is compared, with plain slashes.

    Programs on Windows write backslashes, others `./` in front of every name. Only slashes are
    allowed in a zip (APPNOTE.TXT, section 4.4.17); a name that begins with one is left for
    name_problem.
    """
    return re.sub(r"(?<![^/])\./", "", name.replace("\\", "/"))


def _time(entry: zipfile.ZipInfo) -> float:
    """Return the time of a file's last change; some programs write zeros, which are no date."""
    try:
        return datetime(*entry.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _problem(entry: zipfile.ZipInfo, name: str, allowance: ArchiveLimits) -> Refusal | None:
    """Return why a file is not to be read, by what the zip's directory says of it."""
    if problem := name_problem(name):
        return problem
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return link_problem(name)
    if entry.flag_bits & 1:
        return Refusal("It is encrypted.", "Hand it in without a password.")
    size, most = entry.file_size, _LARGEST_RATIO * max(1, entry.compress_size)
    if size > allowance.file:
        return Refusal(f"It is larger than {allowance.file >> 20} MiB.", PACK)
    if size > max(_RATIO_FROM, most):
        return Refusal("It would unpack to very much more than it is.", PACK)
    return None


_MOST_FILES = 5000
LARGEST_ARCHIVE = 256 << 20  # bytes
_LARGEST_FILE = 256 << 20
_LARGEST_WHOLE = 512 << 20
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"
_RAW = rf"raw/seed-[0-9]{{1,19}}/(?:{_NAME}/)?{_NAME}"
_RUN = re.compile(rf"{FOLDER}/{_NAME}(?:/{_NAME}/{_NAME})?/(?:manifest\.json|spec\.json|{_RAW})")
_BESIDE = re.compile(rf"{_NAME}\.(?:png|jpg|jpeg|c|pkt|py)", re.IGNORECASE)
_BY_MACHINE = re.compile(
    r"(^|/)(__MACOSX|\.git)/|(^|/)(\.[^/]*|Thumbs\.db|desktop\.ini)$", re.IGNORECASE
)


def wanted(name: str) -> bool:
    """Return whether a hand-in has a file of that name."""
    own = name in (FILE, ANSWERS, PREDICTIONS, TYPED)
    return own or bool(_RUN.fullmatch(name)) or bool(_BESIDE.fullmatch(name))


def by_machine(name: str) -> bool:
    """Return whether macOS, Windows or git left that file."""
    return bool(_BY_MACHINE.search(name))


def unpack(source: Path, target: Path) -> list[str]:
    """Copy what is wanted of an archive or a folder; the names. Raises Refusal."""
    if source.is_symlink() or not (source.is_file() or source.is_dir()):
        raise Refusal("It is neither a file nor a folder.", PACK)
    try:
        return _unpacked(source, target)
    except OSError as error:
        raise Refusal(f"It cannot be unpacked ({error.strerror}).", AGAIN) from None


def _unpacked(source: Path, target: Path) -> list[str]:
    """Check all members before the first is copied, so that a refusal leaves no files."""
    offered = [member for member, _ in _offered(source)]
    root = _root([member.name for member in offered if not by_machine(member.name)])
    _check(offered, root, strict=not source.is_dir())
    names, left = [], _LARGEST_WHOLE
    for member, opened in _offered(source):
        inside = _inside(member.name, root)
        if wanted(inside) and not by_machine(member.name):
            with damage_refused(), opened() as stream:
                left -= copy_limited(stream, target / inside, min(left, _limit(inside)))
            names.append(inside)
    return names


def _offered(source: Path) -> Iterator[tuple[ArchiveMember, Opener]]:
    if source.is_dir():
        yield from folder_members(source, _MOST_FILES)
        return
    with open_strangers_file(source) as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST_ARCHIVE:
            raise Refusal(f"It is larger than {LARGEST_ARCHIVE >> 20} MiB.", PACK)
        yield from members(stream, ArchiveLimits(_MOST_FILES, _LARGEST_FILE))


def _check(offered: list[ArchiveMember], root: str, strict: bool) -> None:
    """Raises Refusal. Of a folder, only links that stand for something wanted are refused."""
    for member in offered:
        if member.problem and (strict or wanted_or_above(_inside(member.name, root))):
            raise member.problem
    names = [member.name for member in offered if not by_machine(member.name)]
    if len(set(names)) < len(names):
        raise Refusal("It holds a file twice.", PACK)
    if sum(member.size for member in offered) > _LARGEST_WHOLE and strict:
        raise Refusal(
            f"Unpacked it would be larger than {_LARGEST_WHOLE >> 20} MiB.",
            "Hand in shorter captures.",
        )


def _root(names: list[str]) -> str:
    """The one folder around everything, if the folder was packed instead of what is in it."""
    if ANSWERS in names:
        return ""
    sheets = [name for name in names if name.endswith(f"/{ANSWERS}") and name.count("/") <= 2]
    return sheets[0].removesuffix(ANSWERS) if len(sheets) == 1 else ""


def _inside(name: str, root: str) -> str:
    """Return the name below the root; empty if it lies elsewhere."""
    return name.removeprefix(root) if name.startswith(root) else ""


def _limit(name: str) -> int:
    return LARGEST_PICTURE if _BESIDE.fullmatch(name) else _LARGEST_FILE


def wanted_or_above(name: str) -> bool:
    """Return whether a link of that name would replace a wanted file; a lab's `latest` does not."""
    in_runs = name.startswith(f"{FOLDER}/") and not name.endswith("/latest")
    return wanted(name) or in_runs or name == FOLDER
