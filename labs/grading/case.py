"""One hand-in on its way through grading: its content, its comparison and its points."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from experiments.run.verify import Difference
from labs.definition.answers import OwnParts
from labs.definition.assignment import Late, Variant
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
    """Verdict on an answer."""

    RIGHT = "right"
    FOLLOWS = "follows"
    UNIT = "unit"
    FACTOR = "factor"
    MISTAKE = "mistake"
    WRONG = "wrong"
    PART = "part"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    READ = "read"
    GIVEN = "given"
    LATE = "late"
    BY_HAND = "by hand"


class FlagKind(StrEnum):
    """Reason for a person to look at a hand-in."""

    TWICE = "twice"
    WHOSE = "whose"
    NOT_REAL_TIME = "not real time"
    REAL_TIME = "real time"
    BAND = "band"
    UNREADABLE = "unreadable"
    NEW_HAND_IN = "new hand-in"
    NO_RUN = "no run"
    MANIFEST = "manifest"
    OTHER_SETTINGS = "other settings"
    CAPTURES = "captures"
    CUT_SHORT = "cut short"
    FILES = "files"
    WITNESSES = "witnesses"
    TYPED = "typed"
    SAME_CAPTURES = "same captures"
    OTHER_VARIANT = "other variant"
    SAME_TEXT = "same text"


class State(StrEnum):
    """State of a hand-in after grading."""

    GRADED = "graded"
    LOOK = "look"
    MARKED_BY_HAND = "marked by hand"
    COULD_NOT_GRADE = "could not grade"
    NOT_HANDED_IN = "not handed in"


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

    def for_person(self, note: str, verdict: Verdict = Verdict.READ) -> AnswerMark:
        """Return the mark of an answer that a person is to read."""
        return replace(self, points=None, verdict=verdict, note=note)

    def earning(self, share: float, most: int, note: str = "") -> AnswerMark:
        """Return the mark of an answer that earns a share of its points."""
        verdict = Verdict.RIGHT if share == 1 else Verdict.PART if share else Verdict.WRONG
        return replace(self, points=round(share * most, 2), verdict=verdict, note=note)


_FOR_THE_STUDENT = {
    FlagKind.TWICE: "There is another hand-in under your name.",
    FlagKind.WHOSE: "It was handed in by another student than the one whom it names.",
    FlagKind.NOT_REAL_TIME: (
        "It says that it was made in real time, and not all of its files say so."
    ),
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
        """The text for the student, without names of others."""
        return _FOR_THE_STUDENT.get(self.kind) or (_OF_ANOTHER if self.with_whom else self.text)


@dataclass(eq=False)
class Case:
    """A hand-in. `folder` holds what was unpacked of it. Two hand-ins are never equal."""

    hand_in: HandIn
    folder: Path
    inspected: InspectedHandIn = field(default_factory=InspectedHandIn)
    person: Person | None = None
    variant: Variant | None = None
    own: OwnParts = NO_PARTS
    scripts: dict[str, Script] = field(default_factory=dict)
    """By question."""
    trials: dict[str, ScriptTrial] = field(default_factory=dict)
    """Results of scripts, by question."""
    refused: str = ""
    absent: bool = False
    """True for a student of the roster without a hand-in."""
    tested: TestedPrograms = field(default_factory=dict)
    """Results of programs on hidden networks, by question."""
    pseudonym: str = ""
    """The name on the leaderboard."""
    compared: dict[str, list[Difference]] = field(default_factory=dict)
    authentic: dict[str, bool] = field(default_factory=dict)
    runs: dict[str, list[Values]] = field(default_factory=dict)
    """The values that answers are marked by: for each run those of its seeds."""
    repeated: dict[str, list[Values]] = field(default_factory=dict)
    """Values of the repeated runs."""
    bands: dict[str, tuple[float, float]] = field(default_factory=dict)
    marks: list[AnswerMark] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    accepted: list[Flag] = field(default_factory=list)
    """Flags that a person has looked at."""
    notes: list[str] = field(default_factory=list)
    digest: str = ""
    """Of what was handed in (labs.grading.inspection): what people decided is bound to it."""

    late: Late | None = None
    """None if the lab has no deadline, or no time is known."""
    key_after: str = ""
    """The time until which feedback names no right answer."""

    @property
    def own_variant(self) -> Variant:
        """The variant of a case whose owner is known. Raises TcplabError for another."""
        if self.variant is None:
            raise TcplabError("It is unknown whose hand-in this is.", "Look at it by hand.")
        return self.variant

    @property
    def student(self) -> str:
        """The id under which it is graded."""
        if self.variant:
            return self.variant.student
        return self.person.id if self.person else self.hand_in.label

    def is_of(self, student: str) -> bool:
        """Return whether `student` means this one: spaces around it and capitals do not count."""
        return _plain(student) == _plain(self.student)

    @property
    def email(self) -> str:
        """The student's address; empty if it is not known."""
        return self.person.email if self.person else ""

    @property
    def names(self) -> set[str]:
        """Names of the student in a course system's table: id and address, in small letters."""
        return {name.casefold() for name in (self.student, self.email) if name}

    @property
    def state(self) -> State:
        if self.absent:
            return State.NOT_HANDED_IN
        if self.refused:
            return State.MARKED_BY_HAND if self.marks else State.COULD_NOT_GRADE
        return State.LOOK if self.flags else State.GRADED

    @property
    def points(self) -> float | None:
        """The points so far; None if it could not be graded, or there is no hand-in."""
        if not self.marks and self.state in (State.COULD_NOT_GRADE, State.NOT_HANDED_IN):
            return None
        return round(sum(mark.points or 0.0 for mark in self.marks), 2)

    @property
    def final(self) -> float | None:
        """The points that course systems get; None while something waits for a person."""
        waits = self.open or self.state in (State.LOOK, State.COULD_NOT_GRADE)
        return None if waits else self.after_lateness(self.points)

    def after_lateness(self, points: float | None) -> float | None:
        """Return what lateness leaves of points."""
        return points if points is None or self.late is None else self.late.after(points)

    @property
    def open(self) -> list[AnswerMark]:
        """Marks of answers that a person is still to read."""
        return [mark for mark in self.marks if mark.points is None]

    def band_width(self, question: str) -> float:
        """Return the width of a number's band, in percent of its middle."""
        low, high = self.bands[question]
        middle = abs(low + high) / 2
        return 100 * (high - low) / middle if middle else 0.0

    def flag(self, kind: FlagKind, text: str, with_whom: str = "") -> None:
        """Mark it for a look."""
        flag = Flag(kind, text, with_whom)
        if flag not in self.flags:
            self.flags.append(flag)

    def refuse(self, problem: str) -> None:
        """Record why it cannot be graded. Points that a person gave stay, and all others go."""
        self.refused = problem
        self.marks = [mark for mark in self.marks if mark.verdict is Verdict.BY_HAND]

    def described(self) -> dict[str, Any]:
        """For report.json."""
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


def _plain(student: str) -> str:
    return unicodedata.normalize("NFKC", student).strip().lower()


@dataclass(frozen=True, eq=False)
class ExportedPoints:
    """A student's entry for a course system: the hand-in, and its points if they are final."""

    case: Case
    points: float | None

    @property
    def name(self) -> str:
        """The student's id."""
        return self.case.student


def exported_points(cases: Sequence[Case]) -> list[ExportedPoints]:
    """Return one entry for each student.

    Of several hand-ins the one that is final counts; if two are, the student has no points.
    """
    students: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        students[_plain(case.student)].append(case)
    return [_counted(group) for group in students.values()]


def _counted(group: Sequence[Case]) -> ExportedPoints:
    settled = [case for case in group if case.final is not None]
    if len(settled) == 1:
        return ExportedPoints(settled[0], settled[0].final)
    return ExportedPoints(group[0], None)
