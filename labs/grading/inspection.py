"""A hand-in unpacked and read: its digest, answers, manifests, and the digests of its files.

Runs in a limited process (labs.measuring.contained), and answers in JSON. Only the files that a
hand-in has are unpacked. Names, kinds and claimed sizes are not trusted. A hand-in is refused as a
whole, with a sentence for its owner. Files that no hand-in needs are passed over.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import Problems, printable, read, typed
from analysis.records.spec_file import RunManifest, SpecFile
from labs.definition import catalogue
from labs.definition.answers import (
    LARGEST_PICTURE,
    PREDICTIONS,
    Answers,
    decoded,
    misspelt,
    picture_kind,
    read_predictions,
    read_sheet,
)
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


def fingerprint(source: str) -> str:
    """32 hexadecimal digits of the file or folder `source`: of all names, sizes and bytes in it."""
    place, opener = Path(source), partial(archives.open_strangers_file, Path(source))
    files: list[tuple[str, archives.Opener]] = [("", opener)]
    if place.is_dir():
        found = archives.folder_members(place, _MOST_FINGERPRINTED)
        files = sorted(
            ((file.path, opened) for file, opened in found if not file.problem), key=itemgetter(0)
        )
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
    """The student, course and lab that an assignment names."""

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
    answers: Answers = field(default_factory=dict)
    predictions: Answers = field(default_factory=dict)
    runs: dict[str, HandedInRun] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def inspect(source: str, target: str, lab_name: str) -> dict[str, Any]:
    """Unpack `source` into the empty folder `target` and look at it. Raises TcplabError."""
    lab, folder, problems = catalogue.find(lab_name), Path(target), Problems()
    unpack(Path(source), folder)
    variant = _assignment(folder / FILE, problems).variant
    try:
        found = _found(folder, lab, variant, problems)
    except TcplabError as error:
        found = {"refused": str(error)}
    return {
        "student": variant.student[:_SHOWN],
        "course": variant.course[:_SHOWN],
        **found,
        "problems": [problem[:300] for problem in problems.found[:20]],
    }


def _found(folder: Path, lab: LabSpec, claim: ClaimedVariant, problems: Problems) -> dict[str, Any]:
    """Return what counts of a hand-in. Raises TcplabError without answers for this lab."""
    if claim.lab is not None and claim.lab != lab.name:
        problem = f"It is for the lab '{claim.lab[:40]}', not {lab.name}."
        raise TcplabError(problem, "Hand in the right one.")
    if not (folder / ANSWERS).is_file():
        remedy = "Hand in the zip that ./tcplab lab pack makes."
        raise TcplabError(f"It holds no {ANSWERS}.", remedy)
    answers = read_sheet(folder / ANSWERS, lab)
    for name, sentence in misspelt(folder / ANSWERS, lab).items():
        problems.add(f"{name} in {ANSWERS}: {sentence}")
    runs = {run.name: facts for run in lab.runs if (facts := _run(folder, run.name, problems))}
    return {
        "answers": answers,
        "predictions": read_predictions(folder, lab, problems),
        "runs": runs,
        "pictures": _pictures(folder, lab, answers),
    }


def _assignment(file: Path, problems: Problems) -> ClaimedAssignment:
    """Return the content of assignment.json, in any encoding that editors save."""
    try:
        content = untrusted.content(file.parent, file.name, _LARGEST_JSON)
    except (OSError, untrusted.StrangeFile):
        return read(ClaimedAssignment, file, problems, file.name, _LARGEST_JSON)  # says why not
    try:
        text = decoded(content)
    except ValueError as error:
        problems.add(f"{file.name} cannot be read: {error}.")
        text = content.decode(errors="replace")
    try:
        return typed(ClaimedAssignment, json_value(text))
    except ValueError as error:
        problems.add(f"{file.name} is no valid JSON ({error}): its content is left out.")
        return ClaimedAssignment()


def _run(folder: Path, name: str, problems: Problems) -> dict[str, Any] | None:
    place = run_folder(folder, name)
    if place is None:
        return None
    manifest = read(RunManifest, place / "manifest.json", problems, "manifest.json", _LARGEST_JSON)
    spec = read(SpecFile, place / "spec.json", problems, "spec.json", _LARGEST_JSON)
    raw, parameters = place / "raw", list(spec.parameters.items())[:50]
    names = sorted(file.relative_to(raw).as_posix() for file in raw.rglob("*") if file.is_file())
    files = {name: untrusted.digest(raw, name) for name in names}
    return {
        "place": place.relative_to(folder).as_posix(),
        "testbed": (manifest.testbed or "unknown")[:_SHOWN],
        "parameters": {printable(key[:_SHOWN]): value[:_SHOWN] for key, value in parameters},
        "seeds": [seed for seed in manifest.seeds if type(seed) is int][:50],
        "origin": _origin(manifest),
        "files": files,
        "misfits": _misfits(files, manifest.files)[:20],
    }


def _origin(manifest: RunManifest) -> dict[str, str]:
    versions = {
        "tcplab": manifest.tcplab,
        "code": manifest.code_digest,
        "kernel release": manifest.kernel.release,
        "kernel": manifest.kernel.digest or "",
        "image": manifest.image.digest if manifest.image else "",
    }
    return {name: value[:_SHOWN] for name, value in versions.items()} | {
        tool: manifest.tools[tool][:_SHOWN] for tool in TOOLS if tool in manifest.tools
    }


def _misfits(files: dict[str, str], listed: dict[str, str]) -> list[str]:
    """Files that differ from their manifest, that it does not list, or that are not there."""
    raw = (item for item in listed.items() if item[0].startswith("raw/"))
    digests = {name.removeprefix("raw/"): digest for name, digest in raw}
    changed = [name for name, digest in files.items() if digests.get(name) != digest]
    return changed + [printable(name)[:_SHOWN] for name in digests if name not in files]


def _pictures(folder: Path, lab: LabSpec, answers: Answers) -> dict[str, str]:
    pictures = {}
    for question in lab.questions:
        for name in answers[question.id] if question.kind == "graph" else ():
            if "/" not in name and picture_kind(folder / name):
                pictures[question.id] = name
    return pictures


_MOST_FILES = 5000
_LARGEST_FILE, _LARGEST_WHOLE = 256 << 20, 512 << 20  # bytes
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"
_RAW = rf"raw/seed-[0-9]{{1,19}}/(?:{_NAME}/)?{_NAME}"
_RUN = re.compile(rf"{FOLDER}/{_NAME}(?:/{_NAME}/{_NAME})?/(?:manifest\.json|spec\.json|{_RAW})")
_BESIDE = re.compile(rf"{_NAME}\.(?:png|jpg|jpeg|c|pkt|py)", re.IGNORECASE)


def wanted(name: str) -> bool:
    """Return whether a hand-in has a file of that name."""
    own = name in (FILE, ANSWERS, PREDICTIONS, TYPED)
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
            limit = LARGEST_PICTURE if _BESIDE.fullmatch(inside) else _LARGEST_FILE
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
