"""The first picture of each study's report has the metric and the conditions of its claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, without_zeros
from analysis.measures.expressions import parse
from analysis.measures.metrics import is_metric, metric
from analysis.measures.results import FlowMeasures, Measured, RunResults
from analysis.records.run_directory import run_of
from analysis.reporting.effects import claim_picture
from experiments.spec import ExperimentSpec, Subject
from experiments.study.catalogue import catalogue
from topologies.data import to_data

SPECS = {named.name: named.spec(named.parameters()()) for named in catalogue()}
CLAIMING = sorted(name for name, spec in SPECS.items() if spec.headline)
VALUE = 512.0


def made_results(spec: ExperimentSpec, folder: Path) -> RunResults:
    """A run whose metric is VALUE for the first condition, one more for each further one."""
    assert spec.headline
    for condition in spec.conditions:
        (folder / condition.name).mkdir()
    run = run_of(folder, to_data(spec))
    measured = tuple(
        made_trial(run, trial, spec.headline.metric, VALUE + at)
        for at, trial in enumerate(run.trials)
    )
    return RunResults(run, measured)


def made_trial(run: Any, trial: Any, name: str, value: float) -> Measured:
    texts = ["", *(flow.name for flow in run.flows)]
    keys = [metric(name)] if is_metric(name) else []
    keys = keys or [parse(name).of_flow(flow).metric for flow in texts]
    column = name.removeprefix("metric.")
    flows = tuple(FlowMeasures(flow, {column: value}, (), ()) for flow in run.flows)
    return Measured(trial, dict.fromkeys(keys, value), flows)


def label_of(spec: ExperimentSpec, subject: Subject) -> str:
    assert spec.headline
    compared = {each.condition for each in spec.headline.subjects}
    if len(compared) < len(spec.headline.subjects):
        return subject.flow
    return next(each.label for each in spec.conditions if each.name == subject.condition)


@pytest.mark.parametrize("study", CLAIMING)
def test_the_first_picture_is_of_the_claims_metric_and_conditions(
    study: str, tmp_path: Path
) -> None:
    spec = SPECS[study]
    headline = spec.headline
    assert headline
    group = claim_picture(made_results(spec, tmp_path), None)
    assert group
    first = group.graphs[0]
    assert first.y.label == headline.what.removeprefix("the ")
    unit = parse(headline.metric).root.unit
    assert (first.y.unit, first.y.scale) == (("bit/s", 1000) if unit == "kbit/s" else (unit, 1))
    drawn = {name for _, name in first.x.ticks}
    assert {label_of(spec, subject) for subject in headline.subjects} <= drawn
    (dots,) = (layer for layer in first.layers if layer.shape == "dots")
    of = {label: VALUE + at for at, label in enumerate(each.label for each in spec.conditions)}
    for at, name in first.x.ticks:
        assert float(dots.y[list(dots.x).index(at)]) == of.get(name, VALUE)
    ends = [layer.y[0] for layer in first.layers if layer.shape == "level"]
    claimed = [end for end in headline.ends if end is not None]
    assert ends == (claimed if headline.direction == "within" else [])


def test_all_claims_are_tried() -> None:
    assert {"sack", "bbr_share", "latency_under_load", "own_transport"} <= set(CLAIMING)


def series(*values: float) -> Layer:
    return Layer("cwnd", "line", np.arange(len(values)), np.array(values))


def test_a_series_that_is_zero_everywhere_is_not_drawn() -> None:
    axis = Axis("time", "s")
    some = Graph("some", "", "", axis, axis, (series(0, 0), series(0, 1)))
    none = replace(some, key="none", layers=(series(0, 0),))
    kept = without_zeros(GraphGroup("group", "", "", (some, none)))
    assert [graph.key for graph in kept.graphs] == ["some"]
    assert [list(layer.y) for layer in kept.graphs[0].layers] == [[0, 1]]
