"""Decisions of people: overrides.toml, accepted.toml, and the dates of the course.

People write these files, and grading only reads them. An acceptance applies to one hand-in, by its
digest, and to the flags that were seen. Late hand-ins have their times by Moodle's worksheet,
Canvas's marks, or the files of a plain download."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labs.definition.assignment import Dates, Late, as_text, rubric_items
from labs.definition.catalogue import FOLDER
from labs.definition.spec import LabSpec
from labs.grading.case import AnswerMark, Case, Flag, Verdict
from labs.grading.moodle import Worksheet
from topologies.data import from_data
from topologies.errors import UsageError
from topologies.notation import toml_file

OVERRIDES = "overrides.toml"
REST = "rest"  # in the place of a question: all that have no line and no points yet


@dataclass(frozen=True)
class Override:
    """Points that a person gave, with the numbers of the rubric's items that earned them."""

    student: str
    question: str
    points: float
    comment: str = ""
    hand_in: str = ""
    items: tuple[int, ...] | None = None
    by: str | None = None


ACCEPTED = "accepted.toml"
_ANOTHER = "An earlier hand-in was accepted. This is another, and was not looked at yet."


@dataclass(frozen=True)
class Acceptance:
    student: str
    hand_in: str
    flags: tuple[str, ...]
    comment: str = ""
    by: str | None = None


@dataclass(frozen=True)
class Rejection:
    student: str
    hand_in: str
    comment: str = ""
    by: str | None = None


@dataclass(frozen=True)
class _Overrides:
    override: tuple[Override, ...] = ()


@dataclass(frozen=True)
class _Acceptances:
    accept: tuple[Acceptance, ...] = ()
    reject: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class Decisions(_Acceptances, _Overrides):
    """Both files: points by hand, accepted flags, and rejected hand-ins."""

    def lines_for(self, case: Case) -> dict[str, Override]:
        """By question; the last line counts, and none that was written about another hand-in."""
        return {
            line.question: line
            for line in self.override
            if case.is_of(line.student) and line.hand_in in ("", case.digest)
        }


def read_decisions(folder: Path, lab: LabSpec) -> Decisions:
    """Return the files in the folder of grades, made if there are none. Raises UsageError."""
    points: _Overrides = from_data(_Overrides, _read_toml(folder / OVERRIDES), OVERRIDES)
    for line in points.override:
        _check(line, lab, folder / OVERRIDES)
    others: _Acceptances = from_data(_Acceptances, _read_toml(folder / ACCEPTED), ACCEPTED)
    return Decisions(points.override, others.accept, others.reject)


def _check(line: Override, lab: LabSpec, file: Path) -> None:
    question = None if line.question == REST else lab.question(line.question)
    most, items = (question.points, rubric_items(question)) if question else (lab.points, ())
    if not 0 <= line.points <= most:
        problem = f"{line.question} has {most} points at most."
    elif not set(line.items or ()) <= set(range(1, len(items) + 1)):
        problem = f"the rubric of {line.question} has {len(items)} items."
    else:
        return
    raise UsageError(f"{file}: {problem}", "Correct that line and grade again.")


def _read_toml(file: Path) -> dict[str, Any]:
    """Return a file of decisions; begin one if it is missing. Raises UsageError."""
    if not file.exists():
        file.write_text((FOLDER / "templates" / file.name).read_text("utf-8"))
    try:
        return toml_file(file)
    except (OSError, ValueError) as error:
        remedy = "Correct that line and grade again."
        raise UsageError(f"{file} cannot be read: {error}.", remedy) from None


def apply_overrides(case: Case, lab: LabSpec, decisions: Decisions) -> Case:
    """Give the points that people gave, also if it could not be graded; other questions wait."""
    lines, marks = decisions.lines_for(case), list(case.marks)
    if case.refused:
        note = "It is marked by a person."
        asked = lab.questions if lines else ()
        marks = [AnswerMark(each.id, "", "", None, Verdict.READ, note) for each in asked]
    marks = [
        _given(mark, lines[mark.question]) if mark.question in lines else mark for mark in marks
    ]
    waiting = {mark.question for mark in marks if mark.points is None}
    if REST in lines and waiting:
        # The line has the points of all these questions together.
        most = float(sum(lab.question(name).points for name in waiting))
        rest = replace(lines[REST], points=min(most, lines[REST].points))
        marks = [mark for mark in marks if mark.points is not None]
        marks.append(_given(AnswerMark(REST, "", "", None, Verdict.READ), rest))
    return replace(case, marks=tuple(marks))


