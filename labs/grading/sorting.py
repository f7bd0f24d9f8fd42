"""Files of a download sorted into hand-ins, by their names alone.

Moodle (mod/assign/classes/downloader.php) writes a folder `NAME_NUMBER_assignsubmission_PLUGIN` for
each student, or without folders a prefix of that form to each file's name. It removes underscores
from names. In a group's assignment, name and number are the group's, and students without a group
have no number; older versions put `GROUP-` in front.

Canvas (lib/content_zipper.rb) writes `NAME[_LATE]_NUMBER_FILE_ORIGINAL`; FILE is its number of the
file and grows from upload to upload. It writes `anon_WORD` for name and number if they are hidden,
and `..._text.html` and `..._link.html` for typed text. To the name of a file that was handed in
before, it appends -1, -2 and so on.

The system's part of a name comes first, and the first match counts, so that a student's part cannot
name another student. Of one student, each archive and each folder with answers is a hand-in. Every
file ends in one parcel, or among the others with its reason.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from labs.definition.assignment import ANSWERS, FILE
from labs.grading.archives import DownloadFile, by_machine

_MOODLE = re.compile(
    r"(?P<name>.{1,200}?)(?:_(?P<number>[0-9]{1,12}))?"
    r"_assignsubmission_(?P<plugin>[a-z0-9]{1,40})(?:_(?P<original>.*))?"
)
_FILE = r"(?:(?P<file>[0-9]{1,12})_(?P<original>.{1,255})|(?P<typed>text|link)\.html)"
_CANVAS = re.compile(rf"(?P<name>.{{1,200}}?)(?P<late>_LATE)?_(?P<number>[0-9]{{1,12}})_{_FILE}")
_ANONYMOUS = re.compile(rf"(?P<name>)(?P<late>LATE_)?anon_(?P<number>[0-9A-Za-z]{{1,40}})_{_FILE}")
_TYPED_IN = ("onlinetext", "comments")  # Moodle's plugins whose files hold what was typed into it
_AROUND_MOODLE, _AROUND_CANVAS = 2, 1
"""Folders that may be around an upload: of the download and of a group."""
_AGAIN = re.compile(r"(answers|assignment)-[0-9]{1,3}(\.toml|\.json)")


@dataclass(frozen=True)
class Upload:
    """The word of a course system on a file.

    `folder` is the folder that it named, empty if it named the file itself; `inside` is the name
    below that, as the student gave it. `file` is Canvas's number of the file, 0 of others. `typed`
    says that the student handed in no file, `late` that Canvas marks it so.
    """

    system: Literal["moodle", "canvas"]
    name: str
    number: str
    folder: str
    inside: str
    file: int = 0
    typed: bool = False
    late: bool = False

    @property
    def key(self) -> str:
        return f"{self.system} {self.number or self.name}"

    @property
    def words(self) -> str:
        return " ".join(filter(None, (self.name, self.number)))


def upload_of(path: str) -> Upload | None:
    """Return the uploader of the file at a path in a download; None if no course system says it."""
    parts = path.split("/")
    for depth, part in enumerate(parts[: _AROUND_MOODLE + 1]):
        rest = "/".join(parts[depth + 1 :])
        folder = "/".join(parts[: depth + 1]) if rest else ""
        if words := _MOODLE.fullmatch(part):
            inside, typed = rest or words["original"] or part, words["plugin"] in _TYPED_IN
            number = words["number"] or ""
            return Upload("moodle", words["name"], number, folder, inside, typed=typed)
        words = _ANONYMOUS.fullmatch(part) or _CANVAS.fullmatch(part)
        if words and depth <= _AROUND_CANVAS:
            inside = rest or _AGAIN.sub(r"\1\2", words["original"] or part)
            more = int(words["file"] or 0), bool(words["typed"]), bool(words["late"])
            return Upload("canvas", words["name"], words["number"], folder, inside, *more)
    return None


_ARCHIVE = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))", re.IGNORECASE | re.DOTALL)
_MOST_HAND_INS = 20
"""Hand-ins of one upload. Each is opened and marked, so that more of them would stop a class."""
_LAST = "\U0010ffff"  # sorts behind every name
_BY_MACHINE = "left by a computer, not by a student"
_TYPED = "typed into the course system, no file"
_EXTRA = "no hand-in, next to one of the same student"
_UNOWNED = "no hand-in, and in no folder of one"
_LOOSE = "loose next to hand-ins, so its student is unknown"


@dataclass
class Parcel:
    """A hand-in before it is opened.

    `files` are its files by their places in the download, with their names inside it. `packed` says
    that it is one archive; `folder` is the path of the folder that it is, None if it is scattered.
    It is taken out to `place`, or stays for a `problem`.
    """

    label: str
    files: Mapping[int, str]
    upload: Upload | None = None
    packed: bool = False
    folder: str | None = None
    place: Path = Path()
    problem: str = ""


@dataclass(frozen=True)
class OutsideReason:
    """Reason why a file is in no hand-in, whether a person should `look`, and whose it is."""

    text: str
    look: bool = False
    whose: str = ""


@dataclass
class Sorting:
    parcels: list[Parcel] = field(default_factory=list)
    others: dict[int, OutsideReason] = field(default_factory=dict)

    def leave(self, places: Iterable[int], text: str, look: bool, whose: str = "") -> None:
        self.others |= {place: OutsideReason(text, look, whose) for place in places}


@dataclass(frozen=True)
class _FileGroup:
    """Files that belong together: by their places in the download, the names that were given."""

    names: dict[int, str]

    @cached_property
    def in_order(self) -> list[tuple[str, int]]:
        return sorted((name, place) for place, name in self.names.items())

    def beneath(self, root: str) -> dict[int, str]:
        """Return the names below a folder, whose path ends in a slash or is empty."""
        first = bisect_left(self.in_order, (root,))
        last = bisect_left(self.in_order, (root + _LAST,))
        return {place: name.removeprefix(root) for name, place in self.in_order[first:last]}

    def roots(self) -> list[str]:
        """Return the folders with answers, an outer one before what is in it."""
        sheets = (name for name in self.names.values() if name.rpartition("/")[2] == ANSWERS)
        return sorted({name.removesuffix(ANSWERS) for name in sheets})


_Piece = tuple[dict[int, str], str | None]
"""A hand-in in a group: names inside it, and the folder around them, None for an archive."""


def sort_files(files: Sequence[DownloadFile]) -> Sorting:
    sorting = Sorting()
    groups: dict[str, dict[int, Upload]] = defaultdict(dict)
    unnamed: dict[int, str] = {}
    owned: dict[int, str] = {}
    for place, file in enumerate(files):
        upload = upload_of(file.path)
        if by_machine(upload.inside if upload else file.path):
            sorting.leave([place], _BY_MACHINE, False)
        elif file.hostile:
            sorting.leave([place], file.problem, True)
        elif upload:
            groups[upload.key][place] = upload
            owned[place] = file.path
        else:
            unnamed[place] = file.path
    for uploads in groups.values():
        _sort_upload(sorting, owned, uploads)
    _sort_unnamed(sorting, _FileGroup(unnamed), _FileGroup(owned))
    return sorting


def _sort_upload(sorting: Sorting, paths: Mapping[int, str], uploads: Mapping[int, Upload]) -> None:
    """Sort what one student or group uploaded; without a hand-in or with too many, all is one."""
    folders: dict[str, dict[int, str]] = defaultdict(dict)
    for place, upload in uploads.items():
        if not upload.typed:
            folders[upload.folder][place] = upload.inside
    pieces = [
        (folder, piece)
        for folder, names in folders.items()
        for piece in _pieces(_FileGroup(names), named=True)
    ]
    if not pieces or len(pieces) > _MOST_HAND_INS:
        wholes = folders.items()
        pieces = [(folder, (names, None if len(names) == 1 else "")) for folder, names in wholes]
    for folder, (names, root) in pieces:
        first = min(names)
        if root is None or not folder:
            parcel = Parcel(paths[first], names, uploads[first], root is None)
        else:
            whole = f"{folder}/{root}".rstrip("/")
            parcel = Parcel(whole, names, uploads[first], folder=whole)
        sorting.parcels.append(parcel)
    taken = {place for _, (names, _) in pieces for place in names}
    typed = {place for place, upload in uploads.items() if upload.typed}
    whose = next(iter(uploads.values())).words
    sorting.leave(uploads.keys() - taken - typed, _EXTRA, False, whose)
    sorting.leave(typed, _TYPED, not pieces, whose)


def _pieces(group: _FileGroup, named: bool, owned: _FileGroup | None = None) -> Iterator[_Piece]:
    """Yield hand-ins; loose answers above others are one too if it is known whose they are."""
    taken: set[int] = set()
    roots = group.roots()
    for root in roots:
        beneath = group.beneath(root)
        rivals = owned.beneath(root) if owned else {}
        if not taken & beneath.keys() and not rivals and _is_whole(set(beneath.values())):
            taken |= beneath.keys()
            yield beneath, root
    for place, name in group.names.items():
        if place not in taken and _ARCHIVE.fullmatch(name):
            taken.add(place)
            yield {place: name}, None
    for root in reversed(roots) if named else ():
        rest = {place: name for place, name in group.beneath(root).items() if place not in taken}
        if rest:
            taken |= rest.keys()
            yield rest, root


def _is_whole(names: set[str]) -> bool:
    """Return whether a folder is one hand-in, perhaps with the zip that `lab pack` made of it."""
    is_lab = FILE in names
    folders = {name.removesuffix(ANSWERS) for name in names if name.endswith(f"/{ANSWERS}")}
    rivals = [folder for folder in folders if not is_lab or folder + FILE in names]
    archives = [name for name in names if _ARCHIVE.fullmatch(name)]
    copies = 1 if is_lab and len(archives) == 1 and "/" not in archives[0] else 0
    return not rivals and len(archives) == copies


def _sort_unnamed(sorting: Sorting, group: _FileGroup, owned: _FileGroup) -> None:
    """Sort files without an uploader; a folder next to other students' is taken for a hand-in."""
    pieces = list(_pieces(group, False, owned))
    for names, root in pieces:
        folder = None if root is None else root.rstrip("/")
        label = group.names[min(names)] if folder is None else folder
        sorting.parcels.append(Parcel(label, names, None, root is None, folder))
    taken = {place for names, _ in pieces for place in names}
    paths = [*owned.names.values(), *(group.names[place] for place in taken)]
    known = {path.partition("/")[0] for path in paths}
    loose = {place for root in group.roots() for place in group.beneath(root)}
    folders: dict[str, dict[int, str]] = defaultdict(dict)
    for place, name in group.names.items():
        top, _, inside = name.partition("/")
        if place in taken:
            continue
        if inside and known and top not in known:
            folders[top][place] = inside
        else:
            sorting.leave([place], _LOOSE if place in loose else _UNOWNED, True)
    sorting.parcels += [Parcel(top, names, folder=top) for top, names in folders.items()]
