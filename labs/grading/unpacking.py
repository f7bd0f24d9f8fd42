"""A stranger's zip or folder, unpacked into an empty folder.

Only the files that a hand-in has are taken out. Names, kinds and claimed sizes are not
trusted. A hand-in is refused as a whole, with a sentence for its owner. Files that no hand-in needs
are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from labs.definition.answers import PREDICTIONS
from labs.definition.assignment import ANSWERS, FILE
from labs.definition.files import LARGEST_PICTURE
from labs.definition.runs import FOLDER, TYPED
from labs.grading.archives import (
    AGAIN,
    PACK,
    ArchiveLimits,
    ArchiveMember,
    Opener,
    Refusal,
    copy_limited,
    damage_refused,
    folder_members,
    members,
    open_strangers_file,
)

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
