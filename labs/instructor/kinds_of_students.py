"""Five kinds of students, who answer a lab by its key: what each earns says what points are for.

The careful one does all of it; the hasty one errs in a quarter and explains some; one has the right
numbers and cannot explain them; one copies what a report prints; one guesses. All of them predict:
without that there is no run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from labs.definition.answer_key import Key
from labs.definition.question import READ_BY_HAND, Question
from labs.grading.marking import Marker

_ERRORS = 4
"""The hasty student errs in each fourth question, another one in each variant."""


@dataclass(frozen=True)
class KindOfStudent:
    """What a student of the kind gets right, and `explains`: the share of points a reader gives.

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
    KindOfStudent(
        "guesses",
        0.0,
        reads=False,
        calculates=False,
        thinks=False,
        designs=False,
        guesses=True,
    ),
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
    if question.kind in (*READ_BY_HAND, "module", "script"):
        return ["graph.png"] if question.kind == "graph" else ["An explanation of some length."]
    if question.kind == "prediction":
        return _prediction(question, chance)
    wrong = kind.errs and errs
    if _can(kind, question) and not wrong:
        return _right(question, marker)
    return _guessed(question, chance) if kind.guesses or wrong else []


def _can(kind: KindOfStudent, question: Question) -> bool:
    if question.kind == "number":
        return kind.reads if question.is_reading else kind.calculates
    return kind.designs if question.kind == "design" else kind.thinks


def _prediction(question: Question, chance: random.Random) -> list[str]:
    if question.options:
        return [chance.choice(question.options).id]
    return ["It is what I expect to happen there."]


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
