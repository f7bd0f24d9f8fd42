"""A sweep folder's sweep.json as frozen records; what is missing or broken is told in one
sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

from analysis.records.jsonfile import Object, inner, number, objects, read_main, text, texts
from analysis.records.problems import Problems, printable
from analysis.records.row_columns import METRICS, Metric
from topologies.errors import TcplabError

NEWEST_FORMAT = 1
"""The newest sweep.json format that this analysis understands."""
MOST_CELLS = 1_000_000
CONDITION = "condition"
"""The name of the factor that the conditions of the experiment make."""

_LOG = re.compile(r"failures/[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


@dataclass(frozen=True)
class SweptFactor:
    """One swept parameter: its values as the user wrote them, and the column of rows.parquet with
    their amounts.

    `column` is empty where the values are words, and `codes` maps what the rows say to a value's
    place.
    """

    name: str
    short: str
    meaning: str
    values: tuple[str, ...]
    column: str
    codes: tuple[tuple[str, int], ...]

    @property
    def is_quantity(self) -> bool:
        return bool(self.column)


@dataclass(frozen=True)
class FailedPoint:
    """One point that failed; `log` is a path inside the folder or empty, `repeat` the command that
    runs it again.
    """

    point: str
    problem: str
    log: str
    repeat: str


@dataclass(frozen=True)
class SweepRecord:
    """What sweep.json says. `compare` is the place of the compared factor among `factors`, None for
    no comparison.
    """

    path: Path
    facts: Object
    factors: tuple[SweptFactor, ...]
    metric: Metric
    compare: int | None
    failures: tuple[FailedPoint, ...]

    @property
    def experiment(self) -> str:
        return text(self.facts, "experiment", "unnamed experiment")

    @property
    def status(self) -> str:
        return text(self.facts, "status", "unknown")

    @property
    def warnings(self) -> tuple[str, ...]:
        return texts(self.facts, "warnings")

    @property
    def parameters(self) -> dict[str, str]:
        parameters = inner(self.facts, "parameters")
        return {printable(key): text(parameters, key) for key in parameters}

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each factor has; their product is the number of cells."""
        return tuple(len(factor.values) for factor in self.factors)

    def points(self, key: str) -> int:
        """How many points are `wanted`, `done`, `reused`, `failed` or `unproved`."""
        return int(number(inner(self.facts, "points"), key) or 0)

    def described(self, place: tuple[int, ...], axes: tuple[int, ...]) -> str:
        """The values of the factors in `axes` at `place`, such as "delay 50ms, loss 1%"; fixed ones
        are left out.
        """
        named = (
            (factor, level)
            for axis, (factor, level) in enumerate(zip(self.factors, place, strict=True))
            if axis in axes and len(factor.values) > 1
        )
        return ", ".join(f"{factor.short} {factor.values[level]}" for factor, level in named)


def read_sweep(path: Path, problems: Problems) -> SweepRecord:
    """The sweep in `path`.

    Raises UsageError where there is none, TcplabError where sweep.json cannot be used.
    """
    facts = read_main(path, "sweep.json", "./tcplab sweep", NEWEST_FORMAT)
    factors = _factors(facts)
    _require_distinct_columns(factors)
    if prod(len(factor.values) for factor in factors) > MOST_CELLS:
        raise TcplabError(
            f"The grid of the sweep has more than {MOST_CELLS:,} cells.", "Sweep fewer values."
        )
    failures = tuple(_failure(entry) for entry in objects(facts, "failures"))
    return SweepRecord(
        path, facts, factors, _metric(facts), _compared(facts, factors, problems), failures
    )


def _metric(facts: Object) -> Metric:
    name = text(facts, "metric")
    for metric in METRICS:
        if metric.name == name:
            return metric
    raise TcplabError(
        f"sweep.json names the metric '{name}', which this tcplab does not know.", "Update tcplab."
    )


def _factors(facts: Object) -> tuple[SweptFactor, ...]:
    """The swept factors, and the conditions as one more where there are several."""
    entries = [
        entry
        for entry in objects(facts, "factors")
        if text(entry, "name") and texts(entry, "values")
    ]
    last = [text(entry, "name").rpartition(".")[2] for entry in entries]
    factors = tuple(
        _factor(entry, unique=last.count(short) == 1)
        for entry, short in zip(entries, last, strict=True)
    )
    conditions = objects(facts, "conditions")
    return (*factors, _condition(conditions)) if len(conditions) > 1 else factors


def _require_distinct_columns(factors: tuple[SweptFactor, ...]) -> None:
    others = ["point", "flow", "seed", *(metric.name for metric in METRICS)]
    columns = [column for factor in factors for column in (factor.name, factor.column) if column]
    twice = [column for column, count in Counter(columns + others).items() if count > 1]
    if twice:
        raise TcplabError(
            f"sweep.json has two columns named '{twice[0]}'.",
            "Rename the parameter of the experiment.",
        )


def _factor(entry: Object, unique: bool) -> SweptFactor:
    name, column = text(entry, "name"), text(entry, "column")
    values = tuple(dict.fromkeys(texts(entry, "values")))
    short = name.rpartition(".")[2] if unique else name
    is_quantity = column not in ("", name) and text(entry, "kind") != "word"
    codes = tuple((value, place) for place, value in enumerate(values))
    return SweptFactor(
        name, short, text(entry, "meaning"), values, column if is_quantity else "", codes
    )


def _condition(conditions: list[Object]) -> SweptFactor:
    """The rows hold the conditions' names, and the reader wants their labels."""
    names = [text(entry, "name") for entry in conditions]
    labels = tuple(
        text(entry, "label") or name for entry, name in zip(conditions, names, strict=True)
    )
    codes = dict(zip((*labels, *names), 2 * tuple(range(len(names))), strict=True))
    return SweptFactor(
        CONDITION,
        CONDITION,
        "What the experiment itself compares.",
        labels,
        "",
        tuple(codes.items()),
    )


def _compared(facts: Object, factors: tuple[SweptFactor, ...], problems: Problems) -> int | None:
    name = text(facts, "compare")
    if not name:
        return None
    for place, factor in enumerate(factors):
        if factor.name == name and len(factor.values) > 1:
            return place
    problems.add(f"'{name}' has not several values in this sweep: nothing is compared.")
    return None


def _failure(entry: Object) -> FailedPoint:
    factors, log = inner(entry, "factors"), text(entry, "log")
    point = ", ".join(f"{printable(name)} {text(factors, name)}" for name in factors)
    seed = f"seed {text(entry, 'seed', 'unknown')}"
    return FailedPoint(
        f"{point}, {seed}" if point else seed,
        text(entry, "problem", "no reason was given"),
        log if _LOG.fullmatch(log) else "",
        text(entry, "repeat"),
    )
