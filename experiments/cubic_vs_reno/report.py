"""CUBIC against Reno (TCP assignment, 3.1): rates of all flows, first seconds, answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from analysis.graphs.layers import (
    DOT,
    MARKS,
    REFERENCE,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    alone,
)
from analysis.measures.results import NOTHING, Measured, RunResults, spread, written
from analysis.records.output import IperfInterval
from analysis.records.spec_file import RunCondition
from analysis.reporting.answers import (
    Answer,
    causes,
    each,
    facts,
    figure,
    listed,
    middle,
    more_repetitions,
    parameter,
    ratios,
    side_by_side,
)
from analysis.reporting.flows import all_flows, rates_of_flows, sharing
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing, quantity

RATE = quantity("flows.sent", "Rate of all flows at the senders", "Mbit/s", 1e-3)
GOODPUT = quantity("flows.total", "Goodput of all flows", "Mbit/s", 1e-3)
FAIRNESS = quantity("flows.jain", "Jain's fairness index")
SLOWEST = quantity("flows.least", unit="Mbit/s", scale=1e-3)
FASTEST = quantity("flows.most", unit="Mbit/s", scale=1e-3)
AGAIN = quantity("nstat.TcpRetransSegs", "Retransmitted segments")
RESENT = quantity("metric.resent_percent", "Share of segments retransmitted")
TIMEOUTS = quantity("nstat.TcpExtTCPTimeouts", "Retransmission time-outs")
SACKED = quantity("nstat.TcpExtTCPSackRecovery", "Fast recoveries by SACK")
COUNTED = quantity("nstat.TcpExtTCPRenoRecovery", "Fast recoveries by counting duplicate ACKs")
DROPS = quantity("metric.queue_drops", "Packets dropped by full queues", "")
LOST = quantity("path.share", "Share of packets lost at random")
TRIP = quantity("metric.rtt_median_ms", "Median smoothed round trip")

_FULL = 0.9
"""Share of the link's rate from which the link is the limit; headers take 5 to 6 %."""
_UP = 0.9
"""Share of its later rate at which a flow counts as up to speed."""


def all_answers(results: RunResults) -> tuple[Answer, ...]:
    """Answer those of the five questions that concern the run's path and conditions."""
    several, loss = len(results.run.flows) > 1, parameter(results, "loss") not in ("0%", "unknown")
    asked = [_faster(results), _when(results), _start(results)]
    return (*asked, *([_many(results)] if several else []), *([_losses(results)] if loss else []))


def _path(results: RunResults) -> str:
    streams = len(results.run.flows)
    with_ = f"{streams} connections" if streams > 1 else "one connection"
    return f"{parameter(results, 'delay')} of delay, {parameter(results, 'loss')} loss and {with_}"


def _faster(results: RunResults) -> Answer:
    question = f"Which rates are reached with {_path(results)}?"
    rates = each(results, RATE)
    if not rates:
        return Answer(question, ("No condition has a rate, so this cannot be answered.",))
    limits = (_limit(results, condition) for condition in results.run.conditions)
    sentences = [f"The rates are {rates}.", *ratios(results, RATE, "rate"), *filter(None, limits)]
    return Answer(question, (*sentences, *more_repetitions(results)), facts(results, RATE, GOODPUT))


def _limit(results: RunResults, condition: RunCondition) -> str:
    """Return what limited the rate under a condition, as far as the figures show it."""
    rate, again = (middle(results, quantity, condition) for quantity in (RATE, AGAIN))
    link = results.link_rate
    if rate is None or link is None or again is None:
        return ""
    share = rate * 1000 / link
    if share >= _FULL:
        return (
            f"{condition.label}: the link is full; this is {100 * share:.0f} % of its"
            f" {written(link / 1000)} Mbit/s."
        )
    if again:
        how = (
            f"{figure(again)} segments were sent again,"
            f" {figure(middle(results, TIMEOUTS, condition))} time-outs"
        )
        return f"{condition.label}: {100 * share:.0f} % of the link's rate, with losses ({how})."
    trip = middle(results, TRIP, condition)
    window = (
        f" On average {written(rate * trip / 8)} KB were under way in a round trip of"
        f" {written(trip)} ms."
        if trip
        else ""
    )
    return (
        f"{condition.label}: {100 * share:.0f} % of the link's rate without a retransmission, so no"
        f" loss slowed it down.{window}"
    )


