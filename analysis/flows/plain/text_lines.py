"""Columns as lines of CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import repeat

from analysis.flows.engine_columns import Handed, listed


def lines(columns: Sequence[Handed]) -> str:
    """A line for each row. Of a column whose rows are alike one value may stand for all."""
    cells = [listed(*column) for column in columns]
    height = max(map(len, cells), default=0)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        zip(
            *[values if len(values) == height else repeat(values[0], height) for values in cells],
            strict=True,
        )
    )
    return out.getvalue()
