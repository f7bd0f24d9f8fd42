"""How much of a lab can be had without understanding: by copying, and by blind guessing.

The autopilot copies what the package's tools, its files and the student's assignment say: numbers,
frames, options, an example of a design, the value of the student's run as the rule of a forecast,
and the package's programs. Texts and pictures, which a person reads, count as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean

from labs.definition.answers import Answers, examples_of
from labs.definition.forecast import HiddenResult
from labs.definition.spec import Question
from labs.grading.marking import Marker
from labs.measuring.measures import Runs

_NO_REASON = "I expect that because it sounds better."


def copied_share(marker: Marker, runs: Runs) -> float:
    """Return the share of the points that the autopilot earns on a variant."""
    answers = copied_answers(marker, runs)
    recorded = {each.id: [_predicted(each)] for each in marker.lab.questions if each.before}
    return _earned(replace(marker, recorded=recorded), answers)


def copied_answers(marker: Marker, runs: Runs) -> Answers:
    """Return the autopilot's answers."""
    lab, key, examples = marker.lab, marker.key, examples_of(marker.lab, None).settings
    answers: Answers = {}
    for question in lab.questions:
        if question.kind == "number" and question.id in key.numbers:
            answers[question.id] = [f"{key.numbers[question.id]:.6g} {question.unit}".strip()]
        elif question.kind == "evidence":
            answers[question.id] = [str(number) for number in key.frames.get(question.id, {})][:1]
        elif question.kind in ("choice", "choices"):
            answers[question.id] = sorted(key.choices.get(question.id, ()))
        elif question.kind == "design":
            answers[question.id] = [" ".join(examples.get(question.run, ()))]
        elif question.kind == "forecast":
            condition, _, name = question.value.partition("/")
            answers[question.id] = [f"{runs[question.run](condition, name):.6f} within 50%"]
    return answers


def guessed_share(marker: Marker) -> float:
    """Return the share that guesses earn on average: any option, and one value as a rule."""
    lab = marker.lab
    options = sum(
        question.points / len(question.options)
        for question in lab.questions
        if question.kind == "choice"
    )
    rules = {
        question.id: [f"{_typical(marker.hidden[question.id]):.6f} within 100%"]
        for question in lab.questions
        if marker.hidden.get(question.id)
    }
    return options / lab.points + _earned(replace(marker, tested={}), rules)


def _typical(results: Sequence[HiddenResult]) -> float:
    return geometric_mean(result.truth for result in results)


def _earned(marker: Marker, answers: Mapping[str, list[str]]) -> float:
    marks = marker.marks(dict(answers))
    return sum(mark.points or 0.0 for mark in marks) / marker.lab.points


def _predicted(question: Question) -> str:
    return question.options[0].id if question.options else _NO_REASON
