"""`tcplab lab pack`: one zip with everything that is handed in.

It holds the answers, the runs' manifests and raw files, and pictures, modules and scripts.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from labs.definition.answer_sheet import read_sheet
from labs.definition.assignment import ANSWERS, FILE, Assignment
from labs.definition.lab_runs import FOLDER, run_folder
from labs.definition.predictions import FILE as PREDICTIONS
from labs.definition.question import HANDED_IN_FILES
from topologies.foundation.errors import TcplabError, UsageError

_TIME = (2000, 1, 1, 0, 0, 0)  # the same content gives the same zip


def pack(assignment: Assignment, out: Path | None = None) -> Path:
    """Write LAB-STUDENT.zip.

    Raises UsageError if a run is missing, TcplabError if the zip cannot be written.
    """
    name = f"{assignment.lab.name}-{safe_name(assignment.variant.student)}.zip"
    target = out or assignment.folder / name
    members = dict(_members(assignment))
    partial = target.with_name(f".{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside in sorted(members):
                information = zipfile.ZipInfo(inside, _TIME)
                information.compress_type, information.external_attr = (
                    zipfile.ZIP_DEFLATED,
                    0o100644 << 16,
                )
                archive.writestr(information, members[inside].read_bytes())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TcplabError(
            f"{target} cannot be written: {error.strerror}.", "Choose a place with --out."
        ) from None
    return target


def _members(assignment: Assignment) -> Iterator[tuple[str, Path]]:
    for name in (FILE, ANSWERS):
        yield name, assignment.folder / name
    if (assignment.folder / PREDICTIONS).is_file():
        yield PREDICTIONS, assignment.folder / PREDICTIONS
    for run in assignment.lab.runs:
        folder = run_folder(assignment.folder, run.name)
        if folder is None and run.chosen:
            continue  # a design that was not made: its question says so
        if folder is None:
            raise UsageError(
                f"The run {run.name} is not there yet.", "Make it first: ./tcplab lab run"
            )
        for file in (
            folder / "manifest.json",
            folder / "spec.json",
            *sorted((folder / "raw").rglob("*")),
        ):
            if file.is_file() and not file.is_symlink():
                yield f"{FOLDER}/{run.name}/{file.relative_to(folder).as_posix()}", file
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    for question in assignment.lab.questions:
        for name in answers[question.id] if question.kind in HANDED_IN_FILES else ():
            file = assignment.folder / name
            if "/" not in name and file.is_file() and not file.is_symlink():
                yield name, file


def blanks(assignment: Assignment) -> list[str]:
    """The questions without an answer."""
    answers = read_sheet(assignment.folder / ANSWERS, assignment.lab)
    return [question.id for question in assignment.lab.questions if not answers[question.id]]


def safe_name(text: str) -> str:
    """`text` as a part of a file's name on every system."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_"
        for letter in text
    )
