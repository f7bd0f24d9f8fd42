"""The definition of a sweep, from the command line, TOML or Python, and its checked plan."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from analysis.measures.expressions import parse
from analysis.measures.metrics import columns
from analysis.statistics.power import level_pairs, sentence
from experiments.spec import Condition, ExperimentSpec
from experiments.study import grid
from experiments.study.catalogue import Experiment, find
from experiments.study.grid import KERNEL, Combination, Factor, settings_from
from experiments.sweep.point import ROWS, Origin, origin, require_metrics
from testbed.lab.ready import Lab
from topologies.data import to_data
from topologies.errors import UsageError
from topologies.notation import toml_file
from topologies.units import Share

_SEEDS = re.compile(r"\s*(\d+)(?:-(\d+))?\s*")
_MOST_SEEDS = 1_000_000
_HIGHEST_SEED = 2**63 - 1
_NONE: Mapping[str, tuple[str, ...]] = {}
_UNTIL_SEEDS = 200  # seeds at most if --until decides and no seeds are given


@dataclass(frozen=True)
class SweepDefinition:
    """An experiment over a grid and seeds.

    `settings` are names and their values, in order. `until` is how wide a median's interval may
    be, as a share of the median; then `seeds` are used in batches until every interval is narrow
    enough. `compare` is the factor whose values are compared, "condition" for the experiment's
    own conditions, empty for the usual choice. `metric` is a column or an expression.
    """

    experiment: str
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    seeds: tuple[int, ...] = (1,)
    until: float | None = None
    metric: str = "goodput_kbit_s"
    compare: str = ""

    @property
    def transport(self) -> str:
        """The transport of the flows that have the metric; empty for any."""
        return "" if self.is_expression else columns()[self.metric].transport

    @property
    def is_expression(self) -> bool:
        """True unless the metric is a column of each sweep."""
        return self.metric not in columns()

    def __post_init__(self) -> None:
        parse(self.metric)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise UsageError(
                "The seeds are none, or one is named twice.",
                "Write 30 for 1 to 30, or 7-36, or 1,5,9.",
            )
        if not all(0 <= seed <= _HIGHEST_SEED for seed in self.seeds):
            raise UsageError("A seed is too large.", f"Choose seeds from 0 to {_HIGHEST_SEED}.")
        if self.until is not None and not 0.0001 <= self.until < 1:
            raise UsageError(
                "A median cannot be that exact.", "Write --until 2%, from 0.01% to below 100%."
            )


def seeds(value: Any, until: float | None) -> tuple[int, ...]:
    """Read `30` as 1 to 30, `7-36` as a range, `1,5,9` as a list. Raises UsageError."""
    if value is None:
        return tuple(range(1, _UNTIL_SEEDS + 1)) if until else (1,)
    if isinstance(value, list | tuple | range):
        if not all(type(seed) is int for seed in value):
            raise UsageError("A seed is no whole number.", "Write seeds = 30, or [1, 5, 9].")
        return tuple(value)
    text = str(value)
    parts = [part and part.groups() for part in map(_SEEDS.fullmatch, text.split(","))]
    listed = list[int]()
    for part in parts:
        if not part:
            raise UsageError(
                f"'{text[:40]}' names no seeds.", "Write 30 for 1 to 30, or 7-36, or 1,5,9."
            )
        first, last = int(part[0]), int(part[1] or part[0])
        if len(parts) == 1 and not part[1]:
            first = 1
        if last - first >= _MOST_SEEDS:
            raise UsageError(
                f"These are {last - first + 1:,} seeds.", f"At most {_MOST_SEEDS:,} are possible."
            )
        listed += range(first, last + 1)
    return tuple(listed)


def share(text: str) -> float:
    """`±2%` or `2%` as a fraction. Raises UsageError."""
    return Share.parse(re.sub(r"^\s*(±|\+-|\+/-)?", "", text).strip()).fraction


def typed_definition(
    what: str, settings: Sequence[str] = (), kernel: str | None = None, **typed: str | None
) -> SweepDefinition:
    """Return the typed sweep: texts of options replace parts of a TOML file. Raises UsageError."""
    is_file = what.endswith(".toml")
    content: dict[str, Any] = {"experiment": what}
    if is_file:  # as docs/guides/sweeps.md shows
        try:
            content = toml_file(Path(what))
        except OSError as error:
            problem = f"{what} cannot be read: {error.strerror}."
            raise UsageError(problem, "Name an experiment, or a file in TOML.") from None
        except ValueError as error:
            remedy = "Write it in TOML, as docs/guides/sweeps.md shows."
            raise UsageError(f"{what} cannot be read as a sweep: {error}.", remedy) from None
    texts = (*settings, *([f"{KERNEL}={kernel}"] if kernel else []))
    content |= {name: text for name, text in typed.items() if text is not None}
    return from_mapping(content, what if is_file else "The sweep", dict(settings_from(texts)))


def from_mapping(
    content: Mapping[str, Any], place: str, settings: Mapping[str, tuple[str, ...]] = _NONE
) -> SweepDefinition:
    """Return the sweep of a file's content, named `place`; `settings` replace those in it."""
    names = ("experiment", "seeds", "until", "metric", "compare", "set")
    if unknown := sorted(set(content) - set(names)):
        raise UsageError(
            f"{place}: there is no '{unknown[0][:40]}' in a sweep.",
            f"There are {', '.join(names)}.",
        )
    if not isinstance(content.get("experiment"), str):
        raise UsageError(f"{place}: it names no experiment.", 'Write experiment = "cubic_vs_reno".')
    table = content.get("set", {})
    if not isinstance(table, Mapping):
        raise UsageError(
            f"{place}: [set] is no table.", 'Write [set] and below it delay = ["10ms", "50ms"].'
        )
    until = share(str(content["until"])) if "until" in content else None
    return SweepDefinition(
        content["experiment"],
        tuple({**dict(_flattened(table)), **settings}.items()),
        seeds(content.get("seeds"), until),
        until,
        str(content.get("metric", "goodput_kbit_s")),
        str(content.get("compare", "")),
    )


