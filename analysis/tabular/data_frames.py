"""Tables as data frames, for who computes on with a library of them; the product needs none."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.tabular.column_table import ColumnTable, ListColumn, TableColumn
from topologies.foundation.errors import UsageError

if TYPE_CHECKING:
    import polars


def frame_library() -> ModuleType:
    """Polars. Raises UsageError if it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise UsageError(
            "This needs Polars, which is not installed.",
            "Install it beside tcplab, in a checkout by .venv/bin/pip install polars. The archive"
            " of a release takes no libraries: install its wheel, or use CSV.",
        ) from error
    return polars


def polars_frame(table: ColumnTable) -> polars.DataFrame:
    """The table as a frame of Polars; missing values are null. Raises UsageError."""
    pl = frame_library()
    frame: polars.DataFrame = pl.DataFrame(
        [_series(pl, name, column) for name, column in table.columns.items()]
    )
    return frame


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
