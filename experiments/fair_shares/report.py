"""Fair shares: the rate of each flow next to an even share of the link."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.measures.results import RunResults
from analysis.measures.selection import jain
from analysis.reporting.laws import (
    LawComparison,
    LawGraph,
    LawLine,
    LawPoint,
    law_report,
    path_of,
    payload_rate,
)
from experiments.study.published import law

LAW = law(__file__)
_MBIT = 8e-6


def compare(results: RunResults) -> LawComparison:
    """Return a point for each flow and repetition."""
    path, flows = path_of(results), len(results.run.flows)
    even = _MBIT * payload_rate(path) / flows
    points = tuple(
        LawPoint(flow.flow.name, number, flow.goodput / 1000, even)
        for measured in results.measured
        for number, flow in enumerate(measured.flows, 1)
        if flow.goodput is not None
    )
    return LawComparison(
        LAW,
        points,
        ("Flow", "Rate (Mbit/s)"),
        _graph(points, even) if points else None,
        "Each dot is one flow: what its receiver got over the whole run. The line is the link's"
        " rate divided by the number of flows.",
        _assumptions(results),
    )


def _graph(points: Sequence[LawPoint], even: float) -> LawGraph:
    numbers = [point.x for point in points]
    ends = [0.5, max(numbers) + 0.5]
    return LawGraph(
        ("flow", "rate at its receiver (Mbit/s)"),
        (LawLine("the law: an even share", ends, [even, even]),),
        (numbers, [point.measured for point in points]),
        tolerance=LAW.tolerance,
    )


def _assumptions(results: RunResults) -> tuple[str, ...]:
    rates = [
        [flow.goodput for flow in measured.flows if flow.goodput is not None]
        for measured in results.measured
    ]
    indices = [f"{jain(of_trial):.4f}" for of_trial in rates if any(of_trial)]
    return (
        f"Jain's index, which is 1 if all have the same and 1/{len(results.run.flows)} if one has"
        f" all, is {', '.join(indices) or 'not known'}.",
        "All flows have the same round trip, algorithm and time, and share one queue. With another"
        " round trip for each this law does not apply.",
    )


REPORT = law_report(LAW, compare)
