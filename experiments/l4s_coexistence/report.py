"""Coexistence: the claim is about waiting; rates are compared with an even share of the link."""

from __future__ import annotations

from dataclasses import replace

from analysis.measures.results import RunResults
from analysis.reporting.answers import claim_of_run
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
    even = _MBIT * payload_rate(path_of(results)) / len(results.run.flows)
    points = tuple(
        LawPoint(flow.flow.name, number, flow.goodput / 1000, even)
        for measured in results.measured
        for number, flow in enumerate(measured.flows, 1)
        if flow.goodput is not None
    )
    graph = LawGraph(
        ("flow", "rate at its receiver (Mbit/s)"),
        (LawLine("the law: an even share", [0.5, len(results.run.flows) + 0.5], [even, even]),),
        ([point.x for point in points], [point.measured for point in points]),
        tolerance=LAW.tolerance,
    )
    return LawComparison(
        LAW,
        points,
        ("Flow", "Rate (Mbit/s)"),
        graph if points else None,
        "Each dot is one flow: what its receiver got over the whole run. The classic flows come"
        " first, then the scalable ones.",
        (
            "DCTCP is the scalable algorithm that Linux has. It sends with ECT(0), so the link puts"
            " packets with either ECT code into the scalable queue (any_ect); the Internet's"
            " identifier is ECT(1) alone (RFC 9331).",
            "All flows have the same path without queues.",
        ),
    )


REPORT = replace(law_report(LAW, compare), verdict=claim_of_run)
