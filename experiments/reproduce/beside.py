"""The published numbers that were measured with the very settings of a run, for its report to show beside its own."""

from __future__ import annotations

from typing import Any

from experiments.reproduce.asked import Time, combinations, command, described
from experiments.reproduce.targets import Target, targets
from experiments.spec import ExperimentSpec
from experiments.sweep.grid import Combination
from topologies.data import to_data


def published_beside(spec: ExperimentSpec) -> list[dict[str, Any]]:
    """A row for each: what was published, the run's conditions that match it, and how its value is taken.

    `condition` is today's and `period_condition` the one under the profile; None for one that the run does not have.
    Everything but captures and the other conditions must be the same.
    """
    of_study = [target for target in targets(quick=False) if target.experiment == spec.name]
    rows = (_row(target, both, spec) for target, both in combinations(of_study).items())
    return [row for row in rows if row["condition"] or row["period_condition"]]


def _row(target: Target, both: dict[Time, Combination], spec: ExperimentSpec) -> dict[str, Any]:
    return described(target) | {
        "condition": _shared(target.condition, both.get("today"), spec),
        "period_condition": _shared(target.period_condition, both.get("period"), spec),
        "metric": target.metric, "flow": target.flow, "scale": target.scale, "command": command(target),
    }  # fmt: skip


def _shared(name: str, published: Combination | None, spec: ExperimentSpec) -> str | None:
    """The name of the condition where the run has it, the same and over the same network."""
    if published is None or _what_matters(published.spec) != _what_matters(spec):
        return None
    there = set(published.spec.conditions) & set(spec.conditions)
    with_modules = set(published.spec.modules) <= set(spec.modules)
    return name if with_modules and name in {condition.name for condition in there} else None


def _what_matters(spec: ExperimentSpec) -> Any:
    """What a run measures, without what is only watched and without the words that describe it."""
    data = to_data(spec)
    return data["topology"], data["flows"]
