"""A stranger's zip or folder into an empty folder of ours: the files that a hand-in has, and nothing else.

Nothing is trusted: not the names, not the kinds, not the sizes that a zip claims. What is refused is refused as a
whole, with a sentence for its owner. Files that no hand-in needs are passed over.
"""

from __future__ import annotations

import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from labs.assignment import ANSWERS, FILE
from labs.pictures import LARGEST as LARGEST_PICTURE
from labs.runs import FOLDER
from topologies.errors import TcplabError

_MOST_FILES = 5000
_LARGEST_ARCHIVE = 256 << 20  # bytes
_LARGEST_FILE = 256 << 20
_LARGEST_WHOLE = 512 << 20
_LARGEST_RATIO = 200  # text that repeats itself, such as samples of sockets, is packed 30 to 1
_RATIO_FROM = 4 << 20  # bytes from which the ratio counts
_CHUNK = 1 << 16
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"
_RUN = re.compile(
    rf"{FOLDER}/{_NAME}(?:/{_NAME}/{_NAME})?/(?:manifest\.json|spec\.json|raw/seed-\d{{1,19}}/(?:{_NAME}/)?{_NAME})"
)
_BESIDE = re.compile(rf"{_NAME}\.(?:png|jpg|jpeg|c)", re.IGNORECASE)
_NOTICED = re.compile(r"(^|/)(__MACOSX|\.DS_Store|\.git)(/|$)")


class Refused(TcplabError):
    """A hand-in that is not opened; the sentence is for its owner."""


@dataclass(frozen=True)
class _Member:
    """A file that is offered: its name inside, its size as claimed, and how to read it."""

    name: str
    size: int
    packed: int


def wanted(name: str) -> bool:
    """Whether a hand-in has a file of that name."""
    return name in (FILE, ANSWERS) or bool(_RUN.fullmatch(name)) or bool(_BESIDE.fullmatch(name))


def unpack(source: Path, target: Path) -> list[str]:
    """Copy what is wanted of a zip or a folder; the names. Raises Refused."""
    if source.is_symlink() or not (source.is_file() or source.is_dir()):
        raise Refused("It is neither a file nor a folder.", "Hand in the zip that ./tcplab lab pack makes.")
    return _folder(source, target) if source.is_dir() else _zip(source, target)


def _zip(source: Path, target: Path) -> list[str]:
    if source.stat().st_size > _LARGEST_ARCHIVE:
        raise Refused(f"It is larger than {_LARGEST_ARCHIVE >> 20} MiB.", "Hand in what ./tcplab lab pack makes.")
    try:
        with zipfile.ZipFile(source) as archive:
            members = [_checked(entry) for entry in _entries(archive)]
            _check_whole([member for member in members if member])
            root = _root([member.name for member in members if member])
            left = _LARGEST_WHOLE
            found = []
            for entry, member in zip(_entries(archive), members, strict=True):
                inside = member.name.removeprefix(root) if member else ""
                if wanted(inside):
                    with archive.open(entry) as stream:
                        left -= _copy(stream, target / inside, min(left, _limit(inside)))
                    found.append(inside)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise Refused(f"It is no whole zip file ({str(error)[:120]}).", "Pack and hand it in again.") from None
    except OSError as error:
        raise Refused(f"It cannot be unpacked ({error.strerror}).", "Pack and hand it in again.") from None
    except (zlib.error, lzma.LZMAError, struct.error):
        raise Refused("Its compressed data is damaged.", "Pack and hand it in again.") from None
    return found


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > _MOST_FILES:
        raise Refused(f"It holds more than {_MOST_FILES} files.", "Hand in what ./tcplab lab pack makes.")
    return entries


def _checked(entry: zipfile.ZipInfo) -> _Member | None:
    """What may be read of an entry; None for a folder. Raises Refused for what has no place in a hand-in."""
    name, mode = entry.filename, entry.external_attr >> 16
    require_inside(name)
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refused(f"It holds a link or a device: {name[:80]!r}.", "Hand in files only.")
    if entry.flag_bits & 1:
        raise Refused("It is encrypted.", "Hand it in without a password.")
    if entry.is_dir() or _NOTICED.search(name):
        return None
    return _Member(name, entry.file_size, entry.compress_size)


def require_inside(name: str) -> None:
    """Raises Refused for a name that leads out of its folder."""
    parts = name.split("/")
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts or re.match(r"[A-Za-z]:", name):
        raise Refused(f"A file in it would leave its folder: {name[:80]!r}.", "Hand in what ./tcplab lab pack makes.")
    if len(name) > 500 or len(parts) > 12:
        raise Refused("A name in it is too long.", "Hand in what ./tcplab lab pack makes.")


def _check_whole(members: list[_Member]) -> None:
    names = [member.name for member in members]
    if len(set(names)) < len(names):
        raise Refused("It holds a file twice.", "Hand in what ./tcplab lab pack makes.")
    if sum(member.size for member in members) > _LARGEST_WHOLE:
        raise Refused(f"Unpacked it would be larger than {_LARGEST_WHOLE >> 20} MiB.", "Hand in shorter captures.")
    for member in members:
        if member.size > _RATIO_FROM and member.size > _LARGEST_RATIO * max(1, member.packed):
            raise Refused("It would unpack to very much more than it is.", "Hand in what ./tcplab lab pack makes.")


def _root(names: list[str]) -> str:
    """The one folder around everything, where someone has packed the folder instead of what is in it."""
    if ANSWERS in names:
        return ""
    places = [name.removesuffix(ANSWERS) for name in names if name.endswith(f"/{ANSWERS}") and name.count("/") <= 2]
    return places[0] if len(places) == 1 else ""


def _limit(name: str) -> int:
    return LARGEST_PICTURE if _BESIDE.fullmatch(name) else _LARGEST_FILE


def _copy(stream: IO[bytes], target: Path, limit: int) -> int:
    """Copy at most `limit` bytes, whatever size was claimed: how many they were. Raises Refused for more."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as out:
        while chunk := stream.read(_CHUNK):
            written += len(chunk)
            if written > limit:
                raise Refused(f"{target.name} is larger than it may be.", "Hand in what ./tcplab lab pack makes.")
            out.write(chunk)
    return written


def _folder(source: Path, target: Path) -> list[str]:
    """The same of a folder, which is read without following a link."""
    found_inside = (file for pattern in ("*", "*/*") for file in source.glob(f"{pattern}/{ANSWERS}"))
    inner = next((file.parent for file in found_inside), source)
    root = source if (source / ANSWERS).is_file() else inner
    found, left = [], _LARGEST_WHOLE
    for name, file in _files(root):
        if wanted(name):
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                left -= _copy(stream, target / name, min(left, _limit(name)))
            found.append(name)
    return found


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    for place, folders, files in os.walk(root, followlinks=False):
        for name in (*folders, *files):
            count += 1
            file = Path(place, name)
            mode = file.lstat().st_mode
            inside = file.relative_to(root).as_posix()
            if count > _MOST_FILES:
                raise Refused(f"It holds more than {_MOST_FILES} files.", "Hand in what ./tcplab lab pack makes.")
            if stat.S_ISREG(mode):
                yield inside, file
            elif not stat.S_ISDIR(mode) and wanted_or_above(inside):
                raise Refused(f"It holds a link or a device: {inside[:80]!r}.", "Hand in files only.")


def wanted_or_above(name: str) -> bool:
    """Whether a link of that name would stand for something wanted; `latest` of a lab's own folder does not."""
    return wanted(name) or (name.startswith(f"{FOLDER}/") and not name.endswith("/latest")) or name == FOLDER
