"""Distributions of a run's metrics: over packets, samples, exchanges, flows or repetitions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.fmt import called
from analysis.graphs.distributions import curves
from analysis.graphs.layers import GraphGroup
from analysis.measures.expressions import Expression, Term, parse
from analysis.measures.metrics import Metric, term_metric, terms
from analysis.measures.readings import TrialReadings, term_values
from analysis.measures.results import RunResults, expression_values
from analysis.measures.sweep_folder import lines_of
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunCondition
from analysis.reporting.over_seeds import axis_for

_PERCENTILE = re.compile(r"_p\d+_ms$")
_EACH = {"rtt": "samples", "cwnd": "samples", "exchange": "exchanges", "fct": "flows"}
"""Words for the values of a flow; each other term has one of each packet."""
Floats = NDArray[np.float64]
Panels = Mapping[str, Mapping[str, Floats]]
"""The values of each line, by the title of its panel and the label of its condition."""


def distribution(run: RunRecord, text: str, problems: Problems) -> GraphGroup | None:
    """Return the distribution of an expression, flows a panel each. Raises UsageError."""
    expression = parse(text)
    trials = [TrialReadings(run, trial, problems) for trial in run.trials]
    root = expression.root
    if not isinstance(root, Term) or root.statistic or not root.metric.of_flows:
        return _group(expression.metric, "repetitions", _of_runs(trials, expression))
    # The values that a percentile is read from; those of another metric itself.
    source = terms().get(_PERCENTILE.sub("", root.metric.name), root.metric)
    term, name = replace(root, metric=source), source.name
    each = _EACH.get(name, "packets" if term.metric.together == "p50" else "flows")
    lines = {"": term.flows}
    if not term.flows:
        names = lines_of([flow.name for flow in run.flows])
        lines = {title: ",".join(sorted(flows)) for title, flows in names.items()}
    panels = {title: _of_term(trials, replace(term, flows=globs)) for title, globs in lines.items()}
    return _group(term.metric, each, panels)


def responses(results: RunResults) -> GraphGroup | None:
    """Return the distribution of each application's exchanges; None for a run without any."""
    taken = {flow.flow.name for trial in results.measured for flow in trial.flows if flow.taken}
    panels = {
        title: {
            condition.label: np.concatenate(values)
            for condition in results.run.conditions
            if (values := list(_taken(results, condition, chosen)))
        }
        for title, chosen in lines_of(sorted(taken)).items()
    }
    group = _group(term_metric("exchange"), "exchanges", panels)
    return group and replace(group, title="Distribution of response times")


def _taken(results: RunResults, condition: RunCondition, chosen: set[str]) -> Iterator[Floats]:
    for trial in results.measured:
        for flow in trial.flows:
            if trial.trial.condition == condition and flow.flow.name in chosen and flow.taken:
                yield np.array(flow.taken, np.float64)


def _of_term(trials: Sequence[TrialReadings], term: Term) -> dict[str, Floats]:
    found: dict[str, list[Floats]] = {}
    for readings in trials:
        condition = readings.trial.condition
        if term.condition in ("", condition.name):
            found.setdefault(condition.label, []).extend(_values(readings, term))
    return {label: np.concatenate(values) for label, values in found.items() if values}


def _values(readings: TrialReadings, term: Term) -> Iterator[Floats]:
    """Yield the values of each flow; of a share of packets their mean."""
    for value in term_values(readings, term):
        if value is not None and len(numbers := np.atleast_1d(np.asarray(value, np.float64))):
            yield np.full(1, numbers.mean()) if term.metric.together == "mean" else numbers


def _of_runs(trials: Sequence[TrialReadings], expression: Expression) -> Panels:
    found: dict[str, list[float]] = {}
    for trial in expression_values(trials, expression):
        if (value := trial.value(expression.metric)) is not None:
            found.setdefault(trial.trial.condition.label, []).append(value)
    return {"": {label: np.array(values) for label, values in found.items()}}


def _group(metric: Metric, each: str, panels: Panels) -> GraphGroup | None:
    known = {title: lines for title, lines in panels.items() if lines}
    axis = axis_for(metric.title, metric.unit)
    drawn = tuple(
        graph
        for at, (name, lines) in enumerate(known.items())
        for graph in curves(f"{each}_{at}", name * (len(known) > 1), axis, lines)
    )
    if not drawn:
        return None
    values = np.concatenate([values for lines in known.values() for values in lines.values()])
    caption = f"The share of {each} with at most this value. The mark is the median."
    if unended := int((~np.isfinite(values)).sum()):
        caption += f" {unended:,} of {len(values):,} did not end: curves end below 100 %."
    title = f"Distribution of {called(metric)} over {each}"
    return GraphGroup("distribution", title, caption, drawn)
