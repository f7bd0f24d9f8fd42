"""Reno's sawtooth: the time between its halvings next to that of the model."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from analysis.measures.results import RunResults
from analysis.records.output import SocketSample
from analysis.reporting import laws
from analysis.reporting.formulas import FilledPath, climb, climbing_time, sawtooth_period
from experiments.study.reports import law, law_texts

LAW = law(__file__)
_APART = 4  # round trips with a full queue within which retransmissions belong to one loss


def compare(results: RunResults) -> laws.LawComparison:
    """The teeth after slow start's own loss, of each repetition; the first is drawn."""
    path = laws.path_of(results)
    period, apart = sawtooth_period(path), _APART * path.round_trip_at(path.full_window)
    courses = [laws.samples_of(measured) for measured in results.measured]
    losses = [laws.loss_times(course, apart)[1:] for course in courses]
    least, most = (1000 * path.round_trip_at(window) for window in (0, path.full_window))
    trips = {"least": least, "most": most, "further": 2 * most / 1000}
    points = tuple(
        laws.LawPoint(f"{number}", start - times[0], end - start, period)
        for times in losses
        for number, (start, end) in enumerate(pairwise(times), 1)
    )
    return laws.LawComparison(
        LAW,
        points,
        ("Tooth", "Seconds to the next halving"),
        _graph(courses[0], losses[0], path) if points else None,
        *law_texts(__file__, path=path, climb=climbing_time(path), **trips),
    )


def _graph(
    course: Sequence[SocketSample], losses: Sequence[float], path: FilledPath
) -> laws.LawGraph:
    begin = losses[0]
    shown = [sample for sample in course if begin <= sample.time <= losses[-1]]
    times, windows = _teeth(path, len(losses) - 1)
    return laws.LawGraph(
        ("seconds since the first loss after slow start", "congestion window (segments)"),
        (laws.LawLine("the law", times, windows),),
        ([sample.time - begin for sample in shown], [sample.cwnd for sample in shown]),
    )


def _teeth(path: FilledPath, number: int) -> tuple[list[float], list[float]]:
    dropping = path.full_window + 1
    windows = [dropping, *climb(path), dropping]
    times = [0.0, *accumulate(map(path.round_trip_at, windows))][:-1]
    period = sawtooth_period(path)
    every = [tooth * period + time for tooth in range(number) for time in times]
    return every, [float(window) for _ in range(number) for window in windows]


REPORT = laws.law_report(LAW, compare)
