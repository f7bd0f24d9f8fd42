"""A download of hand-ins taken in: each hand-in where it can be opened, and what each file of the download is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.grading.archives import Refused, copied, strangers_file
from labs.grading.download import DownloadFile, files_in, taken_out
from labs.grading.sorting import Parcel, Reason, sorted_out
from labs.grading.unpack import LARGEST_ARCHIVE, wanted, wanted_or_above
from topologies.errors import UsageError

_OPENED = "hand-in"
"""The name of an archive that was taken out of a download: what it is, its content says."""


@dataclass(frozen=True)
class HandIn:
    """One hand-in: where it is, what it is called there, and whose it is by the words of Moodle or Canvas.

    `moodle` and `canvas` are the numbers by which these name it, `uploader` is the name, empty if it tells nobody.
    `upload` is the same for all that one student uploaded, empty if no course system says it. `time` is in seconds and
    tells which is newer, as does `file`, Canvas's number. `problem` is why it could not be taken out of the download.
    """

    place: Path
    label: str
    moodle: str = ""
    canvas: str = ""
    uploader: str = ""
    upload: str = ""
    time: float = 0.0
    file: int = 0
    problem: str = ""

    @property
    def words(self) -> str:
        """Who uploaded it, by the word of the course system; empty if it says nothing."""
        number = self.moodle or self.canvas
        return f"{self.uploader} ({number})" if self.uploader and number else self.uploader or number


@dataclass(frozen=True)
class Intake:
    """A download and its hand-ins. Each file is, by its place, a part of one of them or has a reason why of none.

    `passed` are the files of hand-ins that no hand-in needs.
    """

    files: Sequence[DownloadFile]
    hand_ins: Sequence[HandIn]
    belongs: Mapping[int, HandIn]
    others: Mapping[int, Reason]
    passed: frozenset[int]


def receive(submissions: Path, work: Path) -> Intake:
    """Sort out a download and take its hand-ins out of it, below `work`. Raises UsageError if there is none."""
    files = files_in(submissions)
    sorting = sorted_out(files)
    if not sorting.parcels:
        refused = next((f" {file.path[:80]}: {file.problem}" for file in files if file.problem), "")
        remedy = "It should hold a zip or a folder for each student."
        raise UsageError(f"There is no hand-in in '{submissions}'.{refused}", remedy)
    if _alone(sorting.parcels, submissions):
        hand_ins = [HandIn(submissions, submissions.resolve().name)]
    else:
        opened = [
            _Opened(parcel, work / str(number), _problem(parcel, files))
            for number, parcel in enumerate(sorting.parcels)
        ]
        places = _on_disk(opened, files, submissions) if submissions.is_dir() else _from_archive(opened, submissions)
        telling = _telling(sorting.parcels)
        hand_ins = [_hand_in(one.parcel, files, telling, *place) for one, place in zip(opened, places, strict=True)]
    belongs = {
        index: hand_in for parcel, hand_in in zip(sorting.parcels, hand_ins, strict=True) for index in parcel.files
    }
    passed = {
        index
        for parcel in sorting.parcels
        if not parcel.packed
        for index, name in parcel.files.items()
        if not wanted(name)
    }
    return Intake(files, hand_ins, belongs, sorting.others, frozenset(passed))


def _alone(parcels: Sequence[Parcel], submissions: Path) -> bool:
    """Whether the download is itself a hand-in, and is opened as one."""
    first, *more = parcels
    whole = first.folder == "" if submissions.is_dir() else not first.packed
    return not more and whole and first.upload is None


def _telling(parcels: Sequence[Parcel]) -> frozenset[str]:
    """Names that tell who uploaded: with anonymous marking, Moodle calls everybody a participant of a number."""
    numbers = {(parcel.upload.name, parcel.upload.number) for parcel in parcels if parcel.upload}
    count = Counter(name for name, _ in numbers)
    return frozenset(name for name in count if count[name] == 1)


def _hand_in(
    parcel: Parcel, files: Sequence[DownloadFile], telling: frozenset[str], place: Path, problem: str
) -> HandIn:
    time, upload = max(files[index].time for index in parcel.files), parcel.upload
    if upload is None:
        return HandIn(place, parcel.label, time=time, problem=problem)
    name = upload.name if upload.name in telling else ""
    moodle, canvas = (upload.number, "") if upload.system == "moodle" else ("", upload.number)
    return HandIn(place, parcel.label, moodle, canvas, name, upload.key, time, upload.file, problem)


def _problem(parcel: Parcel, files: Sequence[DownloadFile]) -> str:
    """Why a parcel cannot be taken out: one of its files cannot be opened, or is there twice."""
    names = [name for name in parcel.files.values() if wanted(name)]
    refused = (
        files[index].problem
        for index, name in parcel.files.items()
        if files[index].problem and (parcel.packed or wanted_or_above(name))
    )
    twice = "It holds a file twice." if len(set(names)) < len(names) else ""
    return next(refused, twice)


@dataclass(frozen=True)
class _Opened:
    """A parcel on its way out of a download: into which folder of ours, and why it stays."""

    parcel: Parcel
    folder: Path
    problem: str

    @property
    def targets(self) -> dict[int, Path]:
        """Where to each of its files is taken."""
        if self.problem:
            return {}
        if self.parcel.packed:
            return dict.fromkeys(self.parcel.files, self.folder / _OPENED)
        return {index: self.folder / name for index, name in self.parcel.files.items() if wanted(name)}


def _from_archive(opened: Sequence[_Opened], archive: Path) -> list[tuple[Path, str]]:
    """Where each parcel of an archive can be opened, and why it cannot."""
    for one in opened:
        one.folder.mkdir(parents=True)
    damaged = taken_out(archive, {index: target for one in opened for index, target in one.targets.items()})
    return [
        (
            one.folder / _OPENED if one.parcel.packed else one.folder,
            one.problem or next((damaged[index] for index in one.parcel.files if index in damaged), ""),
        )
        for one in opened
    ]


def _on_disk(opened: Sequence[_Opened], files: Sequence[DownloadFile], folder: Path) -> list[tuple[Path, str]]:
    """The same of a folder, in which it may stay where it is."""
    return [_stays(one, files, folder) for one in opened]


def _stays(one: _Opened, files: Sequence[DownloadFile], folder: Path) -> tuple[Path, str]:
    if one.parcel.packed:
        return folder / files[min(one.parcel.files)].path, one.problem
    if one.parcel.folder is not None:
        return folder / one.parcel.folder, one.problem
    one.folder.mkdir(parents=True)
    try:
        for index, target in one.targets.items():
            with strangers_file(folder / files[index].path) as stream:
                copied(stream, target, LARGEST_ARCHIVE)
    except (OSError, Refused) as error:
        return one.folder, one.problem or str(error)
    return one.folder, one.problem
