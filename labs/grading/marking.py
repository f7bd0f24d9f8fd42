"""Points for answers, by the key of the student's own run.

A number is right within its tolerance, or if it is the right value rounded to the digits that were
written. Half of the points are given without a unit, a quarter with a known factor between, such as
8 of bits and bytes. A number that may mean two things never costs points: if another of its
readings earns more, a person reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median, stdev

from labs.definition.answers import Answers
from labs.definition.assignment import Variant
from labs.definition.forecast import HiddenResult, TestedProgram
from labs.definition.key import Key, Variables, key_module
from labs.definition.runs import variables_of
from labs.definition.scripts import ScriptTrial
from labs.definition.spec import LabSpec, Question
from labs.definition.written import COUNT, Number, in_digits, parse_number, unit_named
from labs.grading import open_questions
from labs.grading.case import AnswerMark, Verdict
from labs.measuring.measures import MeasuredRun
from topologies.notation import toml_file

LEAST_TOLERANCE, MOST_TOLERANCE = 0.01, 0.05
"""iperf prints three digits; a reading of one's own run is within a twentieth."""
MOST_ROUNDING = 0.1
"""By how much of itself a rounded number may be off: of one digit 5 to 9, of two or more always."""
WITHOUT_UNIT, BY_A_FACTOR = 0.5, 0.25
_FACTORS = toml_file(Path(__file__).with_name("factors.toml"))["factors"]
_RIGHT = (Verdict.RIGHT, Verdict.FOLLOWS)


def tolerances(lab: LabSpec, keys: Sequence[Key]) -> dict[str, float]:
    """Return as a share a quarter of each number's standard deviation over seeds, within limits."""
    shares = {}
    for question in lab.questions:
        values = [key.numbers[question.id] for key in keys if question.id in key.numbers]
        spread = stdev(values) / abs(median(values)) if len(values) > 2 and median(values) else 0.0
        shares[question.id] = min(MOST_TOLERANCE, max(LEAST_TOLERANCE, spread / 4))
    return shares


