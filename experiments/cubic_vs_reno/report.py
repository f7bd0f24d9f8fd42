"""CUBIC against Reno (TCP assignment, 3.1): rates of all flows, first seconds, answers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from statistics import median

import numpy as np

from analysis.fmt import NOTHING, spread, written
from analysis.graphs.layers import (
    DOT,
    MARKS,
    REFERENCE,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    alone,
)
from analysis.measures.results import Measured, RunResults
from analysis.records.output import IperfInterval
from analysis.records.spec_file import RunCondition
from analysis.reporting.answers import middle, side_by_side
from analysis.reporting.flows import rates_of_flows, sharing
from analysis.reporting.run_graphs import all_graphs
from analysis.reporting.studies import StudyReport, answers_from
from analysis.reporting.tables import Listing, Quantities

Q = Quantities(__file__)

FULL = 0.9  # share of the link's rate from which the link is the limit; headers take 5 to 6 %
_UP = 0.9  # share of its later rate at which a flow counts as up to speed


def recoveries(results: RunResults) -> dict[str, float]:
    """Return how often the windows were cut, by the label of each condition that counts it."""
    counts = {}
    for condition in results.run.conditions:
        values = [middle(results, quantity, condition) for quantity in Q.group("CUTS")]
        if measured := [value for value in values if value is not None]:
            counts[condition.label] = sum(measured)
    return counts


def counted(cuts: dict[str, float]) -> list[str]:
    return [f"{written(count)} ({label})" for label, count in cuts.items()]


def starts(results: RunResults) -> list[str]:
    """Return a sentence for each condition on its first seconds, if iperf printed enough lines."""
    sentences = (
        _up_to_speed(measured.trial.condition, measured.flows[0].intervals)
        for measured in results.first
    )
    return [sentence for sentence in sentences if sentence]


def _up_to_speed(condition: RunCondition, lines: Sequence[IperfInterval]) -> str:
    """Return when the first flow came near the median rate of its second half."""
    later = [line.rate for line in lines[len(lines) // 2 : -1]]
    if not later or not median(later):
        return ""
    usual = median(later)
    reached = next((line for line in lines if line.rate >= _UP * usual), None)
    if reached is None:
        return ""
    first = ", ".join(written(line.rate / 1000) for line in lines[:5])
    return (
        f"{condition.label}: {first} Mbit/s in the first five seconds. It reached {100 * _UP:.0f} %"
        f" of its later rate of {written(usual / 1000)} Mbit/s in second {int(reached.start) + 1}."
    )


FIRST_SECONDS = 8  # as many as were published


def listings(results: RunResults) -> tuple[Listing, ...]:
    early = published_seconds(results)
    tables = (_seconds(results, early) if early else None, rates_of_flows(results))
    return tuple(listing for listing in tables if listing)


def published_seconds(results: RunResults) -> dict[str, list[float]]:
    """Return the published rates of the first seconds in Mbit/s, by condition."""
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
    """Return the rate of all clients in each of the first seconds, in Mbit/s."""
    lines = [flow.intervals[:FIRST_SECONDS] for flow in measured.flows]
    shortest = min(map(len, lines), default=0)
    return [sum(flow[second].rate for flow in lines) / 1000 for second in range(shortest)]


def _seconds(results: RunResults, published: dict[str, list[float]]) -> Listing:
    head = ("Mbit/s in second", *(str(second) for second in range(1, FIRST_SECONDS + 1)))
    rows = [
        (f"published, {name.removesuffix('_period')}", list(map(written, rates)))
        for name, rates in published.items()
    ]
    for condition in results.run.conditions:
        trials = (each for each in results.measured if each.trial.condition.name == condition.name)
        seconds = zip_longest(*map(first_seconds, trials))
        spreads = [spread([rate for rate in rates if rate is not None]) for rates in seconds]
        rows.append((f"ours, {condition.label}", spreads))
    blank = [NOTHING] * FIRST_SECONDS
    cells = tuple((name, *(cells + blank)[:FIRST_SECONDS]) for name, cells in rows)
    note = (
        "Rates of iperf's client in each second (its lines of -i 1), including data in its buffer."
    )
    return Listing("The first seconds", head, cells, (note,))


def graphs(results: RunResults) -> list[GraphGroup]:
    """Draw a single flow's packets, the first seconds next to the published, and the shares."""
    others = (_early(results), *map(sharing, side_by_side(results)))
    return [*all_graphs(results), *(group for group in others if group)]


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
    layers: list[Layer] = []
    for number, (words, rates, look) in enumerate((*ours, *theirs)):
        seconds, values = np.arange(1.0, len(rates) + 1), np.array(rates, dtype=float)
        marks = replace(look, mark=MARKS[number], every=True, width=2, fit=True)
        solid = replace(marks, dash=False)
        layers += (
            Layer(marks, "line", seconds, values, words=words, series=number),
            Layer(solid, "dots", seconds, values, words=words, series=number),
        )
    drawn = Graph(
        "first_seconds",
        "The first seconds",
        "Dashed: published. Solid: measured. Every mark is one second of iperf's client.",
        Axis("second", ""),
        Axis("rate", "bit/s", 1e6, zero=True),
        tuple(layers),
    )
    return alone(drawn)


REPORT = StudyReport(
    answers=answers_from(__file__, vars() | Q),
    listings=listings,
    graphs=graphs,
    short=Q.group("SHORT"),
)
