"""Runs on the hidden networks of a lab's forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from experiments.harness.sweep.point import Point
from labs.definition.assignment import Course
from labs.definition.forecast import HiddenNetwork, HiddenResult, hidden_networks
from labs.definition.spec import LabSpec, Question
from labs.measuring.measures import MeasuredRun
from labs.measuring.references import References
from topologies.foundation.errors import TcplabError

HiddenResults = dict[str, list[HiddenResult]]
"""The results on the networks of each forecast, by question."""


@dataclass
class HiddenRuns:
    """The hidden networks that a course's secret draws, and their runs among the references."""

    lab: LabSpec
    course: Course
    references: References

    @cached_property
    def networks(self) -> dict[str, list[HiddenNetwork]]:
        """The networks of each forecast, by question."""
        forecasts = (each for each in self.lab.questions if each.kind == "forecast")
        return {each.id: hidden_networks(self.lab, each, self.course) for each in forecasts}

    def points(self) -> list[Point]:
        """Return what is to be run."""
        networks = (network for listed in self.networks.values() for network in listed)
        return [point for network in networks for point in self._points(network)]

    def results(self) -> HiddenResults:
        """Return what was measured. Raises TcplabError if a run failed."""
        return {
            name: [self._result(self.lab.question(name), network) for network in networks]
            for name, networks in self.networks.items()
        }

    def _points(self, network: HiddenNetwork) -> list[Point]:
        return [self.references.point(network.combination, seed) for seed in network.seeds]

    def _result(self, question: Question, network: HiddenNetwork) -> HiddenResult:
        records = [self.references.records[point.key] for point in self._points(network)]
        if problem := next((record["problem"] for record in records if record["problem"]), ""):
            settings = ", ".join(network.settings)
            raise TcplabError(
                f"{question.id}: the network {settings} could not be run: {problem}",
                "Correct the ranges in lab.toml.",
            )
        condition, _, key = question.value.partition("/")
        run = MeasuredRun(tuple(record["values"] for record in records))
        return HiddenResult(network.variables, run(condition, key))
