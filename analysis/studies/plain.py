"""The table of an experiment that has no study of its own: what was measured, without published figures or answers."""

from __future__ import annotations

from analysis.results import NOTHING, Results
from analysis.studies.quantities import FLOWS, KERNEL, TRANSFER
from analysis.table import Table, build_row


def table(results: Results) -> Table:
    """All quantities that were measured, ours alone. Without a capture those that come from one are left out."""
    labels = tuple(condition.label for condition in results.run.conditions)
    several = FLOWS if len(results.run.flows) > 1 else ()
    rows = (build_row(results, quantity, None) for quantity in (*several, *TRANSFER, *KERNEL))
    measured = tuple(row for row in rows if set(row.ours) != {NOTHING})
    title = f"What was measured: all flows, then {results.run.flow.name}" if several else "What was measured"
    return Table(title, labels, measured, ())
