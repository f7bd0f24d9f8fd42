"""Runs on the hidden networks of a lab's forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
from labs.definition.spec import LabSpec, Question
from labs.definition.written import in_digits
from labs.measuring.measures import MeasuredRun
from labs.measuring.references import References
from topologies.foundation.errors import TcplabError

HiddenResults = dict[str, list[HiddenResult]]
"""The results on the networks of each forecast, by question."""
TestedPrograms = dict[str, list[TestedProgram]]
"""The results of a student's programs on the hidden networks, by question."""
_LONGEST = 200  # characters of a reason


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
        passed: list[str] = []
        for test in question.tests:
            condition, _, key = test.value.partition("/")
            value = run(condition, key)
            limits = (read_limit(text).value(network.variables) for text in (test.least, test.most))
            least, most = limits
            if not least <= value <= most:
                limit = f"{in_digits(least if value < least else most)} {test.unit}".strip()
                reason = f"{test.text}: {in_digits(value)}, and the limit is {limit}"
                return TestedProgram(tuple(passed), reason)
            passed.append(test.id)
        return TestedProgram(tuple(passed))

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
        condition, _, key = question.value.partition("/")
        run = MeasuredRun((record["values"],))
        return HiddenResult(network.variables, run(condition, key))