def _flattened(table: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, tuple[str, ...]]]:
    """TOML reads net.ipv4.tcp_sack = ... as tables in tables; the name is put together again."""
    for name, values in table.items():
        if isinstance(values, Mapping):
            yield from _flattened(values, f"{before}{name}.")
        else:
            listed: Sequence[Any] = values if isinstance(values, list | tuple) else [values]
            yield f"{before}{name}", tuple(str(value) for value in listed)


@dataclass(frozen=True)
class Plan:
    """A checked sweep; `factors` have several values, `fixed` one. `compare` may be "condition"."""

    sweep: SweepDefinition
    named: Experiment
    factors: tuple[Factor, ...]
    fixed: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    compare: str

    @property
    def specs(self) -> list[ExperimentSpec]:
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

    @property
    def comparisons(self) -> int:
        """The size of the family of comparisons; 0 if no factor is compared."""
        levels = {factor.name: len(factor.values) for factor in self.factors}
        levels |= {"condition": len(self.conditions)} if len(self.conditions) > 1 else {}
        compared = levels.pop(self.compare, 0)
        return len(level_pairs(compared)) * prod(levels.values())

    def power(self) -> str:
        return sentence(len(self.sweep.seeds), self.comparisons)

    def parameters(self) -> dict[str, str]:
        varied = {factor.name.replace("-", "_") for factor in self.factors}
        own = to_data(self.combinations[0].parameters)
        return {name: str(value) for name, value in own.items() if name not in varied} | {
            factor.name: factor.values[0] for factor in self.fixed
        }

    def command(self) -> str:
        factors = (*self.fixed, *self.factors)
        sets = [f"--set {factor.name}={','.join(factor.values)}" for factor in factors]
        until = [f"--until {100 * self.sweep.until:g}%"] if self.sweep.until else []
        first, last = self.sweep.seeds[0], self.sweep.seeds[-1]
        seeds = ",".join(map(str, self.sweep.seeds))
        if self.sweep.seeds == tuple(range(first, last + 1)):
            seeds = str(last) if first == 1 else f"{first}-{last}"
        words = [*sets, f"--seeds {seeds}", *until]
        if self.sweep.metric != SweepDefinition.metric:
            words.append(f"--metric {shlex.quote(self.sweep.metric)}")
        if self.sweep.compare:
            words.append(f"--compare {self.sweep.compare}")
        return " ".join(["./tcplab sweep", self.named.name, *words])

    def repeat(self, combination: Combination, seed: int) -> str:
        fixed = {factor.name: factor.values[0] for factor in self.fixed}
        values = fixed | dict(combination.values)
        sets = [f"--set {name}={value}" for name, value in values.items()]
        return " ".join(["./tcplab run", self.named.name, *sets, f"--seed {seed} --repeat 1"])


def plan(sweep: SweepDefinition) -> Plan:
    """Look everything up. Raises UsageError that says which name or combination is wrong."""
    named = find(sweep.experiment)
    chosen = [grid.factor(named, name, values) for name, values in sweep.settings]
    varied = tuple(factor for factor in chosen if len(factor.values) > 1)
    fixed = tuple(factor for factor in chosen if len(factor.values) == 1)
    planned = Plan(sweep, named, varied, fixed, tuple(grid.combinations(named, chosen)), "")
    for combination in planned.combinations:
        require_metrics([sweep.metric], combination.spec)
    digests = {combination.digest for combination in planned.combinations}
    if len(digests) < len(planned.combinations):
        raise UsageError(
            "Two combinations make the same run.", "Sweep each field under one name only."
        )
    return replace(planned, compare=_compared(planned))


def _compared(planned: Plan) -> str:
    """Return the chosen factor, else the conditions, the first factor of words, or the last one."""
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


def described(planned: Plan) -> dict[str, Any]:
    headlines = [combination.spec.headline for combination in planned.combinations]
    headline = headlines[0]
    # A claim holds for the sweep if it compares the same conditions in every combination.
    claims = {each and (each.direction, each.subject, each.against) for each in headlines}
    if planned.compare != "condition" or not (headline and headline.against) or len(claims) > 1:
        headline = None
    return {
        "experiment": planned.named.name,
        "claim": planned.named.claim,
        "command": planned.command(),
        "metric": planned.sweep.metric,
        "compare": planned.compare or None,
        "headline": to_data(headline),
        "until": planned.sweep.until,
        "factors": [factor.described() for factor in planned.factors],
        "conditions": [
            {"name": condition.name, "label": condition.label} for condition in planned.conditions
        ],
        "parameters": planned.parameters(),
    }
