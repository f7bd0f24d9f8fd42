"""A hand-in unpacked and looked at: its answers, its manifests, and the digests of its files.

Runs in a process of its own (labs.measuring.contained), and answers in JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.records.jsonfile import Object, inner, read_object, text
from analysis.records.problems import Problems, printable
from labs.definition import lab_catalogue
from labs.definition.answer_sheet import Answers, read_sheet
from labs.definition.assignment import ANSWERS, FILE
from labs.definition.handed_in_pictures import picture_kind
from labs.definition.lab_runs import run_folder
from labs.definition.lab_spec import LabSpec
from labs.definition.texts import decoded
from labs.grading.unpacking import unpack
from topologies import untrusted
from topologies.errors import TcplabError

_LARGEST_JSON = 8 << 20  # bytes of a manifest or spec
_SHOWN = 80


@dataclass(frozen=True)
class HandedInRun:
    """A run that was handed in.

    `files` are its raw files with their digests, by their path below raw/. `misfits` are files that
    are not what its manifest says of them.
    """

    place: str
    testbed: str
    parameters: dict[str, str]
    seeds: list[int]
    origin: dict[str, str]
    files: dict[str, str]
    misfits: list[str]


@dataclass(frozen=True)
class InspectedHandIn:
    """What a hand-in holds.

    `refused` is why nothing of it could be used, `problems` are why parts could not.
    """

    refused: str = ""
    student: str = ""
    course: str = ""
    answers: Answers = field(default_factory=dict)
    runs: dict[str, HandedInRun] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def from_json(inspected: dict[str, Any]) -> InspectedHandIn:
    """What `inspect` gave, as it came out of its process."""
    runs = {name: HandedInRun(**run) for name, run in inspected.pop("runs", {}).items()}
    return InspectedHandIn(runs=runs, **inspected)


def inspect(source: str, target: str, lab_name: str) -> dict[str, Any]:
    """Unpack `source` into the empty folder `target` and look at it.

    Raises TcplabError if it is refused.
    """
    lab, folder = lab_catalogue.find(lab_name), Path(target)
    names = unpack(Path(source), folder)
    if ANSWERS not in names:
        raise TcplabError(
            f"It holds no {ANSWERS}.", "Hand in the zip that ./tcplab lab pack makes."
        )
    answers, problems = read_sheet(folder / ANSWERS, lab), Problems()
    runs = {run.name: facts for run in lab.runs if (facts := _run(folder, run.name, problems))}
    return {
        **_claimed(folder, lab, problems),
        "answers": answers,
        "runs": runs,
        "pictures": _pictures(folder, lab, answers),
        "problems": [problem[:300] for problem in problems.found[:20]],
    }


def _claimed(folder: Path, lab: LabSpec, problems: Problems) -> dict[str, str]:
    """Whose the hand-in says that it is, and of which course."""
    variant = inner(_assignment(folder / FILE, problems), "variant")
    if text(variant, "lab", lab.name) != lab.name:
        raise TcplabError(
            f"It is for the lab '{text(variant, 'lab')[:40]}', not {lab.name}.",
            "Hand in the right one.",
        )
    return {name: text(variant, name)[:_SHOWN] for name in ("student", "course")}


def _assignment(file: Path, problems: Problems) -> Object:
    """What `lab start` wrote, also if an editor has saved it in another encoding."""
    try:
        content = untrusted.content(file.parent, file.name, _LARGEST_JSON)
    except (OSError, untrusted.StrangeFile):
        return _object(file, problems)  # says why there is none
    try:
        assignment = json.loads(_text(content, file.name, problems))
    except (ValueError, RecursionError) as error:
        problems.add(
            f"{file.name} is no valid JSON ({error}): what it would have told is left out."
        )
        return {}
    return assignment if isinstance(assignment, dict) else {}


def _text(content: bytes, name: str, problems: Problems) -> str:
    """A file's text. What cannot be decoded is replaced, so that the rest still counts."""
    try:
        return decoded(content)
    except ValueError as error:
        problems.add(f"{name} cannot be read: {error}.")
        return content.decode(errors="replace")


def _object(file: Path, problems: Problems) -> Object:
    return read_object(file, problems, file.name, _LARGEST_JSON)


def _run(folder: Path, name: str, problems: Problems) -> dict[str, Any] | None:
    place = run_folder(folder, name)
    if place is None:
        return None
    manifest = _object(place / "manifest.json", problems)
    spec = _object(place / "spec.json", problems)
    raw = place / "raw"
    names = sorted(file.relative_to(raw).as_posix() for file in raw.rglob("*") if file.is_file())
    files = {name: untrusted.digest(raw, name) for name in names}
    seeds = manifest.get("seeds")
    parameters = inner(spec, "parameters")
    return {
        "place": place.relative_to(folder).as_posix(),
        "testbed": text(manifest, "testbed", "unknown")[:_SHOWN],
        "parameters": {
            key[:_SHOWN]: text(parameters, key)[:_SHOWN] for key in list(parameters)[:50]
        },
        "seeds": (
            [seed for seed in seeds if type(seed) is int][:50] if isinstance(seeds, list) else []
        ),
        "origin": _origin(manifest),
        "files": files,
        "misfits": _misfits(files, inner(manifest, "files"))[:20],
    }


def _origin(manifest: Object) -> dict[str, str]:
    """What a manifest says of the code and the lab that made the run."""
    versions = {
        "tcplab": text(manifest, "tcplab"),
        "code": text(manifest, "code_digest"),
        "kernel release": text(inner(manifest, "kernel"), "release"),
        "kernel": text(inner(manifest, "kernel"), "digest"),
        "image": text(inner(manifest, "image"), "digest"),
    }
    tools = inner(manifest, "tools")
    return {name: value[:_SHOWN] for name, value in versions.items()} | {
        tool: text(tools, tool)[:_SHOWN]
        for tool in ("iperf", "tcpdump", "iproute2")
        if tool in tools
    }


def _misfits(files: dict[str, str], listed: Object) -> list[str]:
    """Files that differ from their manifest, that it does not list, or that are not there."""
    digests = {
        name.removeprefix("raw/"): digest
        for name, digest in listed.items()
        if name.startswith("raw/")
    }
    changed = [name for name, digest in files.items() if digests.get(name) != digest]
    return changed + [printable(name)[:_SHOWN] for name in digests if name not in files]


def _pictures(folder: Path, lab: LabSpec, answers: Answers) -> dict[str, str]:
    """The picture of each graph that is asked for, by question: the name of its file."""
    pictures = {}
    for question in lab.questions:
        for name in answers[question.id] if question.kind == "graph" else ():
            if "/" not in name and picture_kind(folder / name):
                pictures[question.id] = name
    return pictures
