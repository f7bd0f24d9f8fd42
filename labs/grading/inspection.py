"""A hand-in unpacked and read: its digest, answers, manifests, and the digests of its files.

Runs in a limited process (labs.measuring.contained), and answers in JSON. Only the files that a
hand-in has are unpacked. Names, kinds and claimed sizes are not trusted. A hand-in is refused as a
whole, with a sentence for its owner. Files that no hand-in needs are passed over.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from analysis.records.json_reader import Problems, printable, read, typed
from analysis.records.spec_file import RunManifest, SpecFile
from labs.definition import answers as sheets
from labs.definition import catalogue
from labs.definition.assignment import ANSWERS, FILE
from labs.definition.runs import FOLDER, TYPED, run_folder
from labs.definition.spec import LabSpec
from labs.grading import archives
from topologies import untrusted
from topologies.errors import TcplabError
from topologies.notation import json_value

_DIGITS = 32  # hexadecimal, 128 bits
_CHUNK = 1 << 20  # bytes
_LARGEST = 1 << 30  # bytes of a file that are read; unpacking refuses much smaller ones
_MOST_FINGERPRINTED = 10_000  # files


def fingerprint(source: Path) -> str:
    """32 hexadecimal digits of the file or folder `source`: of all names, sizes and bytes in it."""
    files: list[tuple[str, archives.Opener]] = [("", partial(archives.open_strangers_file, source))]
    if source.is_dir():
        found = archives.folder_members(source, _MOST_FINGERPRINTED)
        readable = ((file.path, opened) for file, opened in found if not file.problem)
        files = sorted(readable, key=itemgetter(0))
    whole = hashlib.sha256()
    for name, opened in files:
        with opened() as stream:
            size = os.fstat(stream.fileno()).st_size
            whole.update(f"{len(name)} {name} {size} ".encode("utf-8", "surrogateescape"))
            left = _LARGEST
            while left > 0 and (chunk := stream.read(_CHUNK)):
                whole.update(chunk)
                left -= len(chunk)
    return whole.hexdigest()[:_DIGITS]


_LARGEST_JSON = 8 << 20  # bytes of a manifest or spec
TOOLS = ("iperf", "tcpdump", "iproute2")
"""Tools whose versions may explain a difference of captures."""
_SHOWN = 80


class ClaimedVariant(Struct, frozen=True):
    lab: str | None = None
    student: str = ""
    course: str = ""


class ClaimedAssignment(Struct, frozen=True):
    """The part of assignment.json that inspecting needs."""

    variant: ClaimedVariant = ClaimedVariant()


@dataclass(frozen=True)
class HandedInRun:
    """A run: raw files with their digests by their path, `misfits` if the manifest differs."""

    place: str
    testbed: str
    parameters: dict[str, str]
    seeds: list[int]
    origin: dict[str, str]
    files: dict[str, str]
    misfits: list[str]


@dataclass(frozen=True)
class InspectedHandIn:
    """The content of a hand-in, why it is unusable (`refused`), and why parts of it are."""

    refused: str = ""
    student: str = ""
    course: str = ""
    answers: sheets.Answers = field(default_factory=dict)
    predictions: sheets.Answers = field(default_factory=dict)
    runs: dict[str, HandedInRun] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def inspect(source: Path, folder: Path, lab_name: str) -> InspectedHandIn:
    """Unpack `source` into an empty folder and look at it. Raises TcplabError."""
    lab, problems = catalogue.find(lab_name), Problems()
    unpack(source, folder)
    claim = _assignment(folder / FILE, problems).variant
    found = InspectedHandIn(student=claim.student[:_SHOWN], course=claim.course[:_SHOWN])
    try:
        found = _with_content(found, folder, lab, claim.lab, problems)
    except TcplabError as error:
        found = replace(found, refused=str(error))
    return replace(found, problems=[problem[:300] for problem in problems.found[:20]])


def _with_content(
    found: InspectedHandIn, folder: Path, lab: LabSpec, claimed: str | None, problems: Problems
) -> InspectedHandIn:
    """Add what counts of a hand-in. Raises TcplabError without answers for this lab."""
    if claimed is not None and claimed != lab.name:
        problem = f"It is for the lab '{claimed[:40]}', not {lab.name}."
        raise TcplabError(problem, "Hand in the right one.")
    if not (folder / ANSWERS).is_file():
        remedy = "Hand in the zip that ./tcplab lab pack makes."
        raise TcplabError(f"It holds no {ANSWERS}.", remedy)
    answers = sheets.read_sheet(folder / ANSWERS, lab)
    for name, sentence in sheets.misspelt(folder / ANSWERS, lab).items():
        problems.add(f"{name} in {ANSWERS}: {sentence}")
    runs = {run.name: facts for run in lab.runs if (facts := _run(folder, run.name, problems))}
    graphs = (each.id for each in lab.questions if each.kind == "graph")
    pictures = {
        question: name
        for question in graphs
        for name in answers[question]
        if "/" not in name and sheets.picture_kind(folder / name)
    }
    predictions = sheets.read_predictions(folder, lab, problems)
    return replace(found, answers=answers, predictions=predictions, runs=runs, pictures=pictures)


def _assignment(file: Path, problems: Problems) -> ClaimedAssignment:
    try:
        content = untrusted.content(file.parent, file.name, _LARGEST_JSON)
    except (OSError, untrusted.StrangeFile):
        return read(ClaimedAssignment, file, problems, file.name, _LARGEST_JSON)  # says why not
    try:
        text = sheets.decoded(content)
    except ValueError as error:
        problems.add(f"{file.name} cannot be read: {error}.")
        text = content.decode(errors="replace")
    try:
        return typed(ClaimedAssignment, json_value(text))
    except ValueError as error:
        problems.add(f"{file.name} is no valid JSON ({error}): its content is left out.")
        return ClaimedAssignment()


def _run(folder: Path, name: str, problems: Problems) -> HandedInRun | None:
    place = run_folder(folder, name)
    if place is None:
        return None
    manifest = read(RunManifest, place / "manifest.json", problems, "manifest.json", _LARGEST_JSON)
    spec = read(SpecFile, place / "spec.json", problems, "spec.json", _LARGEST_JSON)
    raw, parameters = place / "raw", list(spec.parameters.items())[:50]
    names = sorted(file.relative_to(raw).as_posix() for file in raw.rglob("*") if file.is_file())
    files = {name: untrusted.digest(raw, name) for name in names}
    versions = {
        "tcplab": manifest.tcplab,
        "code": manifest.code_digest,
        "kernel release": manifest.kernel.release,
        "kernel": manifest.kernel.digest or "",
        "image": manifest.image.digest if manifest.image else "",
        **{tool: manifest.tools[tool] for tool in TOOLS if tool in manifest.tools},
    }
    return HandedInRun(
        place.relative_to(folder).as_posix(),
        (manifest.testbed or "unknown")[:_SHOWN],
        {printable(key[:_SHOWN]): value[:_SHOWN] for key, value in parameters},
        [seed for seed in manifest.seeds if type(seed) is int][:50],
        {name: value[:_SHOWN] for name, value in versions.items()},
        files,
        _misfits(files, manifest.files)[:20],
    )


def _misfits(files: dict[str, str], listed: dict[str, str]) -> list[str]:
    """Files that differ from their manifest, that it does not list, or that are not there."""
    raw = (item for item in listed.items() if item[0].startswith("raw/"))
    digests = {name.removeprefix("raw/"): digest for name, digest in raw}
    changed = [name for name, digest in files.items() if digests.get(name) != digest]
    return changed + [printable(name)[:_SHOWN] for name in digests if name not in files]


_MOST_FILES = 5000
_LARGEST_FILE, _LARGEST_WHOLE = 256 << 20, 512 << 20  # bytes
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"
_RAW = rf"raw/seed-[0-9]{{1,19}}/(?:{_NAME}/)?{_NAME}"
_RUN = re.compile(rf"{FOLDER}/{_NAME}(?:/{_NAME}/{_NAME})?/(?:manifest\.json|spec\.json|{_RAW})")
_BESIDE = re.compile(rf"{_NAME}\.(?:png|jpg|jpeg|c|pkt|py)", re.IGNORECASE)


def wanted(name: str) -> bool:
    """Return whether a hand-in has a file of that name."""
    own = name in (FILE, ANSWERS, sheets.PREDICTIONS, TYPED)
    return own or bool(_RUN.fullmatch(name)) or bool(_BESIDE.fullmatch(name))


def wanted_or_above(name: str) -> bool:
    """Return whether a link of that name would replace a wanted file; a lab's `latest` does not."""
    in_runs = name.startswith(f"{FOLDER}/") and not name.endswith("/latest")
    return wanted(name) or in_runs or name == FOLDER


