"""One hand-in on its way through grading: what was found, what was compared, what it earned."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from labs.course import Variant
from labs.grading.authentic import Difference
from labs.grading.inspection import Inspected
from labs.grading.intake import HandIn
from labs.grading.marking import Mark
from labs.grading.roster import Person
from labs.measuring import Values

State = Literal["graded", "look", "could not grade"]


@dataclass(frozen=True)
class Flag:
    """Why a person should look. `with_whom` names the other hand-in of a pair."""

    kind: str
    text: str
    with_whom: str = ""


@dataclass
class Case:
    """A hand-in. `folder` holds what was unpacked of it."""

    hand_in: HandIn
    folder: Path
    inspected: Inspected = field(default_factory=Inspected)
    person: Person | None = None
    variant: Variant | None = None
    refused: str = ""
    compared: dict[str, list[Difference]] = field(default_factory=dict)
    authentic: dict[str, bool] = field(default_factory=dict)
    runs: dict[str, list[Values]] = field(default_factory=dict)
    """What is marked by: for each run the values of its seeds."""
    repeated: dict[str, list[Values]] = field(default_factory=dict)
    """The same of the repeated runs."""
    bands: dict[str, tuple[float, float]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def student(self) -> str:
        """The id under which it is graded."""
        return self.variant.student if self.variant else (self.person.id if self.person else self.hand_in.label)

    @property
    def state(self) -> State:
        return "could not grade" if self.refused else "look" if self.flags else "graded"

    @property
    def points(self) -> float | None:
        """The points so far; None where it could not be graded."""
        return None if self.refused else round(sum(mark.points or 0.0 for mark in self.marks), 2)

    @property
    def open(self) -> list[Mark]:
        """What a person is still to read."""
        return [mark for mark in self.marks if mark.points is None]

    def flag(self, kind: str, text: str, with_whom: str = "") -> None:
        """Mark it for a look."""
        flag = Flag(kind, text, with_whom)
        if flag not in self.flags:
            self.flags.append(flag)

    def described(self) -> dict[str, Any]:
        """For report.json."""
        return {
            "label": self.hand_in.label, "student": self.student, "state": self.state, "points": self.points,
            "refused": self.refused, "authentic": self.authentic, "notes": self.notes,
            "flags": [vars(flag) for flag in self.flags], "marks": [vars(mark) for mark in self.marks],
        }  # fmt: skip
