"""The published numbers that were measured with the very settings of a run, to be shown beside its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from analysis.sweep.rows import Row, value_of
from experiments.grid import Combination
from experiments.published.asked import Time, combinations, command, described
from experiments.published.targets import Target, targets
from experiments.spec import ExperimentSpec
from topologies.data import to_data


@dataclass(frozen=True)
class Beside:
    """A target, and the run's conditions that match it; None for one that the run does not have."""

    target: Target
    today: str | None
    period: str | None

    def described(self) -> dict[str, Any]:
        """The row of a run's spec.json: what was published, the conditions, and how their value is taken."""
        return described(self.target) | {
            "condition": self.today, "period_condition": self.period, "metric": self.target.metric,
            "flow": self.target.flow, "scale": self.target.scale, "command": command(self.target),
        }  # fmt: skip


def published_beside(spec: ExperimentSpec, quick: bool = False) -> list[Beside]:
    """One for each published number of the spec's study. Everything but captures and other conditions must be the same.

    `quick` compares with the short forms of the published runs.
    """
    of_study = [target for target in targets(quick) if target.experiment == spec.name]
    rows = (_beside(target, both, spec) for target, both in combinations(of_study).items())
    return [row for row in rows if row.today or row.period]


def taken(target: Target, condition: str | None, runs: Iterable[Iterable[Row]]) -> list[float]:
    """What the runs' rows of this condition give for a target, in its unit; a run that has no value is left out."""
    chosen = ([row for row in rows if row["condition"] == condition] for rows in runs)
    values = (value_of(rows, target.metric, target.flow) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]


def _beside(target: Target, both: dict[Time, Combination], spec: ExperimentSpec) -> Beside:
    return Beside(
        target,
        _shared(target.condition, both.get("today"), spec),
        _shared(target.period_condition, both.get("period"), spec),
    )


def _shared(name: str, published: Combination | None, spec: ExperimentSpec) -> str | None:
    """The name of the condition where the run has it, the same and over the same network."""
    if published is None or _what_matters(published.spec) != _what_matters(spec):
        return None
    there = set(published.spec.conditions) & set(spec.conditions)
    with_modules = set(published.spec.modules) <= set(spec.modules)
    return name if with_modules and name in {condition.name for condition in there} else None


@lru_cache(maxsize=4096)
def _what_matters(spec: ExperimentSpec) -> Any:
    """What a run measures, without what is only watched and without the words that describe it."""
    data = to_data(spec)
    return data["topology"], data["flows"]
