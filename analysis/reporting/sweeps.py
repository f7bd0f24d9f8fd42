"""Tables of a sweep that only one study has."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from analysis.graphs.layers import GraphGroup
from analysis.measures.results import spread, value_of
from analysis.measures.sweep_folder import SweepRecord, read_rows
from analysis.reporting.answers import Answer
from analysis.reporting.tables import Listing
from analysis.table import csv_lines
from topologies.untrusted import StrangeFile

Cells = tuple[str, ...]
Made = TypeVar("Made")


@dataclass(frozen=True)
class PublishedOrder:
    """A table in the columns and the order of a published one.

    `head` and `rows` are the original's; the published cells of each row, under `published_head`,
    are next to them.
    """

    title: str
    head: Cells
    rows: tuple[Cells, ...]
    published_head: Cells
    published: tuple[Cells, ...]
    notes: tuple[str, ...]

    @property
    def csv(self) -> str:
        """Measured columns, as CSV."""
        return csv_lines([self.head, *self.rows])


@dataclass(frozen=True)
class SweepStudy:
    """The study's table, its graph and its answers, of a sweep that varies what the study did."""

    summary: PublishedOrder
    graphs: GraphGroup
    answers: tuple[Answer, ...]


Row = dict[str, Any]


@dataclass(frozen=True)
class SweptCell:
    """The values of the factors that vary, in words, and the rows of each run by its seed.

    `place` is that of the cell in the grid.
    """

    name: str
    runs: list[list[Row]]
    place: tuple[int, ...] = ()


MakeListings = Callable[[SweepRecord, list[SweptCell]], tuple[Listing, ...]]
"""Makes the tables of a study from the runs of each cell."""


@dataclass(frozen=True)
class SweepEffect:
    """The sentence and the picture that lead the page of an experiment's sweep."""

    sentence: str
    picture: GraphGroup


MakeEffect = Callable[[SweepRecord, list[SweptCell]], SweepEffect | None]
"""Makes the effect of a study from the runs of each cell."""


def made_of(
    sweep: SweepRecord, make: Callable[[SweepRecord, list[SweptCell]], Made] | None
) -> Made | None:
    """Return the effect or the tables; None if rows cannot be read, which sweep_samples says."""
    if make is None:
        return None
    try:
        return make(sweep, swept_cells(sweep))
    except (OSError, KeyError, ValueError, TypeError, StrangeFile):
        return None


def swept_cells(sweep: SweepRecord) -> list[SweptCell]:
    """Return every cell that has runs, in the order of the grid."""
    runs: dict[tuple[int, ...], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    codes = [dict(factor.codes) for factor in sweep.factors]
    for row in read_rows(sweep).as_rows():
        place = tuple(
            levels[row[factor.name]] for factor, levels in zip(sweep.factors, codes, strict=True)
        )
        runs[place][row["seed"]].append(row)
    return [
        SweptCell(_named(sweep, place), [rows for _, rows in sorted(runs[place].items())], place)
        for place in sorted(runs)
    ]


def _named(sweep: SweepRecord, place: tuple[int, ...]) -> str:
    values = (
        factor.values[level]
        for factor, level in zip(sweep.factors, place, strict=True)
        if len(factor.values) > 1
    )
    return ", ".join(values) or "all runs"


def varied(sweep: SweepRecord) -> str:
    """Return the names of the factors that vary: what heads the names of the cells."""
    return ", ".join(factor.short for factor in sweep.factors if len(factor.values) > 1)


def over_runs(measure: Callable[[list[Row]], float | None], runs: Sequence[list[Row]]) -> str:
    """Return the median and range of `measure` over the runs that have it."""
    return spread([value for run in runs if (value := measure(run)) is not None])


def flow_value(metric: str, flow: str, scale: float = 1.0) -> Callable[[list[Row]], float | None]:
    """Return a function from a run to its metric for the named flows, times `scale`."""

    def measure(rows: list[Row]) -> float | None:
        value = value_of(rows, metric, flow)
        return None if value is None else scale * value

    return measure