def unpack(source: Path, target: Path) -> list[str]:
    """Copy what is wanted of an archive or a folder; the names. Raises Refusal."""
    if source.is_symlink() or not (source.is_file() or source.is_dir()):
        raise archives.Refusal("It is neither a file nor a folder.", archives.PACK)
    try:
        return _unpacked(source, target)
    except OSError as error:
        problem = f"It cannot be unpacked ({error.strerror})."
        raise archives.Refusal(problem, archives.AGAIN) from None


def _unpacked(source: Path, target: Path) -> list[str]:
    """Check all members before the first is copied, so that a refusal leaves no files."""
    offered = [member for member, _ in _offered(source)]
    own = [member.path for member in offered if not archives.by_machine(member.path)]
    root = _root(own)
    for member in offered:  # of a folder, only links that stand for something wanted are refused
        if member.problem and (source.is_file() or wanted_or_above(_inside(member.path, root))):
            raise archives.Refusal(member.problem)
    if len(set(own)) < len(own):
        raise archives.Refusal("It holds a file twice.", archives.PACK)
    if sum(member.size for member in offered) > _LARGEST_WHOLE and source.is_file():
        problem = f"Unpacked it would be larger than {_LARGEST_WHOLE >> 20} MiB."
        raise archives.Refusal(problem, "Hand in shorter captures.")
    names, left = [], _LARGEST_WHOLE
    for member, opened in _offered(source):
        inside = _inside(member.path, root)
        if wanted(inside) and not archives.by_machine(member.path):
            limit = sheets.LARGEST_PICTURE if _BESIDE.fullmatch(inside) else _LARGEST_FILE
            with archives.damage_refused(), opened() as stream:
                left -= archives.copy_limited(stream, target / inside, min(left, limit))
            names.append(inside)
    return names


def _offered(source: Path) -> Iterator[tuple[archives.DownloadFile, archives.Opener]]:
    if source.is_dir():
        yield from archives.folder_members(source, _MOST_FILES)
        return
    with archives.open_strangers_file(source) as stream:
        if os.fstat(stream.fileno()).st_size > archives.LARGEST_ARCHIVE:
            problem = f"It is larger than {archives.LARGEST_ARCHIVE >> 20} MiB."
            raise archives.Refusal(problem, archives.PACK)
        yield from archives.members(stream, _MOST_FILES, _LARGEST_FILE)


def _root(names: list[str]) -> str:
    """Return the folder around everything, if it was packed instead of what is in it."""
    if ANSWERS in names:
        return ""
    sheets = [name for name in names if name.endswith(f"/{ANSWERS}") and name.count("/") <= 2]
    return sheets[0].removesuffix(ANSWERS) if len(sheets) == 1 else ""


def _inside(name: str, root: str) -> str:
    return name.removeprefix(root) if name.startswith(root) else ""
