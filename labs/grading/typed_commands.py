"""Commands that a student typed into hosts, repeated in a guest by a limited process."""

from __future__ import annotations

from labs.definition.assignment import Assignment
from labs.definition.runs import TYPED
from labs.definition.spec import LabSpec
from labs.grading.case import Case, FlagKind
from labs.measuring.contained import Allowance, contained_as
from labs.student.runs import differences
from topologies.errors import TcplabError

_TYPING = Allowance(120.0, 6 << 30)
"""Of all sessions of a student: a command that never ends, such as ping, is stopped here."""


def repeat_typed(case: Case, lab: LabSpec) -> None:
    """Repeat the commands that were typed into hosts; flag a record that prints other things."""
    if not (case.folder / TYPED).is_file():
        return
    try:
        assignment = Assignment(case.folder, lab, case.own_variant)
        found = contained_as(list[str], differences, assignment, allowance=_TYPING, tell=_unheard)
    except TcplabError as error:
        found = [f"{TYPED} could not be repeated: {error}"]
    for sentence in found:
        case.flag(FlagKind.TYPED, sentence)
    if not found:
        case.notes.append(f"The commands of {TYPED} print the same when they are repeated.")


def _unheard(_phase: str, _elapsed: float) -> None:
    """Let the process end its guest by itself."""