def _when(results: RunResults) -> Answer:
    standard = (
        "By the standards Reno adds one segment to its window in each round trip (RFC 5681)."
        " CUBIC's window grows with the time since the last loss, whatever the round trip (RFC"
        " 9438), and keeps 70 % of the window at a loss where Reno keeps 50 %. So CUBIC is ahead"
        " after a loss on a long path. In slow start both double."
    )
    events = [_recoveries(results, condition) for condition in results.run.conditions]
    counted = [event for event in events if event is not None]
    if not counted:
        return Answer("When does CUBIC outperform Reno?", (standard,))
    pairs = zip(events, results.run.conditions, strict=True)
    counts = listed(
        [f"{written(event)} ({condition.label})" for event, condition in pairs if event is not None]
    )
    sentence = (
        f"The windows were cut after a loss this often: {counts}."
        if any(counted)
        else "No window was cut in this run, so it does not show their behaviour after a loss."
    )
    return Answer(
        "When does CUBIC outperform Reno?",
        (standard, sentence),
        facts(results, SACKED, COUNTED, TIMEOUTS, DROPS),
    )


def _recoveries(results: RunResults, condition: RunCondition) -> float | None:
    counts = [middle(results, quantity, condition) for quantity in (SACKED, COUNTED, TIMEOUTS)]
    measured = [value for value in counts if value is not None]
    return sum(measured) if measured else None


def _start(results: RunResults) -> Answer:
    sentences = (
        _up_to_speed(measured.trial.condition, measured.flows[0].intervals)
        for measured in results.first
    )
    kept = tuple(filter(None, sentences)) or ("iperf printed too few lines to show it.",)
    return Answer("What happens in the first seconds?", kept)


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


def _many(results: RunResults) -> Answer:
    count = len(results.run.flows)
    sentences = [
        f"The rates of the {count} connections add up to {each(results, RATE)}.",
        (
            "Jain's fairness index, which is 1 if all have the same, is"
            f" {each(results, FAIRNESS)}. The slowest has {each(results, SLOWEST)}, the fastest"
            f" {each(results, FASTEST)}."
        ),
        "Compare it with one connection: --streams 1.",
    ]
    return Answer(
        f"What changes with {count} connections, and how do they share?",
        tuple(sentences),
        facts(results, RATE, FAIRNESS, SLOWEST, FASTEST),
    )


def _losses(results: RunResults) -> Answer:
    sentences = [
        f"The path lost {each(results, LOST)} of the packets at random.",
        *causes(results),
        (
            f"TCP retransmitted {each(results, RESENT)} of all segments and had"
            f" {each(results, TIMEOUTS)} time-outs. It cannot tell a random loss from a drop of a"
            " full queue, and both are in these figures."
        ),
    ]
    return Answer(
        "What was lost, and why?", tuple(sentences), facts(results, LOST, DROPS, AGAIN, TIMEOUTS)
    )


FIRST_SECONDS = 8
"""As many as were published."""
SHORT = (RATE, FAIRNESS, AGAIN, SACKED, TIMEOUTS, DROPS)


def listings(results: RunResults) -> tuple[Listing, ...]:
    """Return the first seconds if they were published, and the rates of all flows."""
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
        "Rates of iperf's client in each second (its lines of -i 1), including data in its buffer."
    )
    return Listing("The first seconds", head, (*theirs, *ours), (note,))


def _by_second(results: RunResults, condition: str) -> list[list[float]]:
    """Return the values of all repetitions for each of the first seconds."""
    trials = (each for each in results.measured if each.trial.condition.name == condition)
    runs = list(map(first_seconds, trials))
    return [[run[second] for run in runs if second < len(run)] for second in range(FIRST_SECONDS)]


def _cells(name: str, cells: Iterable[str]) -> tuple[str, ...]:
    filled = list(cells)
    return (name, *filled, *[NOTHING] * (FIRST_SECONDS - len(filled)))


def graphs(results: RunResults) -> list[GraphGroup]:
    """Draw rates and windows over time, the first seconds next to the published, and the shares."""
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
        "Dashed: published. Solid: measured. Every mark is one second of iperf's client.",
        Axis("second", ""),
        Axis("rate", "bit/s", 1e6, zero=True),
        tuple(layers),
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
