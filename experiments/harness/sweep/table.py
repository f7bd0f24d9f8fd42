"""Finished points of a sweep, and their table rows.csv: a row for each flow, run and condition."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from analysis.measures.course_bins import BINS, SERIES_VERSION
from analysis.measures.metrics import Row, columns
from analysis.measures.sweep_folder import GROUP, ROWS, SERIES, SERIES_HEAD
from experiments.harness.definition.grid import Combination, Factor
from experiments.harness.sweep.point import Point, Record
from experiments.harness.sweep.store import PointStore

NETWORK = "network"
"""The column of rows.csv with the verdict, and the place of verdicts in sweep.json and records."""
_AT_ONCE = 200  # records in memory


@dataclass(frozen=True)
class EndedPoints:
    """Points in the order of a sweep's table. Their records stay on the disk until each pass.

    A point that another command removed from the store meanwhile is left out.
    """

    memory: PointStore
    points: Sequence[Point]

    def __iter__(self) -> Iterator[tuple[Point, Record]]:
        return self._read(self.memory.records)

    @property
    def series(self) -> Iterator[tuple[Point, Record]]:
        """The series of the points that have any of this version."""
        kept = self._read(self.memory.series)
        return (pair for pair in kept if pair[1]["version"] == SERIES_VERSION)

    def _read(
        self, read: Callable[[Iterable[str]], dict[str, Record]]
    ) -> Iterator[tuple[Point, Record]]:
        for first in range(0, len(self.points), _AT_ONCE):
            chosen = self.points[first : first + _AT_ONCE]
            records = read(point.key for point in chosen)
            yield from ((point, records[point.key]) for point in chosen if point.key in records)

    @cached_property
    def statuses(self) -> dict[str, str]:
        """The status of each point by its key."""
        return self.memory.statuses(point.key for point in self.points)

    @cached_property
    def usage(self) -> Counter[str]:
        """The sums over all points of clock_seconds, cpu_seconds and the like."""
        total: Counter[str] = Counter()
        for _, record in self:
            total.update(record.get("usage", {}))
        return total

    @property
    def proved(self) -> EndedPoints:
        """The points whose conditions are known to have held: only they have results."""
        return self._having(lambda point: self.statuses.get(point.key) == "complete")

    @property
    def unproved(self) -> EndedPoints:
        """The other points: they failed, or do not show that their conditions held."""
        return self._having(lambda point: self.statuses.get(point.key) != "complete")

    def by_combination(self) -> Iterator[tuple[Combination, EndedPoints]]:
        """Return the points of each combination that has any."""
        for _, group in groupby(self.points, key=lambda point: id(point.combination)):
            points = list(group)
            yield points[0].combination, EndedPoints(self.memory, points)

    def _having(self, wanted: Callable[[Point], bool]) -> EndedPoints:
        return EndedPoints(self.memory, list(filter(wanted, self.points)))


@dataclass(frozen=True)
class SeedRows:
    """Each point's seed and rows; every pass reads them again."""

    points: EndedPoints

    def __iter__(self) -> Iterator[tuple[int, list[Row]]]:
        return ((point.seed, record["rows"]) for point, record in self.points)


def verdict_of(record: Record) -> str | None:
    """Return the verdict on a point's network; None for a point that was not judged."""
    verdict: str | None = record.get(NETWORK, {}).get("verdict")
    return verdict


def counted_verdicts(records: Iterable[Record]) -> dict[str, int]:
    """Count the points with each verdict on their network."""
    return Counter(verdict for record in records if (verdict := verdict_of(record)))


def write_rows(
    folder: Path, factors: Sequence[Factor], points: Iterable[tuple[Point, Record]], metric: str
) -> None:
    """Write the rows of proved points, in the order of `points`. A missing value is empty.

    The last column is that of `metric` if it is an expression.
    """
    kinds: dict[str, type] = {"point": str}
    for factor in factors:  # a quantity has a column for its text and one for its amount
        kinds |= {factor.name: str} | ({factor.column: float} if _is_quantity(factor) else {})
    kinds |= {"condition": str, "flow": str, GROUP: str, "seed": int, NETWORK: str}
    kinds |= dict.fromkeys([*columns(), metric], float)
    with (folder / ROWS).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kinds)
        for row in _rows(factors, points):
            cells = ((row.get(name), kind) for name, kind in kinds.items())
            writer.writerow([None if value is None else kind(value) for value, kind in cells])


def write_series(folder: Path, factors: Sequence[Factor], points: EndedPoints) -> None:
    """Write the flows of proved points over time: a row for each line and quantity."""
    names = [factor.name for factor in factors]
    with (folder / SERIES).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["point", *names, "seed", *SERIES_HEAD, *range(1, BINS + 1)])
        for point, record in points.series:
            values = dict(point.combination.values)
            head = [point.key, *(values[name] for name in names), point.seed]
            writer.writerows([*head, *row] for row in record["rows"])


def _rows(
    factors: Sequence[Factor], points: Iterable[tuple[Point, Record]]
) -> Iterator[dict[str, Any]]:
    amounts = {
        factor.column: (factor.name, {value: factor.number(value) for value in factor.values})
        for factor in factors
        if _is_quantity(factor)
    }
    for point, record in points:
        values = dict(point.combination.values)
        own = {"point": point.key, "seed": point.seed, NETWORK: verdict_of(record)}
        own |= {factor.name: values[factor.name] for factor in factors}
        own |= {column: of[values[name]] for column, (name, of) in amounts.items()}
        yield from ({**own, **row} for row in record["rows"])


def _is_quantity(factor: Factor) -> bool:
    return factor.column != factor.name
