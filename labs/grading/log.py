"""The log of a folder of grades: decisions of people and changed grades, in one file that grows.

What people decided before is what the log says last. Before files are written over, former/NUMBER
gets the former tables, report.json and results for Gradescope.
"""

import csv
import getpass
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from labs.definition.assignment import as_text
from labs.grading.case import Case, Verdict
from labs.grading.decisions import Acceptance, Decisions, Override, Rejection
from labs.grading.tables import table
from topologies.errors import UsageError
from topologies.notation import json_value

LOG = "log.csv"
Data = TypeVar("Data")


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
    def decision(self) -> tuple[str, str, str, str]:
        """The kind of decision, and whose answer to which question in which hand-in it is about."""
        return self.what, self.student, self.question, self.hand_in

    @property
    def sentence(self) -> str:
        why = f" ({self.why})" if self.why else ""
        old, new = self.old or "none", self.new or "none"
        return f"  {self.student}, {self.question}: {old} before, {new} now{why}"


_HEADING = tuple(field.name for field in fields(LogEntry))


def read(folder: Path) -> list[LogEntry]:
    return _parsed((folder / LOG).read_text("utf-8")) if (folder / LOG).is_file() else []


def _parsed(text: str) -> list[LogEntry]:
    rows = csv.DictReader(text.splitlines(keepends=True))
    return [LogEntry(*(row.get(name) or "" for name in _HEADING)) for row in rows]


def append(folder: Path, entries: Iterable[LogEntry]) -> None:
    """Add entries with the time, and the account where no reader is named."""
    who, when = "", as_text(datetime.now())
    with suppress(KeyError, OSError):  # an account without a name, as in a container
        who = getpass.getuser()
    rows = [astuple(replace(entry, when=when, who=entry.who or who)) for entry in entries]
    if rows:
        text = table(_HEADING, rows)
        with (folder / LOG).open("a", encoding="utf-8") as stream:
            stream.write(text if stream.tell() == 0 else text.partition("\n")[2])


def add_decisions(folder: Path, decisions: Decisions) -> None:
    """Add each decision that is new, changed or withdrawn since the last grading."""
    before = {entry.decision: entry for entry in read(folder) if entry.what != "grade"}
    # As the file gives them back, so that an escaped cell is no change.
    made = _parsed(table(_HEADING, map(astuple, _entries(decisions))))
    now, changes = {entry.decision: entry for entry in made}, []
    for decision, entry in now.items():
        old = before.get(decision)
        if old is None or (old.new, old.why) != (entry.new, entry.why):
            changes.append(replace(entry, old=old.new if old else ""))
    for decision, old in before.items():
        if decision not in now and old.new:
            changes.append(LogEntry(*decision, new="", why="withdrawn", old=old.new))
    append(folder, changes)


def _entries(decisions: Decisions) -> Iterator[LogEntry]:
    def entry(
        what: str, line: Override | Acceptance | Rejection, new: str, question: str = ""
    ) -> LogEntry:
        by = line.by or ""
        return LogEntry(what, line.student, question, line.hand_in, new, line.comment, by)

    for line in decisions.override:
        items = ", ".join(map(str, line.items or ())) or "none"
        points = f"{line.points:g}" + (f" (items: {items})" if line.items is not None else "")
        yield entry("points by hand", line, points, line.question)
    for accepted in decisions.accept:
        yield entry("accepted", accepted, "; ".join(accepted.flags) or "no flag")
    for rejected in decisions.reject:
        yield entry("rejected", rejected, "zero points")


FORMER, _REPORT = "former", "report.json"
_TABLES = ("grades.csv", "moodle.csv", "canvas.csv", _REPORT)
_SHOWN = 20
_FINAL = "final"  # in the place of a question: the points that course systems get


class FormerMark(msgspec.Struct, frozen=True):
    question: str
    points: float | None = None
    verdict: str = ""
    expected: str = ""
    note: str = ""


class FormerCase(msgspec.Struct, frozen=True):
    student: str
    digest: str = ""
    state: str = ""
    final: float | None = None
    late: dict[str, Any] | None = None
    marks: tuple[FormerMark, ...] = ()


def keep_former(out: Path, cases: Sequence[Case], exports: Mapping[str, bytes]) -> list[str]:
    """Keep the former export if `exports` differ; return sentences on changed grades."""
    names = [name for name in _TABLES if (out / name).is_file()]
    names += sorted(f"gradescope/{file.name}" for file in (out / "gradescope").glob("*.json"))
    if all((out / name).read_bytes() == exports.get(name) for name in names):
        return []
    remedy = "Rename it: then changed grades are not listed."
    former = former_data(out / _REPORT, tuple[FormerCase, ...], (), remedy)
    changes = list(_regrade_changes(former, cases))
    numbers = [int(each.name) for each in (out / FORMER).glob("*") if each.name.isdecimal()]
    folder = out / FORMER / str(max(numbers, default=0) + 1)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(out / name, folder / name)
    kept = f"The former export is in {folder.relative_to(out)}."
    if not changes:
        return [kept]
    append(out, (replace(change, former=folder.name) for change in changes))
    more = [f"  and {len(changes) - _SHOWN} more"] if len(changes) > _SHOWN else []
    said = [change.sentence for change in changes[:_SHOWN]]
    return [f"{len(changes)} changes of grades are in {LOG}. {kept}", *said, *more]


def former_data(file: Path, kind: type[Data], default: Data, remedy: str) -> Data:
    """Return what the grading before wrote, the default if it is absent. Raises UsageError."""
    try:
        return msgspec.convert(json_value(file.read_bytes()), kind)
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}.", remedy) from None


def _regrade_changes(former: Sequence[FormerCase], cases: Sequence[Case]) -> Iterator[LogEntry]:
    by_digest = {(each.student, each.digest): each for each in former}
    by_student = {each.student: each for each in former}
    for case in cases if former else ():
        old = by_digest.get((case.student, case.digest)) or by_student.get(case.student)
        if old is None:
            yield _change(case.student, _FINAL, None, case.final, "handed in since")
        else:
            yield from _changes_of(old, case)
    students = {case.student for case in cases}
    for old in (each for each in former if each.student not in students):
        yield _change(old.student, _FINAL, old.final, None, "no hand-in any more")


def _change(student: str, name: str, old: float | None, new: float | None, why: str) -> LogEntry:
    before, now = ("" if each is None else f"{each:g}" for each in (old, new))
    return LogEntry("grade", student, name, "", now, why, old=before)


def _changes_of(old: FormerCase, case: Case) -> Iterator[LogEntry]:
    another = "another hand-in" if old.digest != case.digest else ""
    if old.final != case.final:
        states = f"{old.state}, now {case.state}" if old.state != case.state else ""
        former, new = (old.late or {}).get("percent", 0.0), case.late.percent if case.late else 0.0
        late = f"{former:g} % off for lateness, now {new:g} %" if former != new else ""
        why = another or case.refused or states or late
        yield _change(case.student, _FINAL, old.final, case.final, why)
    before = {mark.question: mark for mark in old.marks}
    for mark in case.marks:
        was = before.get(mark.question, FormerMark(mark.question))
        if was.points != mark.points:
            by_hand = mark.verdict is Verdict.BY_HAND
            why = mark.note if was.note != mark.note else ""
            if was.expected != mark.expected:
                why = f"the key was '{was.expected}' and is '{mark.expected}'"
            if by_hand or was.verdict == Verdict.BY_HAND:
                why = "points by hand" if by_hand else "its points by hand are withdrawn"
            why = another or why
            yield _change(case.student, mark.question, was.points, mark.points, why)
