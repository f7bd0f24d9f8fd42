"""Tables of quantities, published and measured, in the original's units."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from analysis.fmt import MINUS, NOTHING, spread, with_unit
from analysis.measures.metrics import Metric, metric
from analysis.measures.results import RunResults
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunCondition
from topologies.notation import toml_file


def published_rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@dataclass(frozen=True)
class ReportQuantity:
    """A row's name, unit, metric and source; a `total` grows with the time of a flow."""

    name: str
    unit: str
    key: Metric
    source: str
    total: bool = False
    scale: float = 1.0

    @property
    def title(self) -> str:
        return with_unit(self.name, self.unit)

    def scoped(self, run: RunRecord) -> "ReportQuantity":
        """Return the quantity with its scope in its name, if the run has several flows."""
        scope = self.key.scope
        subject = scope.removeprefix("all ").removesuffix("s")
        if len(run.flows) < 2 or not scope or subject in self.name.lower():
            return self
        words = {"flow": run.flow.name, "host": run.flow.sender, "port": "busiest port"}
        return replace(self, name=f"{self.name}, {words.get(scope, scope)}")

    def of(self, results: RunResults, condition: RunCondition) -> list[float]:
        """Return the values under `condition` in `unit`, one per seed that has one."""
        return [self.scale * value for value in results.values(self.key, condition)]

    def pairs(
        self, results: RunResults, conditions: Sequence[RunCondition]
    ) -> list[tuple[float, ...]]:
        """Return the values in `unit` of each seed that has one under every condition."""
        pairs = results.pairs(self.key, conditions)
        return [tuple(self.scale * value for value in row) for row in pairs]


@dataclass(frozen=True)
class Published:
    """A published quantity by condition; a condition that was not published has no entry."""

    unit: str
    values: dict[str, float]


@dataclass(frozen=True)
class TableRow:
    """One row as text, a cell per condition; the last two are empty without published values."""

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
    about = {"quantity", "unit", "source", "metric"}
    return {
        row["quantity"]: Published(
            row["unit"], {name: float(row[name]) for name in row if name not in about and row[name]}
        )
        for row in published_rows(file)
    }


def build_row(
    results: RunResults, quantity: ReportQuantity, published: Published | None
) -> TableRow:
    """Return one row; without `published` it holds measured values alone."""
    conditions, scoped = results.run.conditions, quantity.scoped(results.run)
    values = [quantity.of(results, condition) for condition in conditions]
    ours = tuple(map(spread, values))
    if published is None:
        return TableRow(scoped.name, quantity.unit, quantity.source, ours)
    theirs = [published.values.get(condition.name) for condition in conditions]
    cells = tuple(NOTHING if figure is None else spread([figure]) for figure in theirs)
    differences = []
    for original, measured in zip(theirs, values, strict=True):
        difference = NOTHING
        if original and measured:
            apart = f"{100 * (median(measured) / original - 1):+.0f} %".replace("-", MINUS)
            difference = f"{apart}{'†' * quantity.total}"
        differences.append(difference)
    source = quantity.source
    return TableRow(scoped.name, quantity.unit, source, ours, cells, tuple(differences))


def quantity(
    key: str, name: str = "", unit: str | None = None, scale: float = 1.0
) -> ReportQuantity:
    """Return a metric's quantity, named as it is unless told otherwise. Raises UnknownMetric."""
    each = metric(key)
    source, unit = each.source.replace("FLOW", "flow1"), each.unit if unit is None else unit
    return ReportQuantity(name or each.title, unit, each, source, each.total, scale)


class Quantities(dict[str, ReportQuantity]):
    """The quantities of a report, and groups of them, from quantities.toml next to a `file`."""

    def __init__(self, file: str) -> None:
        content = toml_file(Path(file).with_name("quantities.toml"))
        self._groups, self.notes = content.pop("group"), tuple(content.pop("notes", ()))
        super().__init__({name: quantity(**row) for name, row in content.items()})

    def group(self, name: str) -> tuple[ReportQuantity, ...]:
        """Return a group, of which each entry is a name or the key of a metric."""
        return tuple(self.get(each) or quantity(each) for each in self._groups[name])


Q = Quantities(__file__)