@dataclass(frozen=True)
class Marker:
    """The marker of one student's answers. `derived` calculates what follows from other answers.

    By question: `bands` are the measure of runs in real time without readable captures, `recorded`
    the predictions before the runs, `trials` results of scripts, `hidden` those of the networks of
    a forecast, `tested` those of programs. The events of `runs` say what a wrong frame is.
    """

    lab: LabSpec
    key: Key
    tolerance: Mapping[str, float]
    derived: Mapping[str, Callable[[Mapping[str, float], Variables], float]]
    variables: Variables
    pictures: Mapping[str, str]
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    recorded: Answers = field(default_factory=dict)
    trials: Mapping[str, ScriptTrial] = field(default_factory=dict)
    hidden: Mapping[str, Sequence[HiddenResult]] = field(default_factory=dict)
    tested: Mapping[str, Sequence[TestedProgram]] = field(default_factory=dict)
    runs: Mapping[str, MeasuredRun] = field(default_factory=dict)

    def marks(self, answers: Answers) -> list[AnswerMark]:
        return [self._mark(question, answers) for question in self.lab.questions]

    def right(self, answers: Answers) -> set[str]:
        return self.right_among(self.marks(answers))

    def right_among(self, marks: Sequence[AnswerMark]) -> set[str]:
        numbers = {each.id for each in self.lab.questions if each.kind == "number"}
        right = (mark for mark in marks if mark.verdict in (Verdict.RIGHT, Verdict.UNIT))
        return {mark.question for mark in right} & numbers

    def _mark(self, question: Question, answers: Answers) -> AnswerMark:
        name, kind, given = question.id, question.kind, answers.get(question.id, [])
        shown, expected = ", ".join(given), self.expected(question)
        empty = AnswerMark(name, shown, expected, 0.0, Verdict.EMPTY, "Not answered.")
        match kind:
            case "module":
                return empty.for_person("") if given else replace(empty, note="")
            case "program":
                return open_questions.program(question, self.tested.get(name, ()), empty)
            case "prediction":
                recorded = self.recorded.get(name, [])
                return open_questions.prediction(question, given, recorded, empty)
        if not given:
            return empty
        match kind:
            case "script":
                return open_questions.script(question, self.trials.get(name), empty)
            case "graph" if name not in self.pictures:
                note = f"'{given[0][:60]}' was not handed in, or is no PNG or JPEG picture."
                return replace(empty, note=note)
            case "text" | "graph":
                return empty.for_person("It is read by a person.")
            case "forecast":
                return open_questions.forecast(question, given[0], self.hidden.get(name, ()), empty)
            case "evidence":
                run = self.runs.get(question.run)
                return open_questions.evidence(question, given[0], self.key, empty, run)
            case "design":
                return open_questions.design(question, self.key, empty)
        if question.options:
            return self._options(question, set(given), empty)
        return self._number(question, given[0], answers, empty)

    def expected(self, question: Question) -> str:
        """Return the answer as a page shows it, of texts a model; empty for what has none."""
        if question.kind == "prediction":
            return ""
        if question.options:
            right = self.key.choices.get(question.id, set())
            texts = [option.text for option in question.options if option.id in right]
            return "; ".join(texts) or "none of them"
        if question.kind in ("evidence", "design", "script", "forecast", "program"):
            return open_questions.expected(question, self.key)
        return self._value(question) if question.id in self.key.numbers else self.model(question)

    def _value(self, question: Question) -> str:
        unit = "" if unit_named(question.unit) == COUNT else question.unit
        return f"{in_digits(self.key.numbers[question.id])} {unit}".strip()

    def model(self, question: Question) -> str:
        """Return the model answer with the values of this run; empty if there is none."""
        text = question.model
        for other in self.lab.questions:
            if other.id in self.key.numbers:
                text = text.replace(f"{{{other.id}}}", self._value(other))
        return text

    def _options(self, question: Question, given: set[str], empty: AnswerMark) -> AnswerMark:
        right = self.key.choices.get(question.id, set())
        texts = {option.id: option.text for option in question.options}
        share = _ticked(given, right, texts.keys() - right) if right else float(not given)
        if question.kind == "choice":
            share = float(given == right or bool(given & right and len(given) == 1))
        ticked = "; ".join(texts.get(option_id, option_id[:60]) for option_id in sorted(given))
        marked = replace(empty, given=ticked).earning(share, question.points)
        known = [each for each in question.mistakes if {each.id} == given - right]
        if share == 1 or not known:
            return marked
        return replace(marked, note=known[0].note, mistake=known[0].id)

    def _number(
        self, question: Question, text: str, answers: Answers, empty: AnswerMark
    ) -> AnswerMark:
        if question.id not in self.key.numbers:
            return empty.for_person("No key could be computed; a person looks at it.")
        try:
            number = parse_number(text)
        except ValueError as error:
            note = f"{open_questions.as_sentence(error)}. A person reads it."
            return empty.for_person(note, Verdict.UNREADABLE)

        def best(number: Number) -> AnswerMark:
            """Mark the number by the first of its readings that is right, else by the last."""
            marks = []
            for reading in _readings(question, number):
                share, mark = self._judge(question, reading, answers, empty)
                if mark.verdict in _RIGHT and reading.note:
                    share = reading.most
                    mark = replace(mark, verdict=Verdict.UNIT, note=reading.note)
                marks.append(replace(mark, points=round(share * question.points, 2)))
            right = (mark for mark in marks if mark.verdict in (*_RIGHT, Verdict.UNIT))
            return next(right, marks[-1])

        mark = best(number)
        if mark.points == question.points or not number.others:
            return mark
        for value in number.others:
            other = best(replace(number, value=value))
            if (other.points or 0.0) > (mark.points or 0.0):
                note = f"'{number.written}' may mean {value:g}. A person reads it."
                return empty.for_person(note, Verdict.UNREADABLE)
        return mark

    def _judge(
        self, question: Question, reading: _Reading, answers: Answers, empty: AnswerMark
    ) -> tuple[float, AnswerMark]:
        close = partial(reading.is_close, share=self.tolerance.get(question.id, LEAST_TOLERANCE))
        expected = self.key.numbers[question.id]
        low, high = self.bands.get(question.id, (expected, expected))
        if close(expected) or (low < high and low <= reading.value <= high):
            note = "" if low == high else "It lies in the band of repeated runs."
            return 1.0, replace(empty, verdict=Verdict.RIGHT, note=note)
        followed = self._followed(question, answers)
        if followed is not None and close(followed):
            note = "It follows rightly from your earlier answers, which cost their own points."
            return 1.0, replace(empty, verdict=Verdict.FOLLOWS, note=note)
        known = [each for each in self._mix_ups(question) if close(each.value)]
        nearest = sorted(known, key=lambda each: abs(reading.value - each.value))[:2]
        if not nearest:
            return 0.0, replace(empty, verdict=Verdict.WRONG, note="")
        share, mark = nearest[0].share, replace(empty, verdict=nearest[0].verdict, note="")
        distances = [abs(reading.value - each.value) for each in nearest]
        if len(nearest) == 1 or distances[0] < distances[1] * (1 - 1e-9):
            mark = replace(mark, note=nearest[0].note, mistake=nearest[0].id)
        return share, mark

    def _mix_ups(self, question: Question) -> Iterator[_MixUp]:
        wrong = self.key.mistakes.get(question.id, {})
        for known in question.mistakes:
            if known.id in wrong:
                yield _MixUp(wrong[known.id], Verdict.MISTAKE, 0.0, known.id, known.note)
        dimension, expected = unit_named(question.unit).dimension, self.key.numbers[question.id]
        for each in _FACTORS:
            if dimension in each["of"]:
                name, value = f"factor {each['by']:g}", each["by"] * expected
                yield _MixUp(value, Verdict.FACTOR, BY_A_FACTOR, name, each["note"])

    def _followed(self, question: Question, answers: Answers) -> float | None:
        if question.id not in self.derived:
            return None
        try:
            units = {name: unit_named(self.lab.question(name).unit) for name in question.follows}
            earlier = {
                name: parse_number(answers[name][0]).within(unit) for name, unit in units.items()
            }
            return self.derived[question.id](earlier, self.variables)
        except (ValueError, IndexError, KeyError, ZeroDivisionError, OverflowError):
            return None


