"""rows.csv of a sweep: a row for each flow, condition, seed and combination."""

from __future__ import annotations

from analysis.records.row_columns import METRICS
from analysis.records.sweep_folder import SweepRecord
from analysis.tabular.column_table import ColumnTable
from topologies.foundation import untrusted

ROWS = "rows.csv"


def read_rows(sweep: SweepRecord) -> ColumnTable:
    """The table; amounts of factors and metrics are floats, seeds whole numbers, all else text.

    What is no number in such a column is missing. Raises OSError, StrangeFile, and ValueError for
    what is no table.
    """
    amounts = {factor.column: float for factor in sweep.factors if factor.is_quantity}
    metrics = {metric.name: float for metric in METRICS}
    content = untrusted.content(sweep.path, ROWS).decode()
    return ColumnTable.of_csv(content, {"seed": int, **amounts, **metrics})
