"""The table of an experiment that has no study of its own: what was measured, without published
figures or answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.results import NOTHING, Results
from analysis.rundirectory import Flow
from analysis.studies.quantities import FLOWS, KERNEL, TRANSFER
from analysis.table import Quantity, Table, build_row


def table(results: Results) -> Table:
    """All quantities that were measured, ours alone.

    Without a capture those that come from one are left out.
    """
    labels = tuple(condition.label for condition in results.run.conditions)
    flow, several = results.run.flow, FLOWS if len(results.run.flows) > 1 else ()
    rows = (build_row(results, quantity, None) for quantity in (*several, *_of(flow)))
    measured = tuple(row for row in rows if set(row.ours) != {NOTHING})
    title = f"What was measured: all flows, then {flow.name}" if several else "What was measured"
    return Table(title, labels, measured, ())


def _of(flow: Flow) -> Iterator[Quantity]:
    """What is measured of this flow, from its own files.

    A UDP sender's TCP counters are those of nobody: 0.
    """
    for quantity in TRANSFER if flow.protocol == "udp" else (*TRANSFER, *KERNEL):
        yield replace(quantity, source=quantity.source.replace("flow1", flow.name))
