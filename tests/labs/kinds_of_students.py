"""Five kinds of students, who answer a lab by its key, and how even its variants are for them.

The careful one does all of it; the hasty one errs in a quarter and explains some; one has the right
numbers and cannot explain them; one copies from the report; one guesses. All of them predict, since
without a prediction there is no run. Each kind tries each variant several times with the same luck,
so that only the variant makes a difference. Numbers are marked with the widest tolerance of
grading.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean

from labs.definition.key import Key
from labs.definition.spec import READ_BY_HAND, Question
from labs.grading.marking import MOST_TOLERANCE, Marker

_ERRORS = 4
"""The hasty student errs in each fourth question, another one in each variant."""


@dataclass(frozen=True)
class KindOfStudent:
    """The abilities of a kind of student, and `explains`: the share of points a reader gives.

    `reads` values; `calculates` from them; `thinks`: evidence and choices; `designs` and runs a
    configuration; `errs` in a quarter of all that; `guesses` what else is asked.
    """

    name: str
    explains: float
    reads: bool = True
    calculates: bool = True
    thinks: bool = True
    designs: bool = True
    errs: bool = False
    guesses: bool = False


KINDS_OF_STUDENTS = (
    KindOfStudent("careful", 1.0),
    KindOfStudent("hasty", 0.6, errs=True),
    KindOfStudent("right numbers, wrong explanations", 0.0, thinks=False, designs=False),
    KindOfStudent("copies from the report", 0.0, calculates=False, thinks=False, designs=False),
    KindOfStudent("guesses", 0.0, False, False, False, False, guesses=True),
)
"""In the order that their points have to have."""


def earned(kind: KindOfStudent, marker: Marker, seed: int) -> float:
    """The points of such a student by this key; what is not read off a run by what it explains."""
    chance = random.Random(f"{kind.name}{seed}")
    answers = {
        question.id: given
        for number, question in enumerate(marker.lab.questions, seed)
        if (given := _answer(kind, question, marker, chance, number % _ERRORS == 0))
    }
    made = {question.id for question in marker.lab.questions if question.before}
    recorded = {name: given for name, given in answers.items() if name in made}
    marks = replace(marker, recorded=recorded).marks(answers)
    most = {question.id: question.points for question in marker.lab.questions}
    return sum(
        kind.explains * most[mark.question] if mark.points is None else mark.points
        for mark in marks
    )


def _answer(
    kind: KindOfStudent, question: Question, marker: Marker, chance: random.Random, errs: bool
) -> list[str]:
    if question.kind == "forecast":
        return []
    if question.kind in (*READ_BY_HAND, "module", "script"):
        return ["graph.png"] if question.kind == "graph" else ["An explanation of some length."]
    if question.kind == "prediction":
        if question.options:
            return [chance.choice(question.options).id]
        return ["It is what I expect to happen there."]
    wrong = kind.errs and errs
    if _can(kind, question) and not wrong:
        return _right(question, marker)
    return _guessed(question, chance) if kind.guesses or wrong else []


def _can(kind: KindOfStudent, question: Question) -> bool:
    if question.kind == "number":
        return kind.calculates if question.follows else kind.reads
    return kind.designs if question.kind == "design" else kind.thinks


def _right(question: Question, marker: Marker) -> list[str]:
    key: Key = marker.key
    if question.kind == "number":
        value = key.numbers.get(question.id)
        return [] if value is None else [f"{value:.6g} {question.unit}".strip()]
    if question.kind == "evidence":
        return [str(number) for number in sorted(key.frames.get(question.id, {}))[:1]]
    if question.kind == "design":
        return ["as the example"] if question.id in key.measured else []
    return sorted(key.choices.get(question.id, set()))


def _guessed(question: Question, chance: random.Random) -> list[str]:
    if question.kind == "number":
        low, high = max(question.low, 0.0), min(question.high, 1e6)
        return [f"{chance.uniform(low, high):.4g} {question.unit}".strip()]
    if question.kind == "evidence":
        return [str(chance.randrange(1, 5000))]
    if question.kind == "choices":
        return [option.id for option in question.options if chance.random() < 0.5]
    return [chance.choice(question.options).id] if question.options else []


TRIES = 20
"""Of each kind of student at each variant: the mean of as many says what a variant gives away."""


@dataclass(frozen=True)
class TriedVariant:
    """The points of each kind of student in a variant.

    `points` are the mean in percent of the lab's, by kind of student; `ordered` is the share of
    tries in which they fell from kind to kind: a guess may be lucky.
    """

    points: Mapping[str, float]
    ordered: float

    @property
    def in_order(self) -> bool:
        """Return whether the means fall from kind to kind."""
        return falling(list(self.points.values()))


def tried(marker: Marker, tries: int = TRIES) -> TriedVariant:
    """One variant, tried so often by every kind of student."""
    lenient = replace(marker, tolerance={each.id: MOST_TOLERANCE for each in marker.lab.questions})
    points = {
        kind.name: [
            100 * earned(kind, lenient, number) / lenient.lab.points for number in range(tries)
        ]
        for kind in KINDS_OF_STUDENTS
    }
    return TriedVariant(
        {name: mean(row) for name, row in points.items()},
        mean(falling(row) for row in zip(*points.values(), strict=True)),
    )


def falling(points: Sequence[float]) -> bool:
    """Return whether each has fewer than the one before."""
    return all(before > after for before, after in pairwise(points))


def unevenness(variants: Sequence[TriedVariant]) -> dict[str, float]:
    """By kind of student, how many percent of the points the best variant gives over the worst."""
    return {
        kind.name: max(each.points[kind.name] for each in variants)
        - min(each.points[kind.name] for each in variants)
        for kind in KINDS_OF_STUDENTS
    }
