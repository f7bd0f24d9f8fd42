"""A table whose columns are NumPy arrays: what is computed with, from the engine to the page.

A data frame library would cost each installation 100 MB and each command its import. A missing
value has no number that stands for it: `valid` is False for it, or None if no value is missing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from topologies.errors import UsageError

if TYPE_CHECKING:
    import polars


Places = NDArray[np.int64]
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: Knuth, TAOCP 3, section 6.4


class RowGroups:
    """The rows of some arrays in groups: in each all that have the same values in every array.

    `order` has the rows group by group, those of a group in their own order; `begins` says where in
    `order` each group begins, and `sizes` how many rows it has. Groups of one array come in the
    order of its values.
    """

    def __init__(self, *keys: NDArray[Any]) -> None:
        # Text by its place in the alphabet: numbers are sorted in less time.
        numbers = [
            np.unique(key.astype(str), return_inverse=True)[1] if key.dtype == np.object_ else key
            for key in keys
        ]
        self.order: Places = _together(numbers)
        self._is_first = _differs([key[self.order] for key in numbers])
        self.begins: Places = np.flatnonzero(self._is_first)
        self.sizes: Places = np.diff(self.begins, append=len(self.order))

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def rows(self) -> list[Places]:
        return np.split(self.order, self.begins[1:]) if len(self) else []

    @property
    def first(self) -> Places:
        return self.order[self.begins]

    def spread(self, of_group: NDArray[Any]) -> NDArray[Any]:
        return self._by_row(np.repeat(of_group, self.sizes))

    @cached_property
    def numbers(self) -> Places:
        return self.spread(np.arange(len(self)))

    @property
    def turns(self) -> Places:
        """The number of rows that precede each row in its group."""
        return self._by_row(np.arange(len(self.order)) - self._begin)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        numbers = values.astype(np.int64) if values.dtype == np.bool_ else values
        return np.add.reduceat(numbers[self.order], self.begins) if len(self) else numbers

    def sums_so_far(self, values: NDArray[Any]) -> Places:
        ordered = values[self.order].astype(np.int64)
        sums = np.cumsum(ordered)
        return self._by_row(sums - (sums - ordered)[self._begin])

    def greatest_so_far(self, values: NDArray[Any]) -> NDArray[Any]:
        """The greatest value of each row's group up to the row and with it."""
        ordered = values[self.order]
        ranked = np.argsort(ordered, kind="stable")
        ranks = np.empty(len(ordered), np.int64)
        ranks[ranked] = np.arange(len(ordered))
        above = self.numbers[self.order] * len(ordered)  # no group's ranks reach the next group's
        return self._by_row(ordered[ranked[np.maximum.accumulate(ranks + above) - above]])

    @cached_property
    def previous(self) -> Places:
        """The row before each row in its group; -1 for the first."""
        return self._by_row(np.where(self._is_first, -1, np.roll(self.order, 1)))

    def last(self, fits: NDArray[np.bool_]) -> Places:
        """The last row that `fits` of each row's group, up to the row and with it; -1 for none."""
        places = np.maximum.accumulate(np.where(fits[self.order], np.arange(len(self.order)), -1))
        return self._by_row(np.where(places >= self._begin, self.order[places], -1))

    @cached_property
    def _begin(self) -> Places:
        return np.repeat(self.begins, self.sizes)

    def _by_row(self, ordered: NDArray[Any]) -> NDArray[Any]:
        values = np.empty_like(ordered)
        values[self.order] = ordered
        return values


def _together(keys: Sequence[NDArray[Any]]) -> Places:
    """The rows, equal ones side by side, by one mixed number if it does not join different ones."""
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ key.astype(np.uint64)) * _ODD
    order = np.argsort(mixed, kind="stable")
    is_new = _differs([mixed[order]])
    return np.lexsort(keys) if (_differs([key[order] for key in keys]) > is_new).any() else order


