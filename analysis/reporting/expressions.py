"""Rows of the metrics that a run's user asked for."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from msgspec import structs

from analysis.measures.checks import RunFacts
from analysis.measures.expressions import parse
from analysis.measures.results import RunResults, expressions
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row
from topologies.foundation.units import Duration


def with_metrics(run: RunRecord, texts: Sequence[str]) -> RunRecord:
    """Return the run with these metrics too. Raises UsageError, UnknownMetric."""
    if not texts:
        return run
    facts = _facts_of(run)
    for text in texts:
        facts.require(parse(text))
    metrics = tuple(dict.fromkeys((*run.spec.metrics, *texts)))
    return replace(run, spec=structs.replace(run.spec, metrics=metrics))


def _facts_of(run: RunRecord) -> RunFacts:
    """Return the facts of a run that ended."""
    ends = [
        Duration.parse(flow.start).seconds + Duration.parse(flow.duration).seconds
        for flow in run.flows
        if flow.duration
    ]
    network, end = run.spec.topology.network(), max(ends, default=inf)
    return RunFacts(run.flows, run.conditions, network, run.captures, end)


def expressions_of(results: RunResults) -> tuple[ReportQuantity, ...]:
    """Return the metrics that the run was asked for."""
    metrics = [each.metric for each in expressions(results.run, Problems())]
    return tuple(ReportQuantity(each.title, each.unit, each, each.source) for each in metrics)


def with_rows(table: ReportTable, results: RunResults) -> ReportTable:
    """Return the table with a row for each of them."""
    rows = (build_row(results, quantity, None) for quantity in expressions_of(results))
    return replace(table, rows=(*rows, *table.rows))
