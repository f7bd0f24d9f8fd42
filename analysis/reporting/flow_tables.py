"""The rates of every flow as a table and as bars, for studies with several flows."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.measures.metric_keys import FLOWS, TCP
from analysis.measures.run_results import RunResults, spread, written
from analysis.measures.trial_measures import Measured
from analysis.reporting.run_pictures import Picture
from analysis.reporting.tables import Listing

_GROUPS = {"flows": FLOWS, "tcp": TCP}


def rates_of_flows(results: RunResults, group: str = "flows") -> Listing | None:
    """A row for each condition: the sum, Jain's index, the rates of all flows, the fastest first.

    `group` is `flows` for all of them, `tcp` for those beside a UDP flow
    (analysis.measures.flow_measures). None for a single flow.
    """
    if len(results.run.flows) < 2:
        return None
    head = ("Condition", "Flows", "Sum", "Jain's index", "Slowest", "Fastest", "Every flow")
    rows = tuple(_row(results, trial, group) for trial in results.first)
    notes = ["Mbit/s at the receivers, from the last lines of all flows' .server.txt."]
    if len(results.run.seeds) > 1:
        notes.append(
            f"Medians over the repetitions; every flow of seed {results.first[0].trial.seed}."
        )
    title = "The rate of every TCP flow" if group == "tcp" else "The rate of every flow"
    return Listing(title, head, rows, tuple(notes))


def _row(results: RunResults, trial: Measured, group: str) -> tuple[str, ...]:
    condition, keys = trial.trial.condition, _GROUPS[group]
    cells = [
        spread([scale * value for value in results.values(key, condition)])
        for key, scale in (
            (keys.total, 1e-3),
            (keys.jain, 1.0),
            (keys.least, 1e-3),
            (keys.most, 1e-3),
        )
    ]
    meant = [flow for flow in trial.flows if group == "flows" or flow.flow.protocol == group]
    rates = sorted(
        (flow.goodput / 1000 for flow in meant if flow.goodput is not None), reverse=True
    )
    return (condition.label, str(len(meant)), *cells, "  ".join(map(written, rates)))


def sharing(trials: Sequence[Measured]) -> Picture | None:
    """A bar for each flow of these trials; None for a single flow."""
    from analysis.figures import shares

    if not trials or len(trials[0].flows) < 2:
        return None
    flows = trials[0].flows
    panels = [shares.of_flows(one.trial.condition.label, one.flows) for one in trials]
    udp = " Orange is UDP." if any(one.flow.protocol == "udp" for one in flows) else ""
    caption = (
        f"Seed {trials[0].trial.seed}. Every bar is one flow, the fastest first.{udp} The line is"
        " what each would have if all were alike."
    )
    name = f"shares_{trials[0].trial.condition.name}.png"
    return Picture(name, "How the flows share the link", caption, shares.draw(panels))
