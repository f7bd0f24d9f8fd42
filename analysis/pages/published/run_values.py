"""The published numbers that belong to a run, judged against what the run gave."""

from __future__ import annotations

from msgspec.structs import replace

from analysis.measures.metrics import Row, UnknownMetric
from analysis.measures.results import Measured, RunResults, value_of
from analysis.pages.published.published_table import PublishedNumbers
from analysis.records.problems import Problems
from analysis.records.published_row import PublishedRow, checked_row
from analysis.records.spec_file import MeasuredEntry
from analysis.statistics.judgement import judge_row


def published_beside(results: RunResults, problems: Problems) -> PublishedNumbers:
    """The numbers that were published with the run's very settings, each with a verdict."""
    entries = results.run.spec.published
    return PublishedNumbers(tuple(judge_row(_row(entry, results, problems)) for entry in entries))


def _row(entry: MeasuredEntry, results: RunResults, problems: Problems) -> PublishedRow:
    """The row of a reproduction with the run's own values in it."""
    try:
        today, period = (
            _values(entry, results, condition)
            for condition in (entry.condition, entry.period_condition)
        )
    except UnknownMetric as error:
        problems.add(f"spec.json: {error.problem} '{entry.where}' has no value of ours.")
        today, period = [], []
    seeds = tuple(map(str, results.run.seeds))
    filled = replace(entry, today=today, period=period, seeds=seeds)
    return checked_row(filled, results.run.experiment, problems)


def _values(entry: MeasuredEntry, results: RunResults, condition: str) -> list[float]:
    """One value for each seed that has one, in the published number's unit."""
    trials = (
        trial
        for trial in results.measured
        if trial.trial.condition.name == condition and trial.flows
    )
    values = (value_of(_rows(trial), entry.metric, entry.flow, entry.among) for trial in trials)
    return [(entry.scale or 1.0) * value for value in values if value is not None]


def _rows(trial: Measured) -> list[Row]:
    """The rows of all flows, the first with all that was measured."""
    first, *others = (flow.row for flow in trial.flows)
    return [{**trial.by_name, **first}, *others]
