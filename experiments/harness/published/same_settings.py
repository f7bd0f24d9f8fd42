"""The published numbers that were measured with the very settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from experiments.harness.definition.grid import Combination
from experiments.harness.published.target import Target
from experiments.harness.published.target_points import combinations, command, described
from experiments.harness.published.targets import targets_of
from experiments.spec import ExperimentSpec

_Published = tuple[ExperimentSpec, Any]
"""What a target runs, and what of it matters."""


@dataclass(frozen=True)
class MatchingTarget:
    """A target, and the run's conditions that match it; None for one that the run does not have."""

    target: Target
    today: str | None
    period: str | None

    def described(self) -> dict[str, Any]:
        """The row of a run's spec.json: what was published, and how the run's value is taken."""
        return described(self.target) | {
            "condition": self.today,
            "period_condition": self.period,
            "metric": self.target.metric,
            "flow": self.target.flow,
            "among": self.target.among,
            "scale": self.target.scale,
            "command": command(self.target),
        }


def published_beside(spec: ExperimentSpec, quick: bool = False) -> list[MatchingTarget]:
    """One for each published number of the spec's study that was measured with its settings.

    Everything but captures and other conditions must be the same. `quick` compares with the short
    forms of the published runs.
    """
    measured = _what_matters(spec)
    rows = (
        MatchingTarget(
            target,
            _shared(target.condition, today, spec, measured),
            _shared(target.period_condition, period, spec, measured),
        )
        for target, today, period in _of_study(spec.name, quick)
    )
    return [row for row in rows if row.today or row.period]


@cache
def _of_study(name: str, quick: bool) -> list[tuple[Target, _Published | None, _Published | None]]:
    """Each target with what it runs today and then; a sweep asks this for all of its points."""
    chosen = combinations(targets_of(name, quick))
    return [
        (target, _published(both.get("today")), _published(both.get("period")))
        for target, both in chosen.items()
    ]


def _published(combination: Combination | None) -> _Published | None:
    if combination is None:
        return None
    return combination.spec, _what_matters(combination.spec)


def _shared(
    name: str, published: _Published | None, spec: ExperimentSpec, measured: Any
) -> str | None:
    """The name of the condition if the run has it, the same and over the same network."""
    if published is None or published[1] != measured:
        return None
    shared = set(published[0].conditions) & set(spec.conditions)
    with_modules = set(published[0].modules) <= set(spec.modules)
    return name if with_modules and name in {condition.name for condition in shared} else None


def _what_matters(spec: ExperimentSpec) -> Any:
    """What a run measures, without what is only watched and without the words that describe it."""
    return spec.topology, spec.flows
