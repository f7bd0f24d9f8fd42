"""The lab and its questions: frozen data from lab.toml and its texts, checked when read.

A lab names runs of experiments, the ranges from which each student's link is drawn, and questions
about the runs.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from labs.definition.written import unit_named
from topologies.errors import UsageError

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
    "forecast",
    "program",
]
HANDED_IN_FILES: tuple[Kind, ...] = ("graph", "module", "script", "program")
"""Kinds whose answer is the name of a file in the student's folder."""
FIXED_FILES: Mapping[Kind, tuple[str, ...]] = {
    "module": ("mine.c",),
    "program": ("sender.py", "receiver.py"),
}
"""Kinds whose files have fixed names: they are handed in by being in the folder."""
READ_BY_HAND: tuple[Kind, ...] = ("text", "graph")
"""Kinds that a person reads; the others are marked by the grader."""
COPIED: tuple[Kind, ...] = ("prediction", "number", "evidence", "choice", "choices", "design")
"""Kinds whose answers tools, keys and examples of the package give."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class Option:
    id: str
    text: str


@dataclass(frozen=True)
class Mistake:
    """A known wrong way: the key gives the value it leads to, the note says what was mixed up.

    One with the id of an option needs no value. That of a forecast is a `rule` without a width.
    """

    id: str
    note: str
    rule: str = ""


@dataclass(frozen=True)
class Bound:
    """Limits of a value of a student's configuration: from `least` to `most`, in `unit`."""

    id: str
    text: str
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf

    def keeps(self, value: float) -> bool:
        return self.least <= value <= self.most


@dataclass(frozen=True)
class OtherKernel:
    """A kernel that a script's claim does not hold for, by `settings` (sysctls, NAME=VALUE)."""

    id: str
    text: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """Equally likely values of a parameter; one with a = is a whole setting, a hidden fault."""

    name: str
    values: tuple[str, ...]

    @property
    def hidden(self) -> bool:
        return any("=" in value for value in self.values)


@dataclass(frozen=True)
class ProgramTest:
    """A test of a program on each hidden network: `value` within limits.

    The value is a CONDITION/KEY, or share(...) or jain(...) of several: the first over the sum, and
    Jain's fairness index. The limits are expressions in the parameters of the network
    (labs.definition.forecast). Tests are stages: one counts if those before it are passed, and
    earns by its `weight`.
    """

    id: str
    text: str
    value: str
    unit: str = ""
    least: str = "0"
    most: str = "1e18"
    weight: int = 1


@dataclass(frozen=True)
class ScoreTerm:
    """A part of the sum: `weight` times `value` over `per`.

    `value` is written as that of a test. `per` is an expression in the parameters of the network,
    so that a fast network counts as much as a slow one.
    """

    value: str
    weight: float = 1.0
    per: str = "1"


@dataclass(frozen=True)
class Leaderboard:
    """A ranking by the mean score of the program `question`; the largest is first.

    A network scores the sum of the `terms`, at least 0, and 0 if the test `needs` failed there.
    `text` says for students what the score is.
    """

    question: str
    needs: str
    terms: tuple[ScoreTerm, ...]
    text: str


_FIELDS: dict[str, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    "options": (("choice", "choices"), ("prediction",)),
    "before": (("prediction",), ()),
    "run": (("evidence", "design", "forecast", "program"), ()),
    "value": (("forecast",), ()),
    "hidden": (("forecast", "program"), ()),
    "networks": (("forecast", "program"), ()),
    "tests": (("program",), ()),
    "everywhere": ((), ("program",)),
    "capture": (("evidence",), ()),
    "bounds": ((), ("design",)),
    "others": (("script",), ()),
}
"""Fields with the kinds of questions that must and that may have them."""