def _differs(ordered: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """True for each row that differs from the row before it in any of the arrays."""
    differs = np.zeros(len(ordered[0]), np.bool_)
    differs[:1] = True
    for key in ordered:
        differs[1:] |= key[1:] != key[:-1]
    return differs


Rows = NDArray[np.integer[Any]] | NDArray[np.bool_] | slice
"""A choice of rows: their places, a truth for each of all rows, or a slice."""
Whole = NDArray[np.int64]
Truths = NDArray[np.bool_]
_TOO_LARGE = 2**63  # for a whole number
_TOGETHER = 4096  # rows that are text at a time


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A value a row; text is an array of objects."""

    values: NDArray[Any]
    valid: Truths | None = None

    @staticmethod
    def of(cells: Sequence[Any], kind: type | None = None) -> TableColumn:
        """Make a column of values of one `kind`, by default the first's; None is missing."""
        known = [cell for cell in cells if cell is not None]
        kind = kind or type(next(iter(known), ""))
        dtype = {int: np.int64, float: np.float64, bool: np.bool_}.get(kind, np.object_)
        values: NDArray[Any] = np.array([kind() if cell is None else cell for cell in cells], dtype)
        valid = None if len(known) == len(cells) else np.array([cell is not None for cell in cells])
        return TableColumn(values, valid)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Rows) -> TableColumn:
        return TableColumn(self.values[rows], None if self.valid is None else self.valid[rows])

    @property
    def is_known(self) -> Truths:
        return np.ones(len(self), np.bool_) if self.valid is None else self.valid

    @property
    def known(self) -> NDArray[Any]:
        return self.values if self.valid is None else self.values[self.valid]

    def filled(self, missing: object) -> NDArray[Any]:
        """Return the values, with `missing` in the place of missing ones."""
        return (
            self.values if self.valid is None else np.where(self.valid, self.values, missing)  # type: ignore[call-overload]
        )

    def whole(self, missing: int = 0) -> Whole:
        """Return 64-bit integers with a sign, whose differences are right."""
        values = self.values.astype(np.int64)
        if self.valid is not None:
            values[~self.valid] = missing
        return values

    def to_list(self) -> list[Any]:
        """Return Python values; None for a missing one."""
        values: list[Any] = self.values.tolist()
        if self.valid is None or self.valid.all():
            return values
        pairs = zip(values, self.valid.tolist(), strict=True)
        return [value if is_known else None for value, is_known in pairs]

    @staticmethod
    def joined(columns: Sequence[TableColumn]) -> TableColumn:
        """Join columns, each behind the one before."""
        if len(columns) == 1:
            return columns[0]
        none_missing = all(column.valid is None for column in columns)
        return TableColumn(
            np.concatenate([column.values for column in columns]),
            None if none_missing else np.concatenate([column.is_known for column in columns]),
        )


@dataclass(frozen=True, eq=False)
class ListColumn:
    """A list a row: that of row n is `values[offsets[n]:offsets[n + 1]]`. None is missing."""

    values: NDArray[Any]
    offsets: Whole

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Rows) -> ListColumn:
        lengths, begins = self.lengths[rows], self.offsets[:-1][rows]
        offsets = _summed(lengths)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return ListColumn(self.values[np.repeat(begins, lengths) + within], offsets)

    @property
    def lengths(self) -> Whole:
        return np.diff(self.offsets)

    def to_list(self) -> list[list[Any]]:
        return [part.tolist() for part in np.split(self.values, self.offsets[1:-1])][: len(self)]

    @staticmethod
    def of_rows(rows: NDArray[Any], values: NDArray[Any], height: int) -> ListColumn:
        """Each value with the row of its list; the rows never fall."""
        return ListColumn(values, _summed(np.bincount(rows, minlength=height)))

    @staticmethod
    def joined(columns: Sequence[ListColumn]) -> ListColumn:
        """Join columns, each behind the one before."""
        if len(columns) == 1:
            return columns[0]
        lengths = np.concatenate([column.lengths for column in columns])
        return ListColumn(np.concatenate([column.values for column in columns]), _summed(lengths))