def marker_of(lab: LabSpec, key: Key, tolerance: Mapping[str, float], variant: Variant) -> Marker:
    derived = getattr(key_module(lab.name), "DERIVED", {})
    return Marker(lab, key, tolerance, derived, variables_of(lab, variant), {})


@dataclass(frozen=True)
class _MixUp:
    """A wrong value in the question's unit: the share that it earns, and what is said of it."""

    value: float
    verdict: Verdict
    share: float
    id: str
    note: str


@dataclass(frozen=True)
class _Reading:
    """A value of a number in the question's unit; `note` says why it earns only `most` of it."""

    value: float
    half_step: float
    most: float = 1.0
    note: str = ""

    def is_close(self, other: float, share: float) -> bool:
        """Return whether it is within a share of the other value, or rounds to it."""
        # A rounding that may be off by more than a tenth (one digit below 5) says too little.
        step = self.half_step * 1.000001
        rounding = step if step <= MOST_ROUNDING * abs(self.value) * 1.00001 else 0.0
        return abs(self.value - other) <= max(share * abs(other), rounding, 1e-9)


def _readings(question: Question, number: Number) -> list[_Reading]:
    """Return the number in the question's unit; without one perhaps as a fraction (ISO 80000-1)."""
    unit = unit_named(question.unit)
    own = number.unit or unit
    dimensions = {own.dimension, unit.dimension}
    plain = question.unit in ("", "%")  # neither is a number of things
    comparable = len(dimensions) == 1 or (plain and dimensions == {"number", "share"})
    scale = number.scale(unit) if comparable else 1.0
    value, step = number.value * scale, number.half_step * scale
    if not comparable:
        return [_Reading(value, step, BY_A_FACTOR, "The number is right; its unit is another.")]
    if number.unit or unit.dimension == "number":
        return [_Reading(value, step)]
    note = "The number is right; the unit is missing."
    unitless = _Reading(value, step, WITHOUT_UNIT, note)
    if unit.dimension != "share":
        return [unitless]
    return [_Reading(number.value / unit.factor, number.half_step / unit.factor), unitless]


def _ticked(given: set[str], right: set[str], wrong: set[str]) -> float:
    """The share that ticked options earn: each wrong one costs a right one, and all earn zero."""
    hits, misses = len(given & right), len(given - right)
    blind = misses / len(wrong) if wrong else 0.0
    return max(0.0, min((hits - misses) / len(right), hits / len(right) - blind))
