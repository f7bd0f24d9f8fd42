"""The tidy table of a sweep: a row per flow, run and condition; a column per factor and metric."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.measures.metrics import columns
from analysis.measures.sweep_folder import ROWS
from experiments.harness.definition.grid import Factor
from experiments.harness.sweep.network_verdicts import NETWORK, verdict_of
from experiments.harness.sweep.point import Point, Record


def write(folder: Path, factors: Sequence[Factor], points: Iterable[tuple[Point, Record]]) -> None:
    """Write the rows of proved points, in the order of `points`, as they come.

    Nothing stands between the commas for what is missing.
    """
    kinds = _kinds(factors)
    with (folder / ROWS).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kinds)
        for row in _rows(factors, points):
            cells = ((row.get(name), kind) for name, kind in kinds.items())
            writer.writerow([None if value is None else kind(value) for value, kind in cells])


def _kinds(factors: Sequence[Factor]) -> dict[str, type]:
    """What the columns hold. Factors are text and, if they are quantities, a number."""
    of_factors: dict[str, type] = {}
    for factor in factors:
        of_factors[factor.name] = str
        if factor.column != factor.name:
            of_factors[factor.column] = float
    own = {"condition": str, "flow": str, "seed": int, NETWORK: str}
    return {"point": str, **of_factors, **own, **dict.fromkeys(columns(), float)}


def _rows(
    factors: Sequence[Factor], points: Iterable[tuple[Point, Record]]
) -> Iterator[dict[str, Any]]:
    """All rows of these points, each with its network's verdict."""
    numbers = {
        factor.name: {value: factor.number(value) for value in factor.values}
        for factor in factors
        if factor.column != factor.name
    }
    for point, record in points:
        chosen = _chosen(factors, dict(point.combination.values), numbers)
        own = {"point": point.key, "seed": point.seed, NETWORK: verdict_of(record), **chosen}
        yield from ({**own, **row} for row in record["rows"])


def _chosen(
    factors: Sequence[Factor], values: dict[str, str], numbers: dict[str, dict[str, float]]
) -> dict[str, str | float]:
    chosen: dict[str, str | float] = {}
    for factor in factors:
        chosen[factor.name] = values[factor.name]
        if factor.name in numbers:
            chosen[factor.column] = numbers[factor.name][values[factor.name]]
    return chosen
