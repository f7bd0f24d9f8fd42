"""Runs on the hidden networks of a lab's forecasts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.measures.together import jain
from experiments.harness.sweep.point import Point
from labs.definition.answers import OwnParts
from labs.definition.assignment import Course
from labs.definition.forecast import (
    HiddenNetwork,
    HiddenResult,
    TestedProgram,
    hidden_networks,
    read_limit,
)
from labs.definition.spec import LabSpec, ProgramTest, Question, ScoreTerm
from labs.definition.written import in_digits
from labs.measuring.measures import MeasuredRun, UnknownName
from labs.measuring.references import References
from topologies.foundation.errors import TcplabError, UsageError

HiddenResults = dict[str, list[HiddenResult]]
"""The results on the networks of each forecast, by question."""
TestedPrograms = dict[str, list[TestedProgram]]
"""The results of a student's programs on the hidden networks, by question."""
_LONGEST = 200  # characters of a reason
_TOGETHER = re.compile(r"(share|jain)\((.+)\)")


@dataclass
class HiddenRuns:
    """The hidden networks that a course's secret draws, and their runs among the references."""

    lab: LabSpec
    course: Course
    references: References
    own: OwnParts | None = None

    @cached_property
    def networks(self) -> dict[str, list[HiddenNetwork]]:
        """The networks by question: of forecasts, or of programs if there is one.

        Raises UsageError if a program cannot be used.
        """
        kind = "program" if self.own else "forecast"
        asked = (each for each in self.lab.questions if each.kind == kind)
        return {each.id: hidden_networks(self.lab, each, self.course, self.own) for each in asked}

    def points(self) -> list[Point]:
        """Return what is to be run."""
        networks = (network for listed in self.networks.values() for network in listed)
        return [self._point(network) for network in networks]

    def results(self) -> HiddenResults:
        """Return what was measured. Raises TcplabError if a run failed."""
        return {
            name: [self._result(self.lab.question(name), network) for network in networks]
            for name, networks in self.networks.items()
        }

    def tested(self) -> TestedPrograms:
        """Return the result of the tests of programs, by question."""
        return {
            name: [self._tested(self.lab.question(name), network) for network in networks]
            for name, networks in self.networks.items()
        }

    def _tested(self, question: Question, network: HiddenNetwork) -> TestedProgram:
        record = self.references.records[self._point(network).key]
        if record["status"] == "failed":
            return TestedProgram((), str(record["problem"])[:_LONGEST])
        run = MeasuredRun((record["values"],))
        return tested_program(self.lab, question, run, network.variables)

    def _point(self, network: HiddenNetwork) -> Point:
        return self.references.point(network.combination, network.seed)

    def _result(self, question: Question, network: HiddenNetwork) -> HiddenResult:
        record = self.references.records[self._point(network).key]
        if problem := record["problem"]:
            settings = ", ".join(network.settings)
            raise TcplabError(
                f"{question.id}: the network {settings} could not be run: {problem}",
                "Correct the ranges in lab.toml.",
            )
        run = MeasuredRun((record["values"],))
        return HiddenResult(network.variables, program_value(run, question.value))


def tested_program(
    lab: LabSpec, question: Question, run: MeasuredRun, variables: Mapping[str, float]
) -> TestedProgram:
    """Return the stages that a program passed in a run, and its part of the leaderboard."""
    passed: list[str] = []
    reason = ""
    for test in question.tests:
        if reason := _failure(test, run, variables):
            break
        passed.append(test.id)
    board = lab.leaderboard
    ranked = board and board.question == question.id and board.needs in passed
    score = _score(board.terms, run, variables) if board and ranked else 0.0
    return TestedProgram(tuple(passed), reason, score)


def program_value(run: MeasuredRun, text: str) -> float:
    """Return a value of a test: a CONDITION/KEY, or share(...) or jain(...) of several."""
    together = _TOGETHER.fullmatch(text)
    keys = [key.strip().partition("/") for key in (together[2] if together else text).split(",")]
    values = [run(condition, key) for condition, _, key in keys]
    if together is None:
        return values[0]
    if together[1] == "share":
        return values[0] / sum(values) if any(values) else 0.0
    return jain(values)


def _failure(test: ProgramTest, run: MeasuredRun, variables: Mapping[str, float]) -> str:
    """Return why a test failed; empty if it is passed."""
    try:
        value = program_value(run, test.value)
    except UnknownName:
        raise  # a mistake in lab.toml
    except KeyError:
        return f"{test.text}: too little arrived to be measured"
    least, most = (read_limit(text).value(variables) for text in (test.least, test.most))
    if least <= value <= most:
        return ""
    limit = f"{in_digits(least if value < least else most)} {test.unit}".strip()
    return f"{test.text}: {in_digits(value)}, and the limit is {limit}"


def _score(terms: Sequence[ScoreTerm], run: MeasuredRun, variables: Mapping[str, float]) -> float:
    return max(0.0, sum(_part(term, run, variables) for term in terms))


def _part(term: ScoreTerm, run: MeasuredRun, variables: Mapping[str, float]) -> float:
    """Return a term's part of the score. Raises UsageError for a `per` of zero."""
    per = read_limit(term.per).value(variables)
    if not per:
        problem = f"The leaderboard cannot divide: '{term.per[:40]}' is 0 here."
        raise UsageError(problem, "Correct lab.toml.")
    return term.weight * program_value(run, term.value) / per
