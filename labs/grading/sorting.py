"""The files of a download sorted into hand-ins, by their names alone.

Whose a file is, the course system says (labs.grading.uploads). Of what one student uploaded, each archive and each
folder with answers is a hand-in; so it is with files of which no course system speaks. Every file ends in one parcel,
or among the others with its reason.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from labs.assignment import ANSWERS, FILE
from labs.grading.download import DownloadFile
from labs.grading.unpack import by_machine
from labs.grading.uploads import Upload, upload_of

_ARCHIVE = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))", re.IGNORECASE | re.DOTALL)
_LAST = "\U0010ffff"  # sorts behind every name
_BY_MACHINE = "left by a computer, not by a student"
_TYPED = "typed into the course system, no file"
_BESIDE = "no hand-in, beside one of the same student"
_NOBODYS = "no hand-in, and in no folder of one"
_LOOSE = "loose beside hand-ins, so nobody knows whose it is"


@dataclass(frozen=True)
class Parcel:
    """A hand-in before it is opened. `files` are its files by their places in the download, with their names inside.

    `packed` says that it is one archive; `folder` is the path of the folder that it is, None if it is scattered.
    """

    label: str
    files: Mapping[int, str]
    upload: Upload | None = None
    packed: bool = False
    folder: str | None = None


@dataclass(frozen=True)
class Reason:
    """Why a file is in no hand-in. `look` says that a person should know; `whose` is the course system's word."""

    text: str
    look: bool = False
    whose: str = ""


@dataclass
class Sorting:
    """How files are sorted. Each is in one of the `parcels` or has a reason among the `others`, by its place."""

    parcels: list[Parcel] = field(default_factory=list)
    others: dict[int, Reason] = field(default_factory=dict)

    def leave(self, indices: Iterable[int], text: str, look: bool, whose: str = "") -> None:
        """These are in no hand-in."""
        self.others |= {index: Reason(text, look, whose) for index in indices}


@dataclass(frozen=True)
class _Group:
    """What belongs together: names by their places in the download, as the student gave them."""

    names: dict[int, str]
    in_order: list[tuple[str, int]]

    @classmethod
    def of(cls, names: dict[int, str]) -> _Group:
        return cls(names, sorted((name, index) for index, name in names.items()))

    def beneath(self, root: str) -> dict[int, str]:
        """The names below a folder, whose path ends in a slash or is empty."""
        first, last = bisect_left(self.in_order, (root,)), bisect_left(self.in_order, (root + _LAST,))
        return {index: name.removeprefix(root) for name, index in self.in_order[first:last]}

    def roots(self) -> list[str]:
        """The folders with answers."""
        folders = {name.removesuffix(ANSWERS) for name in self.names.values() if name.rpartition("/")[2] == ANSWERS}
        return sorted(folders)


def sorted_out(files: Sequence[DownloadFile]) -> Sorting:
    """Every file in one parcel or among the others."""
    sorting = Sorting()
    groups: dict[str, dict[int, Upload]] = defaultdict(dict)
    unnamed: dict[int, str] = {}
    owned: dict[int, str] = {}
    for index, file in enumerate(files):
        if by_machine(file.path):
            sorting.leave([index], _BY_MACHINE, False)
        elif file.hostile:
            sorting.leave([index], file.problem, True)
        elif upload := upload_of(file.path):
            groups[upload.key][index] = upload
            owned[index] = file.path
        else:
            unnamed[index] = file.path
    for uploads in groups.values():
        _sort_upload(sorting, owned, uploads)
    _sort_unnamed(sorting, _Group.of(unnamed), _Group.of(owned))
    return sorting


