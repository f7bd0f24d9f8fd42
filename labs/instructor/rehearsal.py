"""A lab's key and tests, tried on made-up values to find names that do not exist."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from experiments.spec import ExperimentSpec
from labs.definition import catalogue
from labs.definition.assignment import SELF_STUDY, variant
from labs.definition.forecast import hidden_networks, read_limit
from labs.definition.runs import example_specs, variables_of
from labs.definition.spec import LabSpec, Question
from labs.measuring.hidden import program_value
from labs.measuring.measures import MeasuredRun, UnknownName, Values
from labs.student.hand_in import LabFinding
from topologies.foundation.errors import TcplabError

_SOCKETS = ".sockets"


class _AnyValue(dict[str, int | float]):
    """Each key has a value, and another key another one."""

    def __missing__(self, key: str) -> float:
        return 1 + zlib.crc32(key.encode()) % 1000 / 10


@dataclass(frozen=True)
class RehearsedRun(MeasuredRun):
    """A run that has each measure and event which a run of its spec can have."""

    captures: tuple[str, ...] = field(default=())

    def frames(self, capture: str, event: str) -> dict[int, float]:
        """Return two frames. Raises UnknownName."""
        super().frames(capture, event)
        self.require_capture(capture)
        return {1: 0.25, 2: 0.5}

    def require_capture(self, capture: str) -> None:
        """Raises UnknownName for a place that the run does not capture."""
        condition, _, place = capture.partition("/")
        self._require_condition(condition)
        if place not in self.captures:
            known = ", ".join(self.captures)
            raise UnknownName(f"The run captures no '{place[:40]}'.", f"It has: {known}.")


def rehearse(lab: LabSpec) -> Iterator[LabFinding]:
    """Find names of runs, conditions, measures, events and questions that do not exist."""
    drawn = variant(SELF_STUDY, lab, "lint")
    specs = example_specs(lab, drawn, lab.runs)
    runs = {run.name: _rehearsed(spec) for run, spec in zip(lab.runs, specs, strict=True)}
    module = catalogue.key_module(lab.name)
    if sentence := _wrong(lambda: _asked(lab, module.key(runs, variables_of(lab, drawn)))):
        yield LabFinding("key.py", sentence)
    if sentence := _wrong(lambda: module.lesson(runs)):
        yield LabFinding("key.py", sentence)
    for question in lab.questions:
        if sentence := _wrong(partial(_try_names, lab, question, runs)):
            yield LabFinding(question.id, sentence)


def _rehearsed(spec: ExperimentSpec) -> RehearsedRun:
    hosts = [f"{node.name}{_SOCKETS}" for node in spec.topology.nodes]
    values: Values = {condition.name: _AnyValue() for condition in spec.conditions}
    return RehearsedRun((values,), captures=(*spec.captures, *hosts))


def _wrong(tried: Callable[[], object]) -> str:
    """Return the sentence about a name that does not exist; empty if there is none."""
    try:
        tried()
    except TcplabError as error:
        return str(error)
    except KeyError as error:
        return f"There is no {error}."
    except (ArithmeticError, ValueError):
        return ""  # of made-up values
    return ""


def _asked(lab: LabSpec, key: object) -> None:
    """Raises TcplabError for an answer that no question asks for."""
    for answers in ("numbers", "choices", "frames", "mistakes", "wrong_frames", "measured"):
        for name in getattr(key, answers):
            lab.question(name)


def _try_names(lab: LabSpec, question: Question, runs: dict[str, RehearsedRun]) -> None:
    """Raises TcplabError for a name in a question that does not exist."""
    if question.kind == "evidence":
        runs[question.run].require_capture(question.capture)
    for value in (question.value, *(test.value for test in question.tests)):
        if value:
            program_value(runs[question.run], value)
    for network in hidden_networks(lab, question, SELF_STUDY)[:1] if question.hidden else ():
        for test in question.tests:
            for limit in (test.least, test.most):
                read_limit(limit).value(network.variables)
