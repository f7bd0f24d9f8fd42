"""What a lab is: frozen data from its lab.toml, checked when it is read.

A lab names runs of experiments, the ranges from which each student's link is drawn, and
questions about the runs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from labs.definition.written_numbers import unit_named
from topologies.errors import UsageError

Kind = Literal["number", "choice", "choices", "text", "graph", "module"]
READ_BY_HAND: tuple[Kind, ...] = ("text", "graph")
"""Kinds that a person reads; the others are marked by the grader."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class Option:
    """A choice that can be ticked."""

    id: str
    text: str


@dataclass(frozen=True)
class Mistake:
    """A known wrong way: the key gives the value it leads to, the note says what was mixed up."""

    id: str
    note: str


@dataclass(frozen=True)
class Question:
    """One question.

    `how` says how the value is obtained, `unit` is what the answer should be in (empty: a count).
    `low` and `high` bound what is plausible, in `unit`. A question with `follows` is calculated
    from those answers, and earns its points also if they were wrong and were used rightly. `rubric`
    is for the person who reads an answer that no program marks.
    """

    id: str
    kind: Kind
    ask: str
    points: int
    how: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    hints: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    follows: tuple[str, ...] = ()
    rubric: str = ""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.id):
            raise UsageError(
                f"'{self.id[:40]}' cannot name a question.", "Use small letters, digits and _."
            )
        if not 1 <= self.points <= 100:
            raise UsageError(f"{self.id} has {self.points} points.", "Give it 1 to 100.")
        if (self.kind in ("choice", "choices")) != bool(self.options):
            raise UsageError(
                f"{self.id}: options belong to choices, and choices have options.",
                "Correct lab.toml.",
            )
        if self.kind in READ_BY_HAND and not self.rubric:
            raise UsageError(f"{self.id} has no rubric.", "Say what earns its points.")
        if self.kind == "number":
            unit_named(self.unit)


@dataclass(frozen=True)
class Range:
    """What a parameter is drawn from; all values are equally likely."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class LabRun:
    """A run to do: an experiment with `settings` (NAME=VALUE) and the student's values of `varies`.

    `module` says that it loads the module that is handed in.
    """

    name: str
    experiment: str
    settings: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    seeds: int = 1
    module: bool = False


@dataclass(frozen=True)
class LabSpec:
    """A lab. `claim` is the lesson in one sentence, which every variant must show."""

    name: str
    title: str
    claim: str
    minutes: int
    goals: tuple[str, ...]
    varies: tuple[Range, ...]
    runs: tuple[LabRun, ...]
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids) or not ids:
            raise UsageError(
                f"Lab {self.name}: a question is named twice, or there is none.",
                "Correct lab.toml.",
            )
        names = {drawn.name for drawn in self.varies}
        for run in self.runs:
            if (
                not NAME.fullmatch(run.name)
                or not set(run.varies) <= names
                or not 1 <= run.seeds <= 20
            ):
                raise UsageError(
                    f"Lab {self.name}: run '{run.name[:40]}' is not possible.", "Correct lab.toml."
                )
        for question in self.questions:
            if not set(question.follows) <= set(ids):
                raise UsageError(
                    f"{question.id} follows a question that is not there.", "Correct lab.toml."
                )

    @property
    def points(self) -> int:
        """The most that can be had."""
        return sum(question.points for question in self.questions)

    def question(self, name: str) -> Question:
        """The question of that id. Raises UsageError."""
        for question in self.questions:
            if question.id == name:
                return question
        raise UsageError(f"Lab {self.name} has no question '{name[:40]}'.", "See its handout.")
