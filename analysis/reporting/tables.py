"""Tables of quantities: published and measured, in the original's units."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from analysis.measures.metrics import Metric
from analysis.measures.results import MINUS, NOTHING, RunResults, spread
from analysis.records.spec_file import RunCondition


def published_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a study's published.csv, by column."""
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@dataclass(frozen=True)
class ReportQuantity:
    """One row's meaning: its name and unit, the key of its measure, and its source in words.

    A `total` grows with the time that the flow sends. `scale` brings the measure to `unit`.
    """

    name: str
    unit: str
    key: Metric
    source: str
    total: bool = False
    scale: float = 1.0

    @property
    def title(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def of(self, results: RunResults, condition: RunCondition) -> list[float]:
        """Return the values under `condition` in `unit`, one per seed that has one."""
        return [self.scale * value for value in results.values(self.key, condition)]

    def pairs(
        self, results: RunResults, conditions: Sequence[RunCondition]
    ) -> list[tuple[float, ...]]:
        """Return the values in `unit` of each seed that has one under every condition."""
        return [
            tuple(self.scale * value for value in row)
            for row in results.pairs(self.key, conditions)
        ]


@dataclass(frozen=True)
class Published:
    """A published quantity by condition; a condition that was not published has no entry."""

    unit: str
    values: dict[str, float]


@dataclass(frozen=True)
class TableRow:
    """One row as text: a cell per condition in each of the last three.

    The last two are empty without published values.
    """

    name: str
    unit: str
    source: str
    ours: tuple[str, ...]
    published: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportTable:
    """Rows under the `conditions`' labels; `notes` say what a reader must know to compare."""

    title: str
    conditions: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...]

    @property
    def compares(self) -> bool:
        return any(row.published for row in self.rows)


@dataclass(frozen=True)
class Listing:
    """A table of any form: rows as long as its `head`, all as text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def read_published(file: Path) -> dict[str, Published]:
    """Return the published figures of a file with a column for each condition, by quantity."""
    rows = published_rows(file)
    about = {"quantity", "unit", "source"}
    return {
        row["quantity"]: Published(
            row["unit"], {name: float(row[name]) for name in row if name not in about and row[name]}
        )
        for row in rows
    }


def build_row(
    results: RunResults, quantity: ReportQuantity, published: Published | None
) -> TableRow:
    """Return one row; without `published` it holds measured values alone."""
    conditions = results.run.conditions
    values = [quantity.of(results, condition) for condition in conditions]
    ours = tuple(map(spread, values))
    if published is None:
        return TableRow(quantity.name, quantity.unit, quantity.source, ours)
    theirs = [published.values.get(condition.name) for condition in conditions]
    cells = tuple(NOTHING if figure is None else spread([figure]) for figure in theirs)
    mark = "†" if quantity.total else ""
    differences = tuple(
        _difference(original, measured, mark)
        for original, measured in zip(theirs, values, strict=True)
    )
    return TableRow(quantity.name, quantity.unit, quantity.source, ours, cells, differences)


def _difference(published: float | None, ours: Sequence[float], mark: str) -> str:
    if not (published and ours):
        return NOTHING
    return f"{100 * (median(ours) / published - 1):+.0f} %{mark}".replace("-", MINUS)
