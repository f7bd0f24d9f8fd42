"""A download taken in: its hand-ins, ready to be opened, and what each file belongs to."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labs.definition.answers import displayable
from labs.grading import archives
from labs.grading.inspection import wanted, wanted_or_above
from labs.grading.sorting import OutsideReason, Parcel, sort_files
from labs.measuring.contained import NotContained
from topologies.errors import UsageError

_TAKEN_OUT = "hand-in"
"""The name of an archive that was taken out of a download; what it is, its content says."""


@dataclass(frozen=True)
class HandIn:
    """One hand-in: its place, its path in the download, and its owner by Moodle or Canvas.

    `moodle` and `canvas` are the numbers by which these name it; `uploader` is the name, empty if
    it is not distinctive. `upload` is the same for all uploads of one student, empty without a
    course system. `time` in seconds tells which is newer, as does `file`, Canvas's number.
    `late` is Canvas's mark. `problem` is why it could not be taken out of the download.
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
    late: bool = False

    @property
    def words(self) -> str:
        return " ".join(filter(None, (self.uploader, self.moodle or self.canvas)))


@dataclass(frozen=True)
class Intake:
    """A download: each file `belongs` to a hand-in or is of `others`; `passed` are not needed."""

    files: Sequence[archives.DownloadFile]
    hand_ins: Sequence[HandIn]
    belongs: Mapping[int, HandIn]
    others: Mapping[int, OutsideReason]
    passed: frozenset[int]


def receive(submissions: Path, work: Path) -> Intake:
    """Sort out a download and take its hand-ins out, below `work`. Raises UsageError for none."""
    files = archives.files_in(submissions)
    sorting = sort_files(files)
    parcels = sorting.parcels
    if not parcels:
        why = next((f" {each.path[:80]}: {each.problem}" for each in files if each.problem), "")
        remedy = "It should hold a zip or a folder for each student."
        raise UsageError(f"There is no hand-in in '{submissions}'.{why}", remedy)
    first, *others = parcels
    is_folder = submissions.is_dir()
    whole = first.folder == "" if is_folder else not first.packed
    if not others and whole and first.upload is None:  # the download is itself a hand-in
        hand_ins = [HandIn(submissions, displayable(submissions.resolve().name))]
    else:
        for number, parcel in enumerate(parcels):
            parcel.place, parcel.problem = work / str(number), _problem(parcel, files)
        (_from_folder if is_folder else _from_archive)(submissions, parcels, files)
        # Anonymous marking gives all students one name.
        uploads = {(parcel.upload.name, parcel.upload.key) for parcel in parcels if parcel.upload}
        count = Counter(name for name, _ in uploads)
        hand_ins = [_hand_in(parcel, files, count) for parcel in parcels]
    pairs = zip(parcels, hand_ins, strict=True)
    belongs = {place: hand_in for parcel, hand_in in pairs for place in parcel.files}
    loose = (parcel.files.items() for parcel in parcels if not parcel.packed)
    passed = frozenset(place for names in loose for place, name in names if not wanted(name))
    return Intake(files, hand_ins, belongs, sorting.others, passed)


def _problem(parcel: Parcel, files: Sequence[archives.DownloadFile]) -> str:
    """Return the problem of a parcel: a file of it cannot be opened, or is there twice."""
    for place, name in parcel.files.items():
        if files[place].problem and (parcel.packed or wanted_or_above(name)):
            return files[place].problem
    names = [name for name in parcel.files.values() if wanted(name)]
    return "It holds a file twice." if len(set(names)) < len(names) else ""


def _hand_in(
    parcel: Parcel, files: Sequence[archives.DownloadFile], count: Mapping[str, int]
) -> HandIn:
    time = max(files[index].time for index in parcel.files)
    found = HandIn(parcel.place, displayable(parcel.label), time=time, problem=parcel.problem)
    if (upload := parcel.upload) is None:
        return found
    name = displayable(upload.name) if count[upload.name] == 1 else ""
    is_moodle, number = upload.system == "moodle", upload.number
    found = replace(found, moodle=number if is_moodle else "", canvas="" if is_moodle else number)
    return replace(found, uploader=name, upload=upload.key, file=upload.file, late=upload.late)


def _targets(parcel: Parcel) -> dict[int, Path]:
    """Return the files to write, by their indices in the download."""
    if parcel.problem:
        return {}
    if parcel.packed:
        return dict.fromkeys(parcel.files, parcel.place / _TAKEN_OUT)
    return {at: parcel.place / name for at, name in parcel.files.items() if wanted(name)}


def _from_archive(
    archive: Path, parcels: Sequence[Parcel], _files: Sequence[archives.DownloadFile]
) -> None:
    """Take all parcels out in one pass, or each in its process if that ends."""
    for parcel in parcels:
        parcel.place.mkdir(parents=True)
    try:
        whole = {at: to for parcel in parcels for at, to in _targets(parcel).items()}
        problems = archives.extract(archive, whole)
    except NotContained:
        problems = {}
        for parcel in parcels:
            shutil.rmtree(parcel.place)
            parcel.place.mkdir()
            targets = _targets(parcel)
            try:
                problems |= archives.extract(archive, targets)
            except NotContained as error:
                problems |= dict.fromkeys(targets, str(error))
    for parcel in parcels:
        found = [parcel.problem, *map(problems.get, parcel.files)]
        parcel.problem = next(filter(None, found), "")
        if parcel.packed:
            parcel.place /= _TAKEN_OUT


def _from_folder(
    folder: Path, parcels: Sequence[Parcel], files: Sequence[archives.DownloadFile]
) -> None:
    """Copy the parcels whose files lie next to others; the rest stays in the folder."""
    for parcel in parcels:
        if parcel.packed:
            parcel.place = folder / files[min(parcel.files)].path
        elif parcel.folder is not None:
            parcel.place = folder / parcel.folder
        elif not parcel.problem:
            parcel.place.mkdir(parents=True)
            try:
                for index, target in _targets(parcel).items():
                    with archives.open_strangers_file(folder / files[index].path) as stream:
                        archives.copy_limited(stream, target, archives.LARGEST_ARCHIVE)
            except (OSError, archives.Refusal) as error:
                parcel.problem = str(error)
