"""CUBIC against Reno (TCP assignment, 3.1): rates of all flows, first seconds, the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import repeat

from analysis.measures.run_results import NOTHING, RunResults, spread, written
from analysis.measures.trial_measures import Measured
from analysis.reporting.answer_wording import side_by_side
from analysis.reporting.flow_tables import rates_of_flows, sharing
from analysis.reporting.run_pictures import Picture
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


def pictures(results: RunResults) -> list[Picture]:
    """Rates and windows over time, the first seconds beside those published, and the shares."""
    groups = side_by_side(results)
    drawn = [_early(results), *map(_over_time, groups, repeat(results)), *map(sharing, groups)]
    over_time = [picture for picture in drawn[1:] if picture]
    return over_time[:1] + [picture for picture in drawn[:1] if picture] + over_time[1:]


def _over_time(trials: list[Measured], results: RunResults) -> Picture | None:
    from analysis.figures import all_flows

    shown = [measured for measured in trials if any(flow.intervals for flow in measured.flows)]
    if not shown:
        return None
    panels = [
        all_flows.ConditionPanel(measured.trial.condition.label, measured.flows)
        for measured in shown
    ]
    several = (
        "Each flow is a band, and their upper edge is the sum. "
        if len(results.run.flows) > 1
        else ""
    )
    dotted = "" if several else " Dotted: the slow-start threshold, once there is one."
    sampled = any(flow.samples for measured in shown for flow in measured.flows)
    windows = (
        f"Below: the congestion window of each flow, sampled like ss -ti.{dotted}"
        if sampled
        else "No socket was sampled, so no window is drawn."
    )
    caption = (
        f"Seed {shown[0].trial.seed}. Above: what iperf's clients wrote in each second; at first it"
        f" waits in their own buffers. {several}{windows}"
    )
    name = f"all_flows_{shown[0].trial.condition.name}.png"
    return Picture(
        name,
        "Rate and congestion window over time",
        caption,
        all_flows.draw(panels, results.link_rate),
    )


def _early(results: RunResults) -> Picture | None:
    from analysis.figures import first_seconds as drawing

    published = published_seconds(results)
    if not published or not results.first:
        return None
    ours = [
        drawing.RateLine(measured.trial.condition.label, first_seconds(measured))
        for measured in results.first
    ]
    theirs = [
        drawing.RateLine(name.removesuffix("_period"), rates) for name, rates in published.items()
    ]
    caption = "Dashed: published. Solid: ours. Every mark is one second of iperf's client."
    return Picture("first_seconds.png", "The first seconds", caption, drawing.draw(theirs, ours))


REPORT = StudyReport(answers=all_answers, listings=listings, pictures=pictures, short=SHORT)
