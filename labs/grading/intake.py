"""A download taken in: its hand-ins, ready to be opened, and what each file belongs to."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        first = next((f" {each.path[:80]}: {each.problem}" for each in files if each.problem), "")
        remedy = "It should hold a zip or a folder for each student."
        raise UsageError(f"There is no hand-in in '{submissions}'.{first}", remedy)
    hand_ins = _hand_ins(submissions, files, parcels, work)
    pairs = zip(parcels, hand_ins, strict=True)
    belongs = {place: hand_in for parcel, hand_in in pairs for place in parcel.files}
    loose = (parcel.files.items() for parcel in parcels if not parcel.packed)
    passed = frozenset(place for names in loose for place, name in names if not wanted(name))
    return Intake(files, hand_ins, belongs, sorting.others, passed)


def _hand_ins(
    submissions: Path, files: Sequence[archives.DownloadFile], parcels: Sequence[Parcel], work: Path
) -> list[HandIn]:
    first, *others = parcels
    whole = first.folder == "" if submissions.is_dir() else not first.packed
    if not others and whole and first.upload is None:  # the download is itself a hand-in
        return [HandIn(submissions, displayable(submissions.resolve().name))]
    extractions = [
        _Extraction(parcel, work / str(number), _problem(parcel, files))
        for number, parcel in enumerate(parcels)
    ]
    if submissions.is_dir():
        for extraction in extractions:
            _from_folder(submissions, files, extraction)
    else:
        _from_archive(submissions, extractions)
    # Anonymous marking gives all students one name.
    uploads = {(parcel.upload.name, parcel.upload.key) for parcel in parcels if parcel.upload}
    count = Counter(name for name, _ in uploads)
    return [each.hand_in(files, count) for each in extractions]


def _problem(parcel: Parcel, files: Sequence[archives.DownloadFile]) -> str:
    """Return the problem of a parcel: a file of it cannot be opened, or is there twice."""
    for place, name in parcel.files.items():
        if files[place].problem and (parcel.packed or wanted_or_above(name)):
            return files[place].problem
    names = [name for name in parcel.files.values() if wanted(name)]
    return "It holds a file twice." if len(set(names)) < len(names) else ""


@dataclass
class _Extraction:
    """A parcel on its way out of a download, to `place`, and why it stays."""

    parcel: Parcel
    place: Path
    problem: str

    @property
    def targets(self) -> dict[int, Path]:
        if self.problem:
            return {}
        if self.parcel.packed:
            return dict.fromkeys(self.parcel.files, self.place / _TAKEN_OUT)
        names = self.parcel.files.items()
        return {place: self.place / name for place, name in names if wanted(name)}

    def hand_in(self, files: Sequence[archives.DownloadFile], count: Mapping[str, int]) -> HandIn:
        upload, label = self.parcel.upload, displayable(self.parcel.label)
        time = max(files[index].time for index in self.parcel.files)
        if upload is None:
            return HandIn(self.place, label, time=time, problem=self.problem)
        return HandIn(
            self.place,
            label,
            upload.number if upload.system == "moodle" else "",
            upload.number if upload.system == "canvas" else "",
            displayable(upload.name) if count[upload.name] == 1 else "",
            upload.key,
            time,
            upload.file,
            self.problem,
            upload.late,
        )


def _from_archive(archive: Path, extractions: Sequence[_Extraction]) -> None:
    """Take all parcels out in one pass, or each in its process if that ends."""
    for extraction in extractions:
        extraction.place.mkdir(parents=True)
    try:
        whole = {at: to for each in extractions for at, to in each.targets.items()}
        problems = archives.extract(archive, whole)
    except NotContained:
        problems = {}
        for extraction in extractions:
            shutil.rmtree(extraction.place)
            extraction.place.mkdir()
            try:
                problems |= archives.extract(archive, extraction.targets)
            except NotContained as error:
                problems |= dict.fromkeys(extraction.targets, str(error))
    for extraction in extractions:
        found = [extraction.problem, *map(problems.get, extraction.parcel.files)]
        extraction.problem = next(filter(None, found), "")
        if extraction.parcel.packed:
            extraction.place /= _TAKEN_OUT


def _from_folder(
    folder: Path, files: Sequence[archives.DownloadFile], extraction: _Extraction
) -> None:
    parcel = extraction.parcel
    if parcel.packed:
        extraction.place = folder / files[min(parcel.files)].path
    elif parcel.folder is not None:
        extraction.place = folder / parcel.folder
    elif not extraction.problem:
        extraction.place.mkdir(parents=True)
        try:
            for place, target in extraction.targets.items():
                with archives.open_strangers_file(folder / files[place].path) as stream:
                    archives.copy_limited(stream, target, archives.LARGEST_ARCHIVE)
        except (OSError, archives.Refusal) as error:
            extraction.problem = str(error)