def _given(mark: AnswerMark, line: Override) -> AnswerMark:
    return replace(_by_hand(mark, line.points, line.comment), items=line.items)


def _by_hand(mark: AnswerMark, points: float, comment: str) -> AnswerMark:
    return replace(mark, points=points, verdict=Verdict.BY_HAND, note=comment)


def apply_acceptances(case: Case, decisions: Decisions) -> Case:
    """Take off accepted flags; say if another hand-in was accepted. Zero points if rejected."""
    for rejected in decisions.reject:
        if case.is_of(rejected.student) and case.digest and rejected.hand_in == case.digest:
            marks = tuple(_by_hand(mark, 0.0, rejected.comment) for mark in case.marks)
            accepted = (*case.accepted, *case.flags)
            case = replace(case, accepted=accepted, flags=(), marks=marks)
            return case.noted(f"This hand-in was rejected. {rejected.comment}".strip())
    lines = [line for line in decisions.accept if case.is_of(line.student)]
    others = all(line.hand_in != case.digest for line in lines)
    for line in lines:
        seen = [flag for flag in case.flags if flag.kind in line.flags]
        if seen and case.digest and line.hand_in == case.digest:
            left = tuple(flag for flag in case.flags if flag not in seen)
            case = replace(case, flags=left, accepted=(*case.accepted, *seen))
            case = case.noted(f"Looked at and accepted. {line.comment}".strip())
    if case.flags and lines and others:
        return case.flagged(Flag("new hand-in", _ANOTHER))
    return case


_MONTHS = toml_file(Path(__file__).with_name("months.toml"))["months"]
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\w*\.?"
_OF = r"[\s,]+(?:de\s+|d['\u2019]\s*)?"
_DAY = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})\.?(?:\s+de\s+|\s+d['\u2019]\s*|\s+){_MONTH}"
    rf"|{_MONTH.replace('month', 'before')}\s+(?P<after>\d{{1,2}})){_OF}(?P<year>\d{{4}})",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(\d{1,2})[:.h](\d{2})(?:\s*([ap])\.?\s?m\b)?", re.IGNORECASE)
_NOON = 12


def moodle_time(text: str) -> datetime | None:
    """Return the time in words of Moodle's, such as "Monday, 21 September 2026, 2:13 PM"."""
    day = _DAY.search(text)
    clock = _CLOCK.search(text, day.end()) if day else None
    if day is None or clock is None:
        return None
    month = _NUMBERS[(day["month"] or day["before"]).lower()]
    hour = int(clock[1])
    if clock[3]:
        hour = hour % _NOON + _NOON * (clock[3].lower() == "p")
    try:
        date = int(day["year"]), month, int(day["day"] or day["after"])
        return datetime(*date, hour, int(clock[2]))
    except ValueError:
        return None


def hide_key(case: Case, dates: Dates) -> Case:
    if dates.key_after and datetime.now() < dates.key_after:
        return replace(case, key_after=as_text(dates.key_after))
    return case


def apply_dates(case: Case, dates: Dates, sheet: Worksheet | None, in_folder: bool) -> Case:
    return replace(case, late=_late(case, dates, sheet, in_folder)) if dates.deadline else case


def _late(case: Case, dates: Dates, sheet: Worksheet | None, in_folder: bool) -> Late | None:
    said = next((each for each in dates.exception if case.is_of(each.student)), None)
    if said and said.submitted:
        return dates.late(said.submitted, "by your instructor", said)
    time = moodle_time(sheet.submitted(case)) if sheet else None
    if time:
        return dates.late(time, "by Moodle", said)
    if case.hand_in.canvas:
        return Late("", "by Canvas", None if case.hand_in.late else 0)
    if case.hand_in.moodle or case.hand_in.upload or not case.hand_in.time:
        return None
    # A zip's times have no zone, and are read as UTC.
    zone = None if in_folder else UTC
    local = datetime.fromtimestamp(case.hand_in.time, zone).replace(tzinfo=None)
    return dates.late(local, "by the file's time", said)


def date_notices(cases: Sequence[Case]) -> Iterator[str]:
    unknown = [case.student for case in cases if case.late is None]
    if unknown:
        remedy = "name Moodle's worksheet, or write `submitted` under [[dates.exception]]"
        yield f"No time is known of the hand-in of {', '.join(unknown)}: {remedy}."
    marked = [case.student for case in cases if case.late and case.late.days is None]
    if marked:
        text = "Canvas marks these as late without a time, and no points are taken off:"
        yield f"{text} {', '.join(marked)}. Write `submitted` under [[dates.exception]]."
