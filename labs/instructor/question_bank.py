"""Question banks: a lab's numbers and choices in drawn variants, for quizzes of course systems.

Each question names the command whose run answers it. Formats: GIFT, which Moodle imports, and the
Markdown of text2qti, which makes the QTI package that Canvas imports.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labs.definition.assignment import Course, variant
from labs.definition.key import Key, key_module
from labs.definition.runs import command_of, variables_of
from labs.definition.spec import LabSpec, Option, Question
from labs.definition.written import COUNT, in_digits, unit_named
from labs.grading.marking import MOST_TOLERANCE
from labs.measuring.ranges import VariantRuns, carry_out
from labs.templates.rendering import render
from topologies.errors import UsageError

_IN_BANK = ("number", "choice", "choices")


@dataclass(frozen=True)
class BankQuestion:
    question: Question
    title: str
    text: str
    key: Key

    @property
    def value(self) -> str:
        return in_digits(self.key.numbers[self.question.id])

    @property
    def tolerance(self) -> float:
        return MOST_TOLERANCE * abs(self.key.numbers[self.question.id])

    @property
    def right(self) -> set[str]:
        return self.key.choices[self.question.id]

    def sign(self, option: Option) -> str:
        """Return what GIFT writes in front of an option; Moodle knows shares of five decimals."""
        is_right = option.id in self.right
        if self.question.kind == "choice":
            return "=" if is_right else "~"
        wrong = max(1, len(self.question.options) - len(self.right))
        return f"~%{round(100 / len(self.right) if is_right else -100 / wrong, 5):.8g}%"

    @property
    def mistakes(self) -> Iterator[tuple[str, str]]:
        """The values of known mistakes that are apart from the right one, with their notes."""
        own, span = self.key.numbers[self.question.id], 2 * self.tolerance
        values = self.key.mistakes.get(self.question.id, {})
        for mistake in self.question.mistakes:
            value = values.get(mistake.id)
            if value is not None and abs(value - own) > span:
                yield in_digits(value), mistake.note


def bank_lab(lab: LabSpec) -> LabSpec:
    """Return the part of a lab without own settings or programs. Raises UsageError if empty."""
    if any(span.hidden for span in lab.varies):
        raise UsageError(f"The commands of {lab.name} would name its faults.", "Use another lab.")
    runs = [run for run in lab.runs if not (run.chosen or run.module or run.program)]
    questions = [each for each in lab.questions if each.kind in _IN_BANK]
    if not runs or not questions:
        raise UsageError(f"Lab {lab.name} asks for no numbers or choices.", "Use another lab.")
    return replace(lab, runs=tuple(runs), questions=tuple(questions), leaderboard=None)


def questions_of(lab: LabSpec, carried: VariantRuns) -> Iterator[BankQuestion]:
    """Yield the questions of a variant that its runs answer. Raises UsageError without a key."""
    own = carried.variant
    try:
        key: Key = key_module(lab.name).key(carried.runs, variables_of(lab, own))
    except (KeyError, ZeroDivisionError):
        problem = f"The key of {lab.name} needs runs that students choose."
        raise UsageError(problem, "Use another lab.") from None
    commands = " and ".join(f"`{command_of(run, own)}`" for run in lab.runs)
    for question in lab.questions:
        answer = key.numbers if question.kind == "number" else key.choices
        if answer.get(question.id):
            text = f"Run {commands}. {' '.join(question.ask.split())}"
            if question.kind == "number" and unit_named(question.unit) != COUNT:
                text += f" Answer in {question.unit}."
            yield BankQuestion(question, f"{lab.name} {question.id} {own.seed}", text, key)


def bank_files(lab: LabSpec, questions: Sequence[BankQuestion]) -> dict[str, str]:
    """Return the bank in Moodle's GIFT format, and as text2qti reads it."""

    def escaped(text: str) -> str:
        return re.sub(r"([~=#{}:\\])", r"\\\1", " ".join(text.split()))

    context = {"lab": lab, "questions": questions, "escaped": escaped}
    endings = {"gift": "bank.gift.j2", "txt": "bank.qti.j2"}
    return {f"{lab.name}.{end}": render(name, context) for end, name in endings.items()}


def write_bank(
    lab: LabSpec, variants: int, out: Path, course: Course, workers: int | None = None
) -> list[Path]:
    asked = bank_lab(lab)
    drawn = [variant(course, lab, f"bank{number}") for number in range(1, variants + 1)]
    carried = carry_out(asked, drawn, out, workers)
    questions = [question for each in carried for question in questions_of(asked, each)]
    files = bank_files(lab, questions)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in files]
