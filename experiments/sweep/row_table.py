"""The tidy table of a sweep: a row per flow, run and condition; a column per factor and metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.records.row_columns import METRICS
from analysis.tabular.column_table import ColumnTable, TableColumn
from experiments.definition.grid import Factor
from experiments.sweep.network_verdicts import NETWORK, verdict_of
from experiments.sweep.point import Point, Record


def table(factors: Sequence[Factor], points: Iterable[tuple[Point, Record]]) -> ColumnTable:
    """All rows of proved points, in the order of `points`, each with its network's verdict.

    Factors are text and, if they are quantities, a number.
    """
    kinds: dict[str, type] = {"point": str}
    for factor in factors:
        kinds |= {factor.name: str}
        kinds |= {factor.column: float} if factor.column != factor.name else {}
    kinds |= {"condition": str, "flow": str, "seed": int, NETWORK: str}
    kinds |= {metric.name: float for metric in METRICS}
    numbers = {
        factor.name: {value: factor.number(value) for value in factor.values}
        for factor in factors
        if factor.column != factor.name
    }
    columns: dict[str, list[object]] = {name: [] for name in kinds}
    for point, record in points:
        chosen = _chosen(factors, dict(point.combination.values), numbers)
        for row in record["rows"]:
            own = {"point": point.key, "seed": point.seed, NETWORK: verdict_of(record)}
            values = {**own, **chosen, **row}
            for name, column in columns.items():
                column.append(values.get(name))
    return ColumnTable(
        {name: TableColumn.of(column, kinds[name]) for name, column in columns.items()}
    )


def _chosen(
    factors: Sequence[Factor], values: dict[str, str], numbers: dict[str, dict[str, float]]
) -> dict[str, str | float]:
    chosen: dict[str, str | float] = {}
    for factor in factors:
        chosen[factor.name] = values[factor.name]
        if factor.name in numbers:
            chosen[factor.column] = numbers[factor.name][values[factor.name]]
    return chosen
