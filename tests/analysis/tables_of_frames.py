"""Frames of Polars, in which tests make and look at rows, as the tables that are computed with."""

from __future__ import annotations

import numpy as np
import polars as pl

from analysis.table import ColumnTable, ListColumn, TableColumn


def table_of(frame: pl.DataFrame) -> ColumnTable:
    return ColumnTable({name: _column(frame[name]) for name in frame.columns})


def _column(series: pl.Series) -> TableColumn | ListColumn:
    if isinstance(series.dtype, pl.List):
        lengths = series.list.len().to_numpy().astype(np.int64)
        values = series.explode().drop_nulls().to_numpy().astype(np.uint64)
        return ListColumn(values, np.concatenate(([0], np.cumsum(lengths))))
    if series.dtype == pl.String:
        return TableColumn.of(series.to_list(), str)
    values = series.fill_null(False if series.dtype == pl.Boolean else 0).to_numpy()
    return TableColumn(values, series.is_not_null().to_numpy() if series.null_count() else None)
