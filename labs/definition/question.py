"""What is asked in a lab: frozen data of its lab.toml and its texts, checked when they are read.

A question that is read off a file or a report is worth little: `is_reading` says which ones are,
and labs.definition.lab_spec bounds what they may earn together.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from labs.definition.written_numbers import unit_named
from topologies.foundation.errors import UsageError

Kind = Literal[
    "prediction",
    "number",
    "evidence",
    "choice",
    "choices",
    "design",
    "text",
    "graph",
    "module",
    "script",
]
HANDED_IN_FILES: tuple[Kind, ...] = ("graph", "module", "script")
"""Kinds whose answer is the name of a file in the student's folder."""
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
class Bound:
    """What a student's own configuration has to keep: from `least` to `most`, in `unit`."""

    id: str
    text: str
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf

    def keeps(self, value: float) -> bool:
        """Whether a measured value is within the bound."""
        return self.least <= value <= self.most


@dataclass(frozen=True)
class OtherKernel:
    """A kernel in which what a script claims is not so: `text` says how, by `settings` (sysctls).

    Such a setting is NAME=VALUE.
    """

    id: str
    text: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """One question.

    `how` says how the value is obtained, `unit` is what the answer should be in (empty: a count).
    `low` and `high` bound what is plausible, in `unit`. A question with `follows` is calculated
    from those answers, and earns its points also if they were wrong and were used rightly. `rubric`
    is for the person who reads an answer that no program marks, and `model` is such an answer in
    which {QUESTION} stands for what the student's run gives. A prediction is recorded before the
    run `before`; the settings of a design are those of the run `run`; the frame of an evidence is
    of the capture `capture` (CONDITION/INTERFACE) of the run `run`. A packetdrill script has to
    pass on the lab's kernel and to fail on each of `others`.
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
    model: str = ""
    before: str = ""
    run: str = ""
    capture: str = ""
    bounds: tuple[Bound, ...] = ()
    others: tuple[OtherKernel, ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.id):
            raise UsageError(
                f"'{self.id[:40]}' cannot name a question.", "Use small letters, digits and _."
            )
        if not 1 <= self.points <= 100:
            raise UsageError(f"{self.id} has {self.points} points.", "Give it 1 to 100.")
        for wrong, sentence in self._contradictions():
            if wrong:
                raise UsageError(f"{self.id}: {sentence}", "Correct lab.toml.")
        if self.kind in READ_BY_HAND and not self.rubric:
            raise UsageError(f"{self.id} has no rubric.", "Say what earns its points.")
        if self.kind == "number":
            unit_named(self.unit)

    def _contradictions(self) -> tuple[tuple[bool, str], ...]:
        """What no question may be, each with its sentence."""
        choosing = self.kind in ("choice", "choices")
        return (
            (
                choosing != bool(self.options) and self.kind != "prediction",
                "options belong to choices, and choices have options.",
            ),
            (
                (self.kind == "prediction") != bool(self.before),
                "a prediction says before which run it is made, and nothing else does.",
            ),
            (
                (self.kind in ("evidence", "design")) != bool(self.run),
                "evidence and designs name their run, and nothing else does.",
            ),
            (
                (self.kind == "evidence") != bool(self.capture),
                "evidence names its capture, and nothing else does.",
            ),
            (bool(self.bounds) and self.kind != "design", "bounds belong to designs."),
            (
                (self.kind == "script") != bool(self.others),
                "a script names other kernels, on which it has to fail, and nothing else does.",
            ),
        )

    @property
    def names_a_line(self) -> bool:
        """Whether evidence is a line of a socket's samples, and no frame of a capture."""
        return self.capture.endswith(".sockets")

    @property
    def is_reading(self) -> bool:
        """Whether the answer is read off a file, a counter or a report."""
        return self.kind == "number" and not self.follows