def _summed(lengths: NDArray[Any]) -> Whole:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns of one length, by name. Tables are immutable: each operation gives another."""

    columns: Mapping[str, TableColumn | ListColumn]

    @classmethod
    def of(cls, **columns: NDArray[Any] | TableColumn | ListColumn) -> Self:
        """A table of these columns; of an array no value is missing."""
        return cls({name: _column(column) for name, column in columns.items()})

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        names = rows[0] if rows else {}
        return cls({name: TableColumn.of([row[name] for row in rows]) for name in names})

    @classmethod
    def of_csv(cls, text: str, types: Mapping[str, type]) -> Self:
        """Read what `csv` wrote, or somebody else; odd cells are missing. Raises ValueError."""
        try:
            names, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        except csv.Error as error:
            raise ValueError(str(error)) from error
        cells = zip(*rows, strict=True) if rows else [()] * len(names)
        return cls(
            {
                name: TableColumn.of([_read(kind, cell) for cell in column], kind)
                for name, column in zip(names, cells, strict=True)
                for kind in [types.get(name, str)]
            }
        )

    @classmethod
    def joined(cls, tables: Sequence[Self]) -> Self:
        """Tables with the same columns, one below the other."""
        columns: dict[str, Any] = {}
        for name in tables[0]:
            columns[name] = [table.columns[name] for table in tables]
        return cls({name: type(parts[0]).joined(parts) for name, parts in columns.items()})

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 0)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> TableColumn:
        column = self.columns[name]
        assert isinstance(column, TableColumn), f"{name} has lists"
        return column

    def lists(self, name: str) -> ListColumn:
        column = self.columns[name]
        assert isinstance(column, ListColumn), f"{name} has no lists"
        return column

    def whole(self, name: str, missing: int = 0) -> Whole:
        return self[name].whole(missing)

    def rows(self, chosen: Rows) -> Self:
        """Some rows, in the order in which they are given."""
        return type(self)({name: column[chosen] for name, column in self.columns.items()})

    def select(self, *names: str) -> Self:
        return type(self)({name: self.columns[name] for name in names})

    def without(self, *names: str) -> Self:
        return self.select(*(name for name in self.columns if name not in names))

    def having(self, **columns: NDArray[Any] | TableColumn | ListColumn) -> Self:
        """With these columns, new ones behind the others."""
        return type(self)({**self.columns, **self.of(**columns).columns})

    def sorted_by(self, name: str) -> Self:
        """By a column without missing values; equal rows stay in their order."""
        values = self[name].values
        if len(values) < 2 or (values[1:] >= values[:-1]).all():
            return self
        return self.rows(np.argsort(values, kind="stable"))

    def parts(self, name: str) -> dict[int, Self]:
        """The rows of each value of a column of whole numbers, by that value, the least first."""
        values = self[name].values
        groups = RowGroups(values).rows
        if len(groups) == 1:
            return {int(values[0]): self}
        return {int(values[rows[0]]): self.rows(rows) for rows in groups}

    def as_rows(self) -> Iterator[dict[str, Any]]:
        """Each row as its values by name; None for what is missing."""
        names, values = list(self), [column.to_list() for column in self.columns.values()]
        for row in zip(*values, strict=True):
            yield dict(zip(names, row, strict=True))

    def csv(self) -> str:
        return "".join(self.csv_parts())

    def csv_parts(self) -> Iterator[str]:
        """The text of `csv` piece by piece, so that few rows are in memory as text."""
        yield csv_lines([list(self)])
        for begin in range(0, len(self), _TOGETHER):
            some = self.rows(slice(begin, begin + _TOGETHER))
            yield csv_lines(zip(*map(_written, some.columns.values()), strict=True))

    def to_polars(self) -> polars.DataFrame:
        """Return a data frame with null for missing values. Raises UsageError without Polars."""
        pl = frame_library()
        frame: polars.DataFrame = pl.DataFrame(
            [_series(pl, name, column) for name, column in self.columns.items()]
        )
        return frame


def _column(column: NDArray[Any] | TableColumn | ListColumn) -> TableColumn | ListColumn:
    return TableColumn(column) if isinstance(column, np.ndarray) else column


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    with io.StringIO() as text:
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()


def _read(kind: type, cell: str) -> Any:
    try:
        value = kind(cell) if cell else None
    except ValueError:
        return None
    return None if isinstance(value, int) and abs(value) >= _TOO_LARGE else value


def _written(column: TableColumn | ListColumn) -> list[Any]:
    """The cells of CSV: truths in small letters, like JSON."""
    truths = {True: "true", False: "false"} if column.values.dtype.kind == "b" else {}
    values: list[Any] = column.to_list()
    return [truths.get(value) for value in values] if truths else values


def frame_library() -> ModuleType:
    """Import Polars. Raises UsageError if it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise UsageError(
            "This needs Polars, which is not installed.",
            "Install it next to tcplab, in a checkout by .venv/bin/pip install polars. The archive"
            " of a release takes no libraries: install its wheel, or use CSV.",
        ) from error
    return polars


def _series(pl: Any, name: str, column: TableColumn | ListColumn) -> Any:
    if isinstance(column, ListColumn):
        return _lists(pl, name, column)
    if column.values.dtype == np.object_:
        return pl.Series(name, column.to_list(), dtype=pl.String)
    series = pl.Series(name, np.ascontiguousarray(column.values))
    if column.valid is None:
        return series
    return pl.select(pl.when(pl.Series(column.valid)).then(series).alias(name)).to_series()


def _lists(pl: Any, name: str, column: ListColumn) -> Any:
    """Polars makes lists of groups of rows."""
    rows = np.repeat(np.arange(len(column)), column.lengths)
    values = pl.DataFrame({"row": rows, name: column.values})
    lists = values.group_by("row", maintain_order=True).agg(pl.col(name))
    every = pl.DataFrame({"row": np.arange(len(column))})
    joined = every.join(lists, on="row", how="left", maintain_order="left").get_column(name)
    return joined.fill_null(pl.Series([[]], dtype=joined.dtype))