def _sort_upload(sorting: Sorting, paths: Mapping[int, str], uploads: Mapping[int, Upload]) -> None:
    """What one student, or one group, uploaded. Whoever handed in no hand-in is told so: all is taken for one."""
    folders: dict[str, dict[int, str]] = defaultdict(dict)
    for index, upload in uploads.items():
        if not upload.typed:
            folders[upload.folder][index] = upload.inside
    parcels = [
        _named(found, folder, paths, uploads)
        for folder, names in folders.items()
        for found in _split(_Group.of(names), named=True)
    ]
    if not parcels:
        wholes = (_Found(names, "", len(names) == 1) for names in folders.values())
        parcels = [_named(whole, folder, paths, uploads) for folder, whole in zip(folders, wholes, strict=True)]
    sorting.parcels += parcels
    taken = {index for parcel in parcels for index in parcel.files}
    typed = {index for index, upload in uploads.items() if upload.typed}
    whose = next(iter(uploads.values())).words
    sorting.leave(uploads.keys() - taken - typed, _BESIDE, False, whose)
    sorting.leave(typed, _TYPED, not parcels, whose)


def _named(found: _Found, folder: str, paths: Mapping[int, str], uploads: Mapping[int, Upload]) -> Parcel:
    first = min(found.names)
    if found.packed or not folder:
        return Parcel(paths[first], found.names, uploads[first], found.packed)
    whole = f"{folder}/{found.root}".rstrip("/")
    return Parcel(whole, found.names, uploads[first], folder=whole)


@dataclass(frozen=True)
class _Found:
    """A hand-in in a group: its names inside, the folder around them, and whether it is an archive."""

    names: dict[int, str]
    root: str
    packed: bool


def _split(group: _Group, named: bool, owned: _Group | None = None) -> Iterator[_Found]:
    """The hand-ins of a group.

    Loose answers that lie above other hand-ins are one of their own only if it is known whose they are.
    """
    taken: set[int] = set()
    roots = group.roots()
    for root in roots:
        beneath = group.beneath(root)
        if not taken & beneath.keys() and _is_whole(beneath, owned.beneath(root) if owned else {}):
            taken |= beneath.keys()  # with every folder in it: an outer one is sorted before
            yield _Found(beneath, root, False)
    for index, name in group.names.items():
        if index not in taken and _ARCHIVE.fullmatch(name):
            taken.add(index)
            yield _Found({index: name}, "", True)
    for root in reversed(roots) if named else ():
        if rest := {index: name for index, name in group.beneath(root).items() if index not in taken}:
            taken |= rest.keys()
            yield _Found(rest, root, False)


def _is_whole(beneath: Mapping[int, str], owned: Mapping[int, str]) -> bool:
    """Whether a folder with answers is one hand-in: nothing else in it is.

    In a lab's own folder lies the zip that `lab pack` made of it, and perhaps a copy of the answers.
    """
    names = set(beneath.values())
    lab = FILE in names
    inner = {name.removesuffix(ANSWERS) for name in names if name.endswith(f"/{ANSWERS}")}
    rivals = [folder for folder in inner if not lab or folder + FILE in names]
    archives = [name for name in names if _ARCHIVE.fullmatch(name)]
    copies = 1 if lab and len(archives) == 1 and "/" not in archives[0] else 0
    return not rivals and not owned and len(archives) == copies


def _sort_unnamed(sorting: Sorting, group: _Group, owned: _Group) -> None:
    """Files of which no course system speaks. A folder beside hand-ins that holds none is taken for one."""
    for found in _split(group, False, owned):
        path = group.names[min(found.names)]
        folder = None if found.packed else found.root.rstrip("/")
        sorting.parcels.append(Parcel(path if folder is None else folder, found.names, None, found.packed, folder))
    taken = {index for parcel in sorting.parcels for index in parcel.files}
    known = {name.partition("/")[0] for name in owned.names.values()}
    known |= {name.partition("/")[0] for index, name in group.names.items() if index in taken}
    loose = {index for root in group.roots() for index in group.beneath(root)}
    others: dict[str, dict[int, str]] = defaultdict(dict)
    for index in sorted(group.names.keys() - taken):
        top, _, inside = group.names[index].partition("/")
        if inside and known and top not in known:
            others[top][index] = inside
        else:
            sorting.leave([index], _LOOSE if index in loose else _NOBODYS, True)
    sorting.parcels += [Parcel(top, names, None, False, top) for top, names in others.items()]
