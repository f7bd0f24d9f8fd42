"""The published numbers that were measured with the very settings of a run, for its report to show beside its own."""

from __future__ import annotations

from typing import Any

from experiments.reproduce.asked import Time, combinations, command
from experiments.reproduce.targets import Target, described, targets
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
    """Both times may be conditions of one combination, or each a combination of its own."""
    names = {name for one in both.values() for name in _in_common(one.spec, spec)}
    return described(target) | {
        "condition": target.condition if target.condition in names else None,
        "period_condition": target.period_condition if target.period_condition in names else None,
        "metric": target.metric, "flow": target.flow, "scale": target.scale, "command": command(target),
    }  # fmt: skip


def _in_common(published: ExperimentSpec, spec: ExperimentSpec) -> set[str]:
    """The names of the conditions that both measure alike."""
    same = _what_matters(published) == _what_matters(spec) and set(published.modules) <= set(spec.modules)
    return {condition.name for condition in set(published.conditions) & set(spec.conditions)} if same else set()


def _what_matters(spec: ExperimentSpec) -> Any:
    """What a run measures, without what is only watched and without the words that describe it."""
    kept = {"topology", "flows"}
    return {name: value for name, value in to_data(spec).items() if name in kept}
