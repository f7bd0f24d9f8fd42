"""What runs of ours give for a published number."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.measures.flow_rows import value_of
from analysis.records.row_columns import Row
from experiments.harness.published.target import Target


def taken(target: Target, condition: str | None, runs: Iterable[Iterable[Row]]) -> list[float]:
    """What the runs' rows of this condition give for a target, in its unit.

    A run that has no value is left out.
    """
    chosen = ([row for row in rows if row["condition"] == condition] for rows in runs)
    values = (value_of(rows, target.metric, target.flow, target.among) for rows in chosen)
    return [round(value * target.scale, 6) for value in values if value is not None]