@dataclass(frozen=True)
class Question:
    """One question; `how` says how the value is obtained, and `unit` is that of the answer.

    `low` and `high` bound what is plausible. A question with `follows` is calculated from those
    answers, and earns its points also if they were wrong and were used rightly. `rubric` is for the
    person who reads an answer, and `model` is one in which {QUESTION} stands for the run's value. A
    prediction is recorded before the run `before`; the settings of a design are those of the run
    `run`; an evidence is a frame of its `capture` (CONDITION/INTERFACE). A packetdrill script has
    to pass on the lab's kernel and to fail on each of `others`. A forecast is a rule for `value`
    (CONDITION/KEY) on that many `networks`, drawn from the ranges `hidden`. A program passes
    `tests` on such networks; `everywhere` counts those that it passes on all.
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
    value: str = ""
    hidden: tuple[Range, ...] = ()
    networks: int = 0
    tests: tuple[ProgramTest, ...] = ()
    everywhere: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.id):
            remedy = "Use small letters, digits and _."
            raise UsageError(f"'{self.id[:40]}' cannot name a question.", remedy)
        if not 0 <= self.points <= 100 or self.networks > 100:
            raise UsageError(f"{self.id} has {self.points} points.", "Give it 0 to 100.")
        for name, (must, may) in _FIELDS.items():
            if self.kind in must and not getattr(self, name):
                raise UsageError(f"{self.id}: {self.kind} needs '{name}'.", "Write it.")
            if self.kind not in (*must, *may) and getattr(self, name):
                kinds = ", ".join((*must, *may))
                raise UsageError(f"{self.id}: only {kinds} can have '{name}'.", "Delete it.")
        if self.kind in READ_BY_HAND and not self.rubric:
            raise UsageError(f"{self.id} has no rubric.", "Say what earns its points.")
        if any(bool(known.rule) != (self.kind == "forecast") for known in self.mistakes):
            problem = f"{self.id}: the mistakes of forecasts have a 'rule', and no others."
            raise UsageError(problem, "Correct it.")
        if self.kind in ("number", "forecast"):
            unit_named(self.unit)

    @property
    def names_a_line(self) -> bool:
        """Return whether evidence is a line of a socket's samples, and no frame of a capture."""
        return self.capture.endswith(".sockets")


ValueSource = Literal[
    "iperf", "datagrams", "exchanges", "counters", "sockets", "queues", "frames", "connections"
]


@dataclass(frozen=True)
class LabRun:
    """A run to do: an experiment with `settings` (NAME=VALUE) and the student's values of `varies`.

    `module` says that it loads the module that is handed in, `program` that hosts run the programs
    that are handed in; with `template` the student's folder begins with those of its settings. A
    run with `chosen` has settings that the student chooses from these, one of
    them if `one` is true and else all; `example` is a choice that is good.
    """

    name: str
    experiment: str
    settings: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    seeds: int = 1
    module: bool = False
    program: bool = False
    template: bool = False
    chosen: tuple[Range, ...] = ()
    one: bool = False
    example: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabSpec:
    """A lab. `claim` is the lesson in one sentence, which every variant must show.

    Students are asked `asks` instead. `level` is 1 (first course) to 3 (advanced). `reads` are the
    kinds of values of which the handout shows how they are read. It tells the round trip of an
    empty path unless the lab `asks_for_round_trip`. A lab in one language has its texts and its
    `background` in lab.toml.
    """

    name: str
    title: str
    asks: str
    claim: str
    minutes: int
    goals: tuple[str, ...]
    runs: tuple[LabRun, ...]
    questions: tuple[Question, ...]
    varies: tuple[Range, ...] = ()
    background: str = ""
    level: int = 1
    reads: tuple[ValueSource, ...] = ()
    asks_for_round_trip: bool = False
    language: str = "en"
    leaderboard: Leaderboard | None = None

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
                yield f"the run of {question.id} has no settings to choose."
        if (board := self.leaderboard) and board.needs not in {
            test.id for each in self.questions if each.id == board.question for test in each.tests
        }:
            yield f"its leaderboard needs '{board.needs[:40]}', which is no test of its question."

    @property
    def points(self) -> int:
        return sum(question.points for question in self.questions)

    @property
    def copied(self) -> int:
        """The points of questions whose answers tools and files of the package print."""
        return sum(question.points for question in self.questions if question.kind in COPIED)

    def run(self, name: str) -> LabRun:
        return next(run for run in self.runs if run.name == name)

    def question(self, name: str) -> Question:
        """Return the question of that id. Raises UsageError, which names the nearest one."""
        questions = {question.id: question for question in self.questions}
        if name in questions:
            return questions[name]
        near = get_close_matches(name, questions, 1)
        remedy = f"Is {near[0]} meant?" if near else "See its handout."
        raise UsageError(f"Lab {self.name} has no question '{name[:40]}'.", remedy)
