"""The published numbers that belong to a run, judged against what the run gave."""

from __future__ import annotations

from analysis.measures.flow_rows import value_of
from analysis.measures.run_results import RunResults
from analysis.measures.trial_measures import Measured
from analysis.pages.published.published_table import PublishedNumbers
from analysis.records.jsonfile import Object, number, objects, text
from analysis.records.problems import Problems
from analysis.records.reproduction_folder import PublishedRow, read_row
from analysis.records.row_columns import Row as FlowRow
from analysis.statistics.judgement import judge_row


def published_beside(results: RunResults, problems: Problems) -> PublishedNumbers:
    """Every number of `published` in the run's spec.json with a verdict: those with the run's very
    settings.
    """
    entries = objects(results.run.spec, "published")
    return PublishedNumbers(tuple(judge_row(_row(entry, results, problems)) for entry in entries))


def _row(entry: Object, results: RunResults, problems: Problems) -> PublishedRow:
    """The row of a reproduction (analysis.records.reproduction_folder) with the run's own values
    in it.
    """
    values = {
        kind: _values(entry, results, text(entry, key))
        for kind, key in (("today", "condition"), ("period", "period_condition"))
    }
    seeds = [str(seed) for seed in results.run.seeds]
    return read_row({**entry, **values, "seeds": seeds}, results.run.experiment, problems)


def _values(entry: Object, results: RunResults, condition: str) -> list[float]:
    """One value for each seed that has one, in the published number's unit."""
    metric, flow, scale = text(entry, "metric"), text(entry, "flow"), number(entry, "scale") or 1.0
    trials = [
        one for one in results.measured if one.trial.condition.name == condition and one.flows
    ]
    found = (value_of(_rows(one), metric, flow) for one in trials)
    return [scale * value for value in found if value is not None]


def _rows(one: Measured) -> list[FlowRow]:
    """The rows of all flows, the first with what its captures tell: a metric may be a key of
    analysis.measures.trial_measures.
    """
    first, *others = (flow.row for flow in one.flows)
    return [{**one.values, **first}, *others]
