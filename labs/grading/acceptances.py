"""Hand-ins that a person has looked at and accepted: accepted.toml in the folder of grades.

An acceptance is of one hand-in, by its digest, and of the flags that were seen: a new upload of the
same student, or a flag that comes up later, is looked at again. Until then a flagged hand-in
exports no points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.grading.case import Case
from labs.grading.overrides import read_toml
from topologies.foundation.data import from_data

FILE = "accepted.toml"
_BEGINNING = """\
# Hand-ins that you have looked at and accept. This file is read at each grading and never written
# again; reading.html makes lines for it.
#
# [[accept]]
# student = "ben"
# hand_in = "..."          # the digest of the hand-in: what ben uploads later is another
# flags = ["real time"]    # what you have seen: any other flag waits for a look of its own
# comment = "Shown to the student."
"""
_ANOTHER = "An earlier hand-in was accepted. This is another, and was not looked at yet."


@dataclass(frozen=True)
class Acceptance:
    student: str
    hand_in: str
    flags: tuple[str, ...]
    comment: str = ""


@dataclass(frozen=True)
class Acceptances:
    """Everything that was accepted."""

    accept: tuple[Acceptance, ...] = ()


def read_acceptances(folder: Path) -> Acceptances:
    """The file in the folder of grades, made if there is none. Raises UsageError."""
    acceptances: Acceptances = from_data(Acceptances, read_toml(folder / FILE, _BEGINNING), FILE)
    return acceptances


def apply_acceptances(case: Case, acceptances: Acceptances) -> None:
    """Take the flags that were accepted off this hand-in; say if another one was accepted."""
    lines = [line for line in acceptances.accept if case.is_of(line.student)]
    for line in lines:
        if case.digest and line.hand_in == case.digest:
            _take_off(case, line)
    if case.flags and lines and all(line.hand_in != case.digest for line in lines):
        case.flag("new hand-in", _ANOTHER)


def _take_off(case: Case, line: Acceptance) -> None:
    seen = [flag for flag in case.flags if flag.kind in line.flags]
    if seen:
        case.accepted += seen
        case.flags = [flag for flag in case.flags if flag not in seen]
        case.notes.append(f"Looked at and accepted. {line.comment}".strip())


def strangers(names: Sequence[str], cases: Sequence[Case]) -> list[str]:
    """The students in files of decisions who handed in nothing."""
    return sorted({name for name in names if not any(case.is_of(name) for case in cases)})
