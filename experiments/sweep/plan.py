"""A sweep with everything looked up and checked: nothing that a plan holds can turn out misspelt or
impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.definition.catalogue import Experiment, find
from experiments.definition.grid import Combination, Factor, combinations, factor
from experiments.spec import Condition
from experiments.sweep.sweep_definition import SweepDefinition
from topologies.data import to_data
from topologies.errors import UsageError


@dataclass(frozen=True)
class Plan:
    """`factors` have several values each, `fixed` one. `compare` is the factor whose values are
    compared, or empty.
    """

    sweep: SweepDefinition
    named: Experiment
    factors: tuple[Factor, ...]
    fixed: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    compare: str

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those that all combinations have; none where a factor decides on the condition."""
        sets = [combination.spec.conditions for combination in self.combinations]
        names = {tuple(condition.name for condition in conditions) for conditions in sets}
        return sets[0] if len(names) == 1 else ()

    def parameters(self) -> dict[str, str]:
        """What is the same for all points, as text by name."""
        varied = {one.name.replace("-", "_") for one in self.factors}
        own = to_data(self.combinations[0].parameters)
        return {name: str(value) for name, value in own.items() if name not in varied} | {
            one.name: one.values[0] for one in self.fixed
        }

    def command(self) -> str:
        """The command that makes this sweep."""
        sets = [f"--set {one.name}={','.join(one.values)}" for one in (*self.fixed, *self.factors)]
        until = [f"--until {100 * self.sweep.until:g}%"] if self.sweep.until else []
        chosen = (
            [f"--metric {self.sweep.metric}"] if self.sweep.metric != SweepDefinition.metric else []
        )
        compared = [f"--compare {self.sweep.compare}"] if self.sweep.compare else []
        words = [*sets, f"--seeds {_written(self.sweep.seeds)}", *until, *chosen, *compared]
        return " ".join(["./tcplab sweep", self.named.name, *words])

    def repeat(self, combination: Combination, seed: int) -> str:
        """The command that runs one point again, with its captures and a report."""
        everything = {one.name: one.values[0] for one in self.fixed} | dict(combination.values)
        sets = [f"--set {name}={value}" for name, value in everything.items()]
        return " ".join(["./tcplab run", self.named.name, *sets, f"--seed {seed}"])


def plan(sweep: SweepDefinition) -> Plan:
    """Look everything up. Raises UsageError that says which name or combination is wrong."""
    named = find(sweep.experiment)
    chosen = [factor(named, name, values) for name, values in sweep.settings]
    varied = tuple(one for one in chosen if len(one.values) > 1)
    found = Plan(
        sweep,
        named,
        varied,
        tuple(one for one in chosen if len(one.values) == 1),
        tuple(combinations(named, chosen)),
        "",
    )
    if len({one.digest for one in found.combinations}) < len(found.combinations):
        raise UsageError(
            "Two combinations make the same run.", "Sweep each field under one name only."
        )
    return Plan(found.sweep, named, varied, found.fixed, found.combinations, _compared(found))


def _compared(found: Plan) -> str:
    """What was asked for; else the experiment's own conditions, else the first word, else the last
    factor.
    """
    names = [one.name for one in found.factors]
    possible = ["condition", *names] if len(found.conditions) > 1 else names
    if found.sweep.compare:
        if found.sweep.compare not in possible:
            raise UsageError(
                f"'{found.sweep.compare[:40]}' cannot be compared.",
                f"Choose from {', '.join(possible) or 'nothing'}.",
            )
        return found.sweep.compare
    words = [one.name for one in found.factors if one.kind is str]
    return next(iter([*possible[: len(possible) - len(names)], *words, *names[-1:]]), "")


def _written(seeds: Sequence[int]) -> str:
    """Seeds as --seeds takes them."""
    first, last = seeds[0], seeds[-1]
    if tuple(seeds) == tuple(range(first, last + 1)):
        return str(last) if first == 1 else f"{first}-{last}"
    return ",".join(map(str, seeds))


def described(found: Plan) -> dict[str, Any]:
    """The part of sweep.json that is known before the first run."""
    return {
        "experiment": found.named.name,
        "claim": found.named.claim,
        "command": found.command(),
        "metric": found.sweep.metric,
        "compare": found.compare or None,
        "until": found.sweep.until,
        "factors": [one.described() for one in found.factors],
        "conditions": [{"name": one.name, "label": one.label} for one in found.conditions],
        "parameters": found.parameters(),
    }
