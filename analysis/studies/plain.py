"""The table of an experiment that has no study of its own: what was measured, without published figures or answers."""

from __future__ import annotations

from analysis.results import Results
from analysis.studies.quantities import KERNEL, TRANSFER
from analysis.table import Table, build_row


def table(results: Results) -> Table:
    """All quantities, ours alone."""
    labels = tuple(condition.label for condition in results.run.conditions)
    rows = tuple(build_row(results, quantity, None) for quantity in (*TRANSFER, *KERNEL))
    return Table("What was measured", labels, rows, ())
