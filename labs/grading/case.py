"""One hand-in on its way through grading: received, checked, marked and decided about.

A step never changes a case: it returns another one, of which more is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from labs.definition.answers import OwnParts
from labs.definition.assignment import Late, Variant, plain_id
from labs.definition.forecast import ScoredRule
from labs.definition.key import Key
from labs.definition.runs import NO_PARTS
from labs.definition.scripts import ScriptTrial
from labs.grading.inspection import InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.tables import Person
from labs.measuring.measures import Values
from labs.measuring.references import TestedPrograms
from testbed.packetdrill.scripts import Script
from topologies.errors import TcplabError


class Verdict(StrEnum):
    """Verdict on an answer: its name, its words on a page, and the class of its share in a bar."""

    words: str
    share: str

    def __new__(cls, name: str, words: str, share: str = "") -> Verdict:
        verdict = str.__new__(cls, name)
        verdict._value_, verdict.words, verdict.share = name, words, share
        return verdict

    RIGHT = "right", "right"
    FOLLOWS = "follows", "right, by your earlier answers"
    UNIT = "unit", "right number, but the unit", "some"
    FACTOR = "factor", "off by a known factor", "some"
    MISTAKE = "mistake", "a known mix-up", "none"
    WRONG = "wrong", "not right", "none"
    PART = "part", "partly right", "some"
    EMPTY = "empty", "not answered", "none"
    UNREADABLE = "unreadable", "cannot be read by the program", "open"
    READ = "read", "read by a person", "open"
    GIVEN = "given", "a prediction made before the run"
    LATE = "late", "not recorded before the run", "none"
    BY_HAND = "by hand", "points given by a person"


_OfHandIn = Literal["twice", "whose", "new hand-in", "unreadable", "typed", "not carried"]
_OfRun = Literal["no run", "manifest", "other settings", "captures", "cut short", "files"]
_OfRealTime = Literal["not real time", "real time", "band", "witnesses"]
_OfAnother = Literal["same captures", "other variant", "same text"]
FlagKind = _OfHandIn | _OfRun | _OfRealTime | _OfAnother
State = Literal["graded", "look", "marked by hand", "could not grade", "not handed in"]


@dataclass(frozen=True)
class AnswerMark:
    """The mark of an answer: `points` is None if a person is to read it.

    `items` are the numbers of the rubric's items that a person gave; None without a rubric.
    """

    question: str
    given: str
    expected: str
    points: float | None
    verdict: Verdict
    note: str = ""
    mistake: str = ""
    items: tuple[int, ...] | None = None
    drawn: ScoredRule | None = None  # of a forecast: drawn over the networks

    def for_person(self, note: str, verdict: Verdict = Verdict.READ) -> AnswerMark:
        return replace(self, points=None, verdict=verdict, note=note)

    def earning(self, share: float, most: int, note: str = "") -> AnswerMark:
        verdict = Verdict.RIGHT if share == 1 else Verdict.PART if share else Verdict.WRONG
        return replace(self, points=round(share * most, 2), verdict=verdict, note=note)


_FOR_THE_STUDENT = {
    "twice": "There is another hand-in under your name.",
    "whose": "It was handed in by another student than the one whom it names.",
    "not real time": "It says that it was made in real time, and not all of its files say so.",
}
_OF_ANOTHER = "Parts of it are the same as another student's, or fit another student's run."


@dataclass(frozen=True)
class Flag:
    """A reason for a person to look. `with_whom` names the other hand-in of a pair."""

    kind: FlagKind
    text: str
    with_whom: str = ""

    @property
    def for_the_student(self) -> str:
        return _FOR_THE_STUDENT.get(self.kind) or (_OF_ANOTHER if self.with_whom else self.text)


@dataclass(frozen=True, eq=False)
class Case:
    """A hand-in. Two are never equal.

    Received are `folder`, which holds what was unpacked, to `key_after`, until when feedback names
    no right answer; decisions are bound to the `digest`. Checked are `trials` and `tested` programs
    by question, and by run `authentic` files, the values that count, those of the `repeated` runs,
    and their files' digests `expected`. Marked are `bands`, `marks`, the `key`, and the numbers
    `right` by it. Decided are `accepted` flags, the `pseudonym`, and `late`, None if unknown.
    """

    hand_in: HandIn
    folder: Path
    inspected: InspectedHandIn = field(default_factory=InspectedHandIn)
    person: Person | None = None
    variant: Variant | None = None
    own: OwnParts = NO_PARTS
    scripts: Mapping[str, Script] = field(default_factory=dict)
    refused: str = ""
    absent: bool = False
    digest: str = ""
    key_after: str = ""
    trials: Mapping[str, ScriptTrial] = field(default_factory=dict)
    tested: TestedPrograms = field(default_factory=dict)
    authentic: Mapping[str, bool] = field(default_factory=dict)
    runs: Mapping[str, Sequence[Values]] = field(default_factory=dict)
    repeated: Mapping[str, Sequence[Values]] = field(default_factory=dict)
    expected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    marks: Sequence[AnswerMark] = ()
    key: Key | None = None
    right: Collection[str] = ()
    flags: Sequence[Flag] = ()
    notes: Sequence[str] = ()
    accepted: Sequence[Flag] = ()
    pseudonym: str = ""
    late: Late | None = None

    @property
    def own_variant(self) -> Variant:
        """The variant of a case whose owner is known. Raises TcplabError for another."""
        if self.variant is None:
            raise TcplabError("It is unknown whose hand-in this is.", "Look at it by hand.")
        return self.variant

    @property
    def student(self) -> str:
        if self.variant:
            return self.variant.student
        return self.person.id if self.person else self.hand_in.label

    def is_of(self, student: str) -> bool:
        """Return whether `student` means this one: spaces around it and capitals do not count."""
        return plain_id(student) == plain_id(self.student)

    @property
    def names(self) -> set[str]:
        """Names of the student in a course system's table: id and address, in small letters."""
        address = self.person.email if self.person else ""
        return {name.casefold() for name in (self.student, address) if name}

    @property
    def state(self) -> State:
        if self.absent:
            return "not handed in"
        if self.refused:
            return "marked by hand" if self.marks else "could not grade"
        return "look" if self.flags else "graded"

    @property
    def points(self) -> float | None:
        """The points so far; None if it could not be graded, or there is no hand-in."""
        if not self.marks and self.state in ("could not grade", "not handed in"):
            return None
        return round(sum(mark.points or 0.0 for mark in self.marks), 2)

    @property
    def final(self) -> float | None:
        """The points that course systems get; None while something waits for a person."""
        waits = self.open or self.state in ("look", "could not grade")
        return None if waits else self.after_lateness(self.points)

    def after_lateness(self, points: float | None) -> float | None:
        return points if points is None or self.late is None else self.late.after(points)

    @property
    def open(self) -> list[AnswerMark]:
        return [mark for mark in self.marks if mark.points is None]

    def band_width(self, question: str) -> float:
        """Return the width of a number's band, in percent of its middle."""
        low, high = self.bands[question]
        middle = abs(low + high) / 2
        return 100 * (high - low) / middle if middle else 0.0

    def flagged(self, *flags: Flag) -> Case:
        """Return the case marked for a look, once for each reason."""
        return replace(self, flags=tuple(dict.fromkeys((*self.flags, *flags))))

    def noted(self, *notes: str) -> Case:
        return replace(self, notes=(*self.notes, *notes))

    def refuse(self, problem: str) -> Case:
        """Return it as one that cannot be graded. Of its points those that a person gave stay."""
        given = tuple(mark for mark in self.marks if mark.verdict is Verdict.BY_HAND)
        return replace(self, refused=problem, marks=given)

    def described(self) -> dict[str, Any]:
        return {
            "label": self.hand_in.label,
            "student": self.student,
            "state": self.state,
            "points": self.points,
            "final": self.final,
            "digest": self.digest,
            "accepted": [vars(flag) for flag in self.accepted],
            "refused": self.refused,
            "late": vars(self.late) if self.late else None,
            "authentic": self.authentic,
            "notes": self.notes,
            "flags": [vars(flag) for flag in self.flags],
            "marks": [vars(mark) for mark in self.marks],
        }


@dataclass(frozen=True, eq=False)
class ExportedPoints:
    """A student's entry for a course system: the hand-in, and its points if they are final."""

    case: Case
    points: float | None


def exported_points(cases: Sequence[Case]) -> list[ExportedPoints]:
    """Return one entry for each student: the only hand-in that is final counts."""
    students: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        students[plain_id(case.student)].append(case)
    entries = []
    for group in students.values():
        final = [case for case in group if case.final is not None]
        case = final[0] if len(final) == 1 else group[0]
        entries.append(ExportedPoints(case, case.final if len(final) == 1 else None))
    return entries
