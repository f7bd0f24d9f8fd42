"""A window as the limit: the rate of each condition next to one window a round trip."""

from collections.abc import Sequence

from analysis.measures.results import Measured, RunResults
from analysis.reporting import laws
from analysis.reporting.formulas import FilledPath, window_limited_rate
from experiments.study.reports import law, law_texts

LAW = law(__file__)
_STEADY = (0.4, 0.9)
"""The part of the time in which the rate is taken: after slow start, before the end."""
_MBIT = 8e-6


def compare(results: RunResults) -> laws.LawComparison:
    """Return a point for each condition and repetition."""
    path = laws.path_of(results)
    points = tuple(
        point for measured in results.measured if (point := _point(measured, path)) is not None
    )
    return laws.LawComparison(
        LAW,
        points,
        ("Receiver", "Rate (Mbit/s)"),
        _graph(points, path) if points else None,
        *law_texts(__file__, trip=1000 * path.round_trip, rate=_MBIT * laws.payload_rate(path)),
    )


def _point(measured: Measured, path: FilledPath) -> laws.LawPoint | None:
    samples = laws.samples_of(measured)
    first, last = (samples[0].time, samples[-1].time) if samples else (0.0, 0.0)
    begin, end = (first + share * (last - first) for share in _STEADY)
    steady = [sample for sample in samples if begin <= sample.time <= end]
    if len(steady) < 2:
        return None
    acked = steady[-1].bytes_acked - steady[0].bytes_acked
    rate = acked / (steady[-1].time - steady[0].time)
    window = max(sample.peer_window for sample in steady)
    law = window_limited_rate(window, path.round_trip, laws.payload_rate(path))
    return laws.LawPoint(measured.trial.condition.label, window / 1000, _MBIT * rate, _MBIT * law)


def _graph(points: Sequence[laws.LawPoint], path: FilledPath) -> laws.LawGraph:
    bend = path.round_trip * laws.payload_rate(path) / 1000
    most = max(bend, *(point.x for point in points)) * 1.1
    across = [0.0, bend, most]
    full = _MBIT * laws.payload_rate(path)
    alone = [0.0, full, full * most / bend]
    return laws.LawGraph(
        ("window that the receiver advertises (thousand bytes)", "rate (Mbit/s)"),
        (
            laws.LawLine(
                "the law: window / round trip, at most the link's", across, [0.0, full, full]
            ),
            laws.LawLine("window / round trip alone", across, alone, other=True),
        ),
        ([point.x for point in points], [point.measured for point in points]),
        tolerance=LAW.tolerance,
    )


REPORT = laws.law_report(LAW, compare)
