"""Metrics of a spec, checked before its first run."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.measures.checks import RunFacts
from analysis.measures.expressions import parse
from analysis.measures.metrics import is_metric
from experiments.spec import ExperimentSpec


def require_metrics(texts: Iterable[str], spec: ExperimentSpec) -> None:
    """Raise UsageError or UnknownMetric unless runs have these metrics and that of the claim."""
    end = max(flow.end.seconds for flow in spec.flows)
    facts = RunFacts(spec.flows, spec.conditions, spec.topology, spec.captures, end)
    for text in texts:
        facts.require(parse(text))
    headline = spec.headline
    if headline and not is_metric(headline.metric):
        for subject in headline.subjects:
            facts.require(parse(headline.metric).of_flow(subject.flow))
