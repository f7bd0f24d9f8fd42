"""The stage of a run: the packets of its first seed, under each condition."""

from __future__ import annotations

from analysis.graphs.stage import StageTrial, shape_of, stage_data
from analysis.measures.results import Measured, RunResults

MOST_STAGES = 4
"""Conditions above each other; more would not fit a screen."""


def run_stage(results: RunResults) -> str:
    """Return the data of the stages; empty without captures at both ends."""
    trials = [_trial(each, results) for each in results.first if len(each.ends) > 1]
    return stage_data(trials[:MOST_STAGES]) if trials else ""


def _trial(trial: Measured, results: RunResults) -> StageTrial:
    near, far = trial.ends
    flow = results.run.flows[0]
    spec = results.run.spec
    network = None if spec.changes else spec.topology.network()
    return StageTrial(
        trial.trial.condition.label,
        near.packets,
        far.packets,
        near.by_a,
        shape_of(network, flow.sender, flow.receiver),
        trial.samples,
    )
