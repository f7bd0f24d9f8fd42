"""A made-up student of the SACK lab: answers, a packed hand-in, and how to spoil it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.key import Key
from labs.definition.runs import run_folder
from labs.definition.spec import LabSpec
from labs.student.hand_in import pack
from topologies.untrusted import digest_of

LAB = "sack"
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360"
    "606060000000050001a5f645400000000049454e44ae426082"
)
TEXT = (
    "Without SACK an acknowledgement names only the first gap. {0} therefore waited for time-outs."
)


PREDICTED = {
    "predict_timeouts": "many_fewer",
    "predict_why": "It knows which segments are missing and need not wait.",
}
"""Recorded before the first run."""
FORECAST = {"rule_on": "1 within 1%"}
"""Of no use on any network, so that it earns no points."""
LATER = {"changed", "change", "predict_change", "change_effect", "compare"}
"""The second run and its questions, which the class does not make: it would take twice as long."""


@dataclass
class Student:
    """A student: what becomes of the honest hand-in. `other` is the student whose work is used."""

    name: str
    kind: Kind
    assignment: Assignment | None = None
    key: Key | None = None
    other: Student | None = None
    zip: Path = Path()

    @property
    def folder(self) -> Path:
        assert self.assignment
        return self.assignment.folder

    @property
    def run(self) -> Path:
        folder = run_folder(self.folder, LAB)
        assert folder
        return folder


@dataclass(frozen=True)
class Kind:
    """What a kind of student does, and what the grader should say of it.

    `state`; `flags` that must be among its flags (none allowed if it is empty and the state
    is graded); `points`, from and to, of those that the program gives; `said`, a part of the
    feedback page.
    """

    name: str
    state: str
    hand_in: Callable[[Student, LabSpec, Path], None]
    flags: frozenset[str] = frozenset()
    points: tuple[float, float] | None = None
    said: str = ""
    runs: bool = True


def written(
    lab: LabSpec, key: Key, change: Callable[[str, float], str] | None = None
) -> dict[str, Any]:
    """The answers of the key as a student writes them.

    `change(question, value)` writes a number otherwise.
    """
    answers: dict[str, Any] = {}
    for question in lab.questions:
        if question.id in key.numbers:
            value = key.numbers[question.id]
            plain = f"{value:.4g}" if question.unit in ("kbit/s", "%", "", "s") else f"{value:.0f}"
            answers[question.id] = (
                change(question.id, value) if change else f"{plain} {question.unit}".strip()
            )
        elif question.id in key.choices:
            answers[question.id] = sorted(key.choices[question.id])
        elif key.frames.get(question.id):
            answers[question.id] = str(min(key.frames[question.id]))
    return answers


def sheet(student: Student, answers: dict[str, Any], text: str | None = None) -> None:
    """Write answers.toml, with a text and a picture."""
    read = {"why": text or TEXT.format(student.name), "graph": "graph.png"}
    sheet_of(student, PREDICTED | FORECAST | answers | read)
    (student.folder / "graph.png").write_bytes(PICTURE)


def sheet_of(student: Student, answers: dict[str, Any]) -> None:
    """Write answers.toml with these answers alone."""
    lines = [f"{name} = {_toml(value)}" for name, value in answers.items()]
    (student.folder / ANSWERS).write_text("[answers]\n" + "\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return json.dumps(value)


def packed(student: Student, target: Path) -> None:
    assert student.assignment
    pack(student.assignment, target)


def borrowed(student: Student, target: Path) -> None:
    """A whole hand-in to spoil: what is refused needs no run of its own."""
    assert student.other
    shutil.copyfile(student.other.zip, target)


def rewritten(
    target: Path, change: Callable[[str, bytes], bytes | None], more: dict[str, bytes] | None = None
) -> None:
    """The zip again with each member as `change` gives it, without those that it drops."""
    with zipfile.ZipFile(target) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if (changed := change(name, content)) is not None:
                archive.writestr(name, changed)
        for name, content in (more or {}).items():
            archive.writestr(name, content)


def signed(run: Path, manifest: dict[str, Any]) -> None:
    """Make the manifest fit the files."""
    files = {
        file.relative_to(run).as_posix(): digest_of(file)
        for file in sorted(run.rglob("*"))
        if file.is_file() and file.name != "manifest.json"
    }
    (run / "manifest.json").write_text(json.dumps(manifest | {"files": files}))
