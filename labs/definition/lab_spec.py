"""What a lab is: frozen data from its lab.toml and its texts, checked when it is read.

A lab names runs of experiments, the ranges from which each student's link is drawn, and
questions about the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Literal

from labs.definition.question import NAME, Question
from topologies.foundation.errors import UsageError

MOST_READING = Fraction(1, 3)
"""Of a lab's points: what may be earned by reading values off files and reports."""


ValueSource = Literal[
    "iperf", "datagrams", "counters", "sockets", "queues", "frames", "connections"
]


@dataclass(frozen=True)
class Range:
    """What a parameter is drawn from, or chosen from; all values are equally likely.

    A value with a = in it is a whole setting, which handouts do not tell: a fault to be found.
    """

    name: str
    values: tuple[str, ...]

    @property
    def hidden(self) -> bool:
        """Whether its values are faults."""
        return any("=" in value for value in self.values)


@dataclass(frozen=True)
class LabRun:
    """A run to do: an experiment with `settings` (NAME=VALUE) and the student's values of `varies`.

    `module` says that it loads the module that is handed in. A run with `chosen` has settings that
    the student chooses from these, one of them if `one` is true and else all; `example` is a choice
    that is good.
    """

    name: str
    experiment: str
    settings: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    seeds: int = 1
    module: bool = False
    chosen: tuple[Range, ...] = ()
    one: bool = False
    example: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabSpec:
    """A lab. `claim` is the lesson in one sentence, which every variant must show.

    Students are asked `asks` instead. `level` is 1 (first course) to 3 (advanced). `reads` are the
    kinds of values of which the handout shows how they are read. It tells the round trip of an
    empty path unless the lab `asks_for_round_trip`.
    """

    name: str
    title: str
    asks: str
    claim: str
    minutes: int
    goals: tuple[str, ...]
    varies: tuple[Range, ...]
    runs: tuple[LabRun, ...]
    questions: tuple[Question, ...]
    level: int = 1
    reads: tuple[ValueSource, ...] = ()
    asks_for_round_trip: bool = False
    language: str = "en"

    def __post_init__(self) -> None:
        for sentence in self._problems():
            raise UsageError(f"Lab {self.name}: {sentence}", "Correct its lab.toml.")

    def _problems(self) -> Iterator[str]:
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids) or not ids:
            yield "a question is named twice, or there is none."
        drawn = {span.name for span in self.varies}
        for run in self.runs:
            possible = NAME.fullmatch(run.name) and {*run.varies} <= drawn
            if not possible or not 1 <= run.seeds <= 20 or bool(run.chosen) != bool(run.example):
                yield f"run '{run.name[:40]}' is not possible."
        runs = {run.name: run for run in self.runs}
        for question in self.questions:
            if not {*question.follows} <= {*ids}:
                yield f"{question.id} follows a question that is not there."
            if not {question.before, question.run} - {""} <= {*runs}:
                yield f"{question.id} is about a run that is not there."
            if question.kind == "design" and not runs[question.run].chosen:
                yield f"the run of {question.id} has nothing to choose."

    @property
    def points(self) -> int:
        """The most that can be had."""
        return sum(question.points for question in self.questions)

    @property
    def reading(self) -> Fraction:
        """The share of the points that reading values off earns."""
        read = sum(question.points for question in self.questions if question.is_reading)
        return Fraction(read, self.points)

    def question(self, name: str) -> Question:
        """The question of that id. Raises UsageError, which names the nearest one."""
        for question in self.questions:
            if question.id == name:
                return question
        near = get_close_matches(name, [question.id for question in self.questions], 1)
        remedy = f"Is {near[0]} meant?" if near else "See its handout."
        raise UsageError(f"Lab {self.name} has no question '{name[:40]}'.", remedy)

    def design_of(self, run: LabRun) -> Question | None:
        """The question whose answer holds the run's settings, if it has any to choose."""
        designs = (each for each in self.questions if each.kind == "design")
        return next((each for each in designs if each.run == run.name), None)

    def predictions_before(self, run: LabRun) -> tuple[Question, ...]:
        """What has to be predicted before a run is made."""
        return tuple(question for question in self.questions if question.before == run.name)
