"""The points of a sweep that ended. Their records stay on the disk, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from analysis.measures.metrics import Row
from experiments.harness.definition.grid import Combination
from experiments.harness.sweep.point import Point, Record
from experiments.harness.sweep.point_store import PointStore

_AT_ONCE = 200  # records in memory


@dataclass(frozen=True)
class EndedPoints:
    """Points in the order of a sweep's table. Each pass over them reads their records anew.

    A point that another command removed from the memory meanwhile is left out.
    """

    memory: PointStore
    points: Sequence[Point]

    def __iter__(self) -> Iterator[tuple[Point, Record]]:
        for first in range(0, len(self.points), _AT_ONCE):
            chosen = self.points[first : first + _AT_ONCE]
            records = self.memory.records(point.key for point in chosen)
            yield from ((point, records[point.key]) for point in chosen if point.key in records)

    @cached_property
    def statuses(self) -> dict[str, str]:
        """How each point ended, by its key."""
        return self.memory.statuses(point.key for point in self.points)

    @cached_property
    def usage(self) -> Counter[str]:
        """What all points took together: clock_seconds, cpu_seconds and the like."""
        total: Counter[str] = Counter()
        for _, record in self:
            total.update(record.get("usage", {}))
        return total

    @property
    def proved(self) -> EndedPoints:
        """Those whose conditions are known to have held: only they have results."""
        return self._having(lambda point: self.statuses.get(point.key) == "complete")

    @property
    def unproved(self) -> EndedPoints:
        """All others: they failed, or do not show that their conditions held."""
        return self._having(lambda point: self.statuses.get(point.key) != "complete")

    def by_combination(self) -> Iterator[tuple[Combination, EndedPoints]]:
        """Those of each combination that has any."""
        for _, group in groupby(self.points, key=lambda point: id(point.combination)):
            points = list(group)
            yield points[0].combination, EndedPoints(self.memory, points)

    def _having(self, wanted: Callable[[Point], bool]) -> EndedPoints:
        return EndedPoints(self.memory, list(filter(wanted, self.points)))


@dataclass(frozen=True)
class SeedRows:
    """Each point's seed and rows, which every pass reads anew."""

    points: EndedPoints

    def __iter__(self) -> Iterator[tuple[int, list[Row]]]:
        return ((point.seed, record["rows"]) for point, record in self.points)
