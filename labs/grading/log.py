"""The log of a folder of grades: decisions of people and changed grades, in one file that grows.

What people decided before is what the log says last, so no other file has to remember it.
"""

from __future__ import annotations

import csv
import getpass
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from labs.definition.dates import as_text
from labs.grading.decisions import Acceptances, Overrides
from labs.grading.tables import table

LOG = "log.csv"
Decision = tuple[str, str, str, str]
"""What was decided, about whose answer to which question, in which hand-in."""


@dataclass(frozen=True)
class LogEntry:
    """A line of the log. `former` is the number of the export before a changed grade."""

    what: str
    student: str
    question: str
    hand_in: str
    new: str
    why: str
    who: str = ""
    when: str = ""
    old: str = ""
    former: str = ""

    @property
    def decision(self) -> Decision:
        return self.what, self.student, self.question, self.hand_in


_HEADING = tuple(field.name for field in fields(LogEntry))


def read(folder: Path) -> list[LogEntry]:
    """Return the entries of the log, the oldest first."""
    file = folder / LOG
    return _parsed(file.read_text("utf-8")) if file.is_file() else []


def _parsed(text: str) -> list[LogEntry]:
    rows = csv.DictReader(text.splitlines(keepends=True))
    return [LogEntry(*(row.get(name) or "" for name in _HEADING)) for row in rows]


def append(folder: Path, entries: Iterable[LogEntry]) -> None:
    """Add entries with the time, and the account where no reader is named."""
    who, when = _account(), as_text(datetime.now())
    dated = [replace(entry, when=when, who=entry.who or who) for entry in entries]
    if not dated:
        return
    text = table(_HEADING, [astuple(entry) for entry in dated])
    with (folder / LOG).open("a", encoding="utf-8") as stream:
        stream.write(text if stream.tell() == 0 else text.partition("\n")[2])


def _account() -> str:
    with suppress(KeyError, OSError):  # an account without a name, as in a container
        return getpass.getuser()
    return ""


def add_decisions(folder: Path, overrides: Overrides, acceptances: Acceptances) -> None:
    """Add each decision that is new, changed or withdrawn since the last grading."""
    before = {entry.decision: entry for entry in read(folder) if entry.what != "grade"}
    # As the file gives them back, so that an escaped cell is no change.
    made = _parsed(table(_HEADING, map(astuple, _decisions(overrides, acceptances))))
    now = {entry.decision: entry for entry in made}
    append(folder, _changes(before, now))


def _changes(
    before: Mapping[Decision, LogEntry], now: Mapping[Decision, LogEntry]
) -> Iterator[LogEntry]:
    for decision, entry in now.items():
        old = before.get(decision)
        if old is None or (old.new, old.why) != (entry.new, entry.why):
            yield replace(entry, old=old.new if old else "")
    for decision, old in before.items():
        if decision not in now and old.new:
            yield LogEntry(*decision, new="", why="withdrawn", old=old.new)


def _decisions(overrides: Overrides, acceptances: Acceptances) -> Iterator[LogEntry]:
    for line in overrides.override:
        items = ", ".join(map(str, line.items or ())) or "none"
        points = f"{line.points:g}" + (f" (items: {items})" if line.items is not None else "")
        what = ("points by hand", line.student, line.question, line.hand_in)
        yield LogEntry(*what, points, line.comment, line.by or "")
    for accepted in acceptances.accept:
        flags = "; ".join(accepted.flags) or "no flag"
        what = ("accepted", accepted.student, "", accepted.hand_in)
        yield LogEntry(*what, flags, accepted.comment, accepted.by or "")
    for rejected in acceptances.reject:
        what = ("rejected", rejected.student, "", rejected.hand_in)
        yield LogEntry(*what, "zero points", rejected.comment, rejected.by or "")
