"""A sweep with everything looked up and checked, so that each name and combination is possible."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.harness.definition import grid
from experiments.harness.definition.catalogue import Experiment, find
from experiments.harness.definition.grid import Combination, Factor
from experiments.harness.sweep.definition import SweepDefinition
from experiments.harness.sweep.measured import require_metrics
from experiments.harness.sweep.point import ROWS, Origin, origin
from experiments.spec import Condition, ExperimentSpec, Headline
from testbed.lab.ready import Lab
from topologies.foundation.data import to_data
from topologies.foundation.errors import UsageError


@dataclass(frozen=True)
class Plan:
    """A checked sweep: `factors` have several values each, `fixed` have one.

    `compare` is the factor whose values are compared, "condition", or empty.
    """

    sweep: SweepDefinition
    named: Experiment
    factors: tuple[Factor, ...]
    fixed: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    compare: str

    @property
    def specs(self) -> list[ExperimentSpec]:
        """The spec of each combination."""
        return [combination.spec for combination in self.combinations]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that all combinations have; empty if a factor decides on the condition."""
        sets = [combination.spec.conditions for combination in self.combinations]
        names = {tuple(condition.name for condition in conditions) for conditions in sets}
        return sets[0] if len(names) == 1 else ()

    def origin(self, lab: Lab) -> Origin:
        """Return the origin of the sweep's records, which have its expression if it has one."""
        return origin(lab, f"{ROWS} {self.sweep.metric}" if self.sweep.is_expression else ROWS)

    def parameters(self) -> dict[str, str]:
        """Return the parameters that all points share, as text by name."""
        varied = {factor.name.replace("-", "_") for factor in self.factors}
        own = to_data(self.combinations[0].parameters)
        return {name: str(value) for name, value in own.items() if name not in varied} | {
            factor.name: factor.values[0] for factor in self.fixed
        }

    def command(self) -> str:
        """Return the command that makes this sweep."""
        factors = (*self.fixed, *self.factors)
        sets = [f"--set {factor.name}={','.join(factor.values)}" for factor in factors]
        until = [f"--until {100 * self.sweep.until:g}%"] if self.sweep.until else []
        chosen = (
            [f"--metric {shlex.quote(self.sweep.metric)}"]
            if self.sweep.metric != SweepDefinition.metric
            else []
        )
        compared = [f"--compare {self.sweep.compare}"] if self.sweep.compare else []
        words = [*sets, f"--seeds {_written(self.sweep.seeds)}", *until, *chosen, *compared]
        return " ".join(["./tcplab sweep", self.named.name, *words])

    def repeat(self, combination: Combination, seed: int) -> str:
        """Return the command that runs one point again, with its captures and a report."""
        fixed = {factor.name: factor.values[0] for factor in self.fixed}
        values = fixed | dict(combination.values)
        sets = [f"--set {name}={value}" for name, value in values.items()]
        return " ".join(["./tcplab run", self.named.name, *sets, f"--seed {seed} --repeat 1"])


def plan(sweep: SweepDefinition) -> Plan:
    """Look everything up. Raises UsageError that says which name or combination is wrong."""
    named = find(sweep.experiment)
    chosen = [grid.factor(named, name, values) for name, values in sweep.settings]
    varied = tuple(factor for factor in chosen if len(factor.values) > 1)
    planned = Plan(
        sweep,
        named,
        varied,
        tuple(factor for factor in chosen if len(factor.values) == 1),
        tuple(grid.combinations(named, chosen)),
        "",
    )
    for combination in planned.combinations:
        require_metrics([sweep.metric], combination.spec)
    digests = {combination.digest for combination in planned.combinations}
    if len(digests) < len(planned.combinations):
        raise UsageError(
            "Two combinations make the same run.", "Sweep each field under one name only."
        )
    return replace(planned, compare=_compared(planned))


def _compared(planned: Plan) -> str:
    """Return the compared factor: the chosen one, or else the first of these.

    These are the experiment's own conditions, the first factor of words, the last factor, in this
    order.
    """
    names = [factor.name for factor in planned.factors]
    possible = ["condition", *names] if len(planned.conditions) > 1 else names
    if planned.sweep.compare:
        if planned.sweep.compare not in possible:
            raise UsageError(
                f"'{planned.sweep.compare[:40]}' cannot be compared.",
                f"Choose from {', '.join(possible) or 'nothing'}.",
            )
        return planned.sweep.compare
    words = [factor.name for factor in planned.factors if factor.kind is str]
    return next(iter([*possible[: len(possible) - len(names)], *words, *names[-1:]]), "")


def _written(seeds: Sequence[int]) -> str:
    """Return seeds as --seeds takes them."""
    first, last = seeds[0], seeds[-1]
    if tuple(seeds) == tuple(range(first, last + 1)):
        return str(last) if first == 1 else f"{first}-{last}"
    return ",".join(map(str, seeds))


def _headline(planned: Plan) -> Headline | None:
    """Return the claim, if it compares the same conditions in every combination; else None."""
    headlines = [combination.spec.headline for combination in planned.combinations]
    first = headlines[0]
    if planned.compare != "condition" or first is None or first.against is None:
        return None
    claims = {each and (each.direction, each.subject, each.against) for each in headlines}
    return first if len(claims) == 1 else None


def described(planned: Plan) -> dict[str, Any]:
    """Return the part of sweep.json that is known before the first run."""
    return {
        "experiment": planned.named.name,
        "claim": planned.named.claim,
        "command": planned.command(),
        "metric": planned.sweep.metric,
        "compare": planned.compare or None,
        "headline": to_data(_headline(planned)),
        "until": planned.sweep.until,
        "factors": [factor.described() for factor in planned.factors],
        "conditions": [
            {"name": condition.name, "label": condition.label} for condition in planned.conditions
        ],
        "parameters": planned.parameters(),
    }
