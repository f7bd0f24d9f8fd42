"""The table of an experiment that has no study of its own: what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.measures.results import NOTHING, RunResults
from analysis.records.run_directory import RunFlow
from analysis.reporting.quantities import (
    CAUSES,
    DATAGRAMS_LOST,
    FLOWS,
    JITTER,
    KERNEL,
    ROUND_TRIPS,
    TRANSFER,
)
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row


def table(results: RunResults) -> ReportTable:
    """All quantities that were measured, ours alone.

    Without a capture those that come from one are left out.
    """
    labels = tuple(condition.label for condition in results.run.conditions)
    flow, several = results.run.flow, FLOWS if len(results.run.flows) > 1 else ()
    quantities = (*several, *_of(flow), *ROUND_TRIPS, *CAUSES)
    rows = (build_row(results, quantity, None) for quantity in quantities)
    measured = tuple(row for row in rows if set(row.ours) != {NOTHING})
    title = f"What was measured: all flows, then {flow.name}" if several else "What was measured"
    return ReportTable(title, labels, measured, ())


def _of(flow: RunFlow) -> Iterator[ReportQuantity]:
    """What is measured of this flow, from its own files.

    A UDP sender's TCP counters are those of nobody: 0.
    """
    own = (DATAGRAMS_LOST, JITTER) if flow.protocol == "udp" else KERNEL
    for quantity in (*TRANSFER, *own):
        yield replace(quantity, source=quantity.source.replace("flow1", flow.name))
