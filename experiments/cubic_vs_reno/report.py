"""CUBIC against Reno (TCP assignment, 3.1): rates of all flows, first seconds, the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, alone
from analysis.graphs.looks import SeriesLook
from analysis.graphs.plain_layers import DOT, MARKS, REFERENCE
from analysis.measures.run_results import NOTHING, RunResults, spread, written
from analysis.measures.trial_measures import Measured
from analysis.reporting.all_flows import all_flows
from analysis.reporting.answer_wording import side_by_side
from analysis.reporting.flow_tables import rates_of_flows, sharing
from analysis.reporting.study_reports import StudyReport
from analysis.reporting.tables import Listing
from experiments.cubic_vs_reno.cubic_answers import (
    AGAIN,
    DROPS,
    FAIRNESS,
    RATE,
    SACKED,
    TIMEOUTS,
    all_answers,
)

FIRST_SECONDS = 8
"""As many as were published."""
SHORT = (RATE, FAIRNESS, AGAIN, SACKED, TIMEOUTS, DROPS)


def listings(results: RunResults) -> tuple[Listing, ...]:
    """The first seconds if they were published, and the rates of all flows."""
    early = published_seconds(results)
    tables = (_seconds(results, early) if early else None, rates_of_flows(results))
    return tuple(listing for listing in tables if listing)


def published_seconds(results: RunResults) -> dict[str, list[float]]:
    """The published rates of the first seconds in Mbit/s, by the condition that has them."""
    notes = (
        (entry.condition or entry.period_condition, entry.published_note)
        for entry in results.run.spec.published
    )
    matches = (
        (condition, re.search(r"first seconds: ([\d. ]+)", note)) for condition, note in notes
    )
    return {
        condition: [float(number) for number in match[1].split()]
        for condition, match in matches
        if match
    }


def first_seconds(measured: Measured) -> list[float]:
    """What all clients sent in each of the first seconds, in Mbit/s."""
    lines = [flow.intervals[:FIRST_SECONDS] for flow in measured.flows]
    shortest = min(map(len, lines), default=0)
    return [sum(flow[second].rate for flow in lines) / 1000 for second in range(shortest)]


def _seconds(results: RunResults, published: dict[str, list[float]]) -> Listing | None:
    head = ("Mbit/s in second", *(str(second) for second in range(1, FIRST_SECONDS + 1)))
    theirs = [
        _cells(f"published, {name.removesuffix('_period')}", map(written, rates))
        for name, rates in published.items()
    ]
    ours = [
        _cells(f"ours, {condition.label}", map(spread, _by_second(results, condition.name)))
        for condition in results.run.conditions
    ]
    note = (
        "What iperf's client wrote in each second (its lines of -i 1), which includes what waits in"
        " its own buffer."
    )
    return Listing("The first seconds", head, (*theirs, *ours), (note,))


def _by_second(results: RunResults, condition: str) -> list[list[float]]:
    """For each of the first seconds the values of all repetitions."""
    runs = [
        first_seconds(measured)
        for measured in results.measured
        if measured.trial.condition.name == condition
    ]
    return [[run[second] for run in runs if second < len(run)] for second in range(FIRST_SECONDS)]


def _cells(name: str, cells: Iterable[str]) -> tuple[str, ...]:
    filled = list(cells)
    return (name, *filled, *[NOTHING] * (FIRST_SECONDS - len(filled)))


def graphs(results: RunResults) -> list[GraphGroup]:
    """Rates and windows over time, the first seconds beside those published, and the shares."""
    groups = side_by_side(results)
    over_time = [
        group for trials in groups for group in all_flows(trials, results.link_rate) if group
    ]
    others = (_early(results), *map(sharing, groups))
    return [*over_time, *(group for group in others if group)]


def _early(results: RunResults) -> GraphGroup | None:
    published = published_seconds(results)
    if not published or not results.first:
        return None
    ours = [
        (f"ours, {measured.trial.condition.label}", first_seconds(measured), DOT)
        for measured in results.first
    ]
    theirs = [
        (f"published, {name.removesuffix('_period')}", rates, REFERENCE)
        for name, rates in published.items()
    ]
    layers = [
        layer
        for number, (words, rates, look) in enumerate((*ours, *theirs))
        for layer in _second_by_second(words, rates, replace(look, mark=MARKS[number]), number)
    ]
    drawn = Graph(
        "first_seconds",
        "The first seconds",
        "Dashed: published. Solid: ours. Every mark is one second of iperf's client.",
        Axis("second", ""),
        Axis("rate", "bit/s", 1e6, zero=True),
        tuple(layers),
        over_time=False,
    )
    return alone(drawn)


def _second_by_second(
    words: str, rates: Sequence[float], look: SeriesLook, number: int
) -> tuple[Layer, Layer]:
    seconds, values = np.arange(1.0, len(rates) + 1), np.array(rates, dtype=float)
    marks = replace(look, every=True, width=2, fit=True)
    return (
        Layer(marks, "line", seconds, values, words=words, series=number),
        Layer(replace(marks, dash=False), "dots", seconds, values, words=words, series=number),
    )


REPORT = StudyReport(answers=all_answers, listings=listings, graphs=graphs, short=SHORT)
