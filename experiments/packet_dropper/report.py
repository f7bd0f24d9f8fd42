"""The packet dropper: elapsed times in the columns of the original, and what dropping does."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, alone
from analysis.graphs.plain_layers import DOT, bars, named, spread
from analysis.measures import metric_keys
from analysis.measures.run_results import RunResults, written
from analysis.records import row_columns
from analysis.records.run_directory import RunCondition
from analysis.reporting.answer_wording import (
    called,
    each,
    figure,
    middle,
    more_repetitions,
    parameter,
)
from analysis.reporting.answers import Answer, facts
from analysis.reporting.quantities import counter
from analysis.reporting.study_reports import StudyReport
from analysis.reporting.tables import Listing, ReportQuantity
from experiments.packet_dropper import ON_THE_LINK
from experiments.packet_dropper.original_columns import (
    HEAD,
    NOTES,
    as_published,
    by_share,
    cells,
    percent,
    published_times,
    spread_of,
)

ELAPSED = ReportQuantity(
    "Elapsed time",
    "s",
    metric_keys.of_metric(row_columns.SENDER_SECONDS),
    "last line of flow1.client.txt",
)
DROPPED = ReportQuantity(
    "Share of packets that the router dropped", "%", metric_keys.PATH_SHARE, "qdiscs.json, netem"
)
AGAIN = counter("Retransmitted segments", "TcpRetransSegs")
FAST = counter("Segments retransmitted in fast recovery", "TcpExtTCPFastRetrans")
TIMEOUTS = counter("Retransmission time-outs", "TcpExtTCPTimeouts")
PROBES = counter("Tail loss probes", "TcpExtTCPLossProbes")
TRIP = ReportQuantity(
    "Median smoothed round trip",
    "ms",
    metric_keys.of_metric(row_columns.RTT_MEDIAN),
    "the sender's sockets",
)
SHORT = (ELAPSED, DROPPED, AGAIN, TIMEOUTS)


def listings(results: RunResults) -> tuple[Listing, ...]:
    """Our line in the original's columns, and the published one if the settings are the same."""
    requests = _requests(results)
    ours = [
        (called(results, condition), *cells(ELAPSED.of(results, condition), requests))
        for condition in results.run.conditions
    ]
    times = _published(results)
    theirs = [("published", *cells(times, requests))] if times else []
    head = (f"{parameter(results, 'loss')} dropped", *HEAD)
    return (Listing("Elapsed times", head, (*theirs, *ours), NOTES),)


def _published(results: RunResults) -> list[float]:
    """The published times for what was dropped here if all else is the same; else none."""
    dropped = percent(parameter(results, "loss"))
    return (
        published_times(dropped)
        if dropped is not None and as_published(results.run.parameters)
        else []
    )


def _requests(results: RunResults) -> float:
    requests = parameter(results, "requests")
    return float(requests) if requests.isdigit() else 0.0


def graphs(results: RunResults) -> list[GraphGroup]:
    """Elapsed times as dots, with the published ones beside them."""
    published = _published(results)
    ours = [
        (called(results, condition), ELAPSED.of(results, condition))
        for condition in results.run.conditions
    ]
    groups = [*([("published", published)] if published else []), *ours]
    if not any(values for _, values in ours):
        return []
    drawn = Graph(
        "elapsed",
        "Elapsed time",
        "Every dot is one repetition, the bar is the average.",
        named("", [name for name, _ in groups]),
        Axis("elapsed time", "s", zero=True),
        (_dots(groups), bars(*_averages(groups), 0.2, "average")),
        over_time=False,
    )
    return [alone(drawn)]


def _dots(groups: Sequence[tuple[str, Sequence[float]]]) -> Layer:
    across = [at + 0.3 * spread(len(times)) for at, (_, times) in enumerate(groups)]
    order = np.argsort(np.concatenate(across), kind="stable")
    values = np.concatenate([times for _, times in groups])
    return Layer(DOT, "dots", np.concatenate(across)[order], values[order], words="one repetition")


def _averages(groups: Sequence[tuple[str, Sequence[float]]]) -> tuple[list[float], list[float]]:
    """Places and averages of the groups that have values."""
    known = [(float(at), fmean(times)) for at, (_, times) in enumerate(groups) if times]
    return [at for at, _ in known], [average for _, average in known]


def answers(results: RunResults) -> tuple[Answer, ...]:
    """How long it took, how even the repetitions are, and why."""
    return (_time(results), _why(results))


def _time(results: RunResults) -> Answer:
    requests, loss = parameter(results, "requests"), parameter(results, "loss")
    question = f"How long do {requests} requests take when {loss} is dropped?"
    if not each(results, ELAPSED):
        return Answer(question, ("No repetition has a time, so this cannot be answered.",))
    sentences = [
        f"The transfer took {each(results, ELAPSED)}.",
        *_spreads(results),
        *_against_the_link(results),
    ]
    return Answer(
        question,
        (*sentences, *more_repetitions(results)),
        facts(results, ELAPSED, DROPPED),
    )


def _spreads(results: RunResults) -> list[str]:
    sentences = []
    for condition in results.run.conditions:
        times = ELAPSED.of(results, condition)
        if len(times) > 1:
            share = 100 * spread_of(times) / fmean(times)
            words = f"{len(times)} repetitions are {share:.2g} % from their average"
            sentences.append(f"{called(results, condition)}: {words} in the mean.")
    return sentences


def _against_the_link(results: RunResults) -> list[str]:
    """How many times as long as the bare link needs for the frames."""
    link, requests = results.link_rate, _requests(results)
    if not link or not requests:
        return []
    least = 8 * ON_THE_LINK * requests / (link * 1000)
    times = [
        (called(results, condition), middle(results, ELAPSED, condition))
        for condition in results.run.conditions
    ]
    multiples = " and ".join(
        f"{value / least:.3g} times that ({label})" for label, value in times if value
    )
    alone = (
        f"The link alone needs {written(least)} s for {written(requests)} frames of {ON_THE_LINK}"
        " bytes"
    )
    return [f"{alone}; it took {multiples}."]


def _why(results: RunResults) -> Answer:
    costs = (_cost(results, condition) for condition in results.run.conditions)
    sentences = [
        (
            f"Sent again were {each(results, AGAIN)} segments, of these {each(results, FAST)} in"
            f" fast recovery; there were {each(results, TIMEOUTS)} time-outs."
        ),
        *filter(None, costs),
        (
            "What the standards say: a loss that is found by what arrives after it is repaired in"
            " about a round trip (RFC 5681). One that is not waits for the retransmission time-out,"
            " which doubles each time (RFC 6298 asks for 1 s at least, Linux takes 200 ms): many"
            " round trips of a short path."
        ),
    ]
    used = (AGAIN, FAST, TIMEOUTS, PROBES)
    return Answer(
        "Where did the time go?",
        tuple(sentences),
        facts(results, *used),
    )


def _cost(results: RunResults, condition: RunCondition) -> str:
    """The least share of the time that time-outs took: 200 ms each."""
    count, elapsed = middle(results, TIMEOUTS, condition), middle(results, ELAPSED, condition)
    if not count or not elapsed:
        return ""
    slow = f"its time-outs took at least {figure(0.2 * count, 's')} of the {figure(elapsed, 's')}"
    return f"{called(results, condition)}: at 200 ms or more each, {slow}."


REPORT = StudyReport(
    answers=answers, listings=listings, graphs=graphs, short=SHORT, sweep_listings=by_share
)
