"""Slow start: segments of each round trip, measured and by the law."""

from collections.abc import Sequence

from analysis.measures.metrics import counter
from analysis.measures.results import RunResults
from analysis.reporting.formulas import slow_start_segments
from analysis.reporting.laws import LawComparison, LawGraph, LawLine, LawPoint, law_report, path_of
from analysis.table import ColumnTable
from experiments.study.reports import law, law_texts

_COLUMNS = ("forward", "sequence", "acknowledgement", "payload")


def segments_by_round(packets: ColumnTable, by_a: bool) -> list[int]:
    """Count the sender's data segments in each round trip, to the first ACK of what it sent.

    `packets` are of one connection; `by_a` as in analysis.measures.captures.End.
    """
    rounds, sent, highest, end = [], 0, 0, None
    columns = (packets[name].to_list() for name in _COLUMNS)
    for forward, sequence, acknowledged, payload in zip(*columns, strict=True):
        if forward == by_a and payload:
            sent, highest = sent + 1, max(highest, sequence + payload)
        elif sent and forward != by_a and (acknowledged or 0) > (end or 1):
            rounds.append(sent)
            sent, end = 0, highest
    return [*rounds, sent] if sent else rounds


LAW = law(__file__)
_ACK_COUNTING = 1.5
_AGAIN, _UNKNOWN = counter("TcpRetransSegs"), "not recorded"


def compare(results: RunResults) -> LawComparison:
    """Compare round trips whose window fits the path without a queue, of the first seed."""
    path = path_of(results)
    counted: list[int] = []
    for measured in results.first:
        ends = (end for end in measured.ends if end.role == "sender")
        counted += next((segments_by_round(end.packets, end.by_a) for end in ends), [])
    points = tuple(
        LawPoint(f"{number}", number, segments, expected)
        for number, segments in enumerate(counted[:-1], 1)
        if (expected := slow_start_segments(number)) <= path.product
    )
    again = [value for case in results.run.conditions for value in results.values(_AGAIN, case)]
    return LawComparison(
        LAW,
        points,
        ("Round trip", "Segments sent"),
        _graph(points) if points else None,
        *law_texts(__file__, product=path.product, resent=f"{max(again):g}" if again else _UNKNOWN),
    )


def _graph(points: Sequence[LawPoint]) -> LawGraph:
    trips = [point.x for point in points]
    doubled = LawLine("the law: doubled", trips, [point.theory for point in points])
    counting = [slow_start_segments(round(trip), growth=_ACK_COUNTING) for trip in trips]
    return LawGraph(
        ("round trip", "segments sent in it"),
        (doubled, LawLine("if ACKs were counted: half as many more", trips, counting, other=True)),
        (trips, [point.measured for point in points]),
        logarithmic="y",
        tolerance=LAW.tolerance,
    )


REPORT = law_report(LAW, compare)
