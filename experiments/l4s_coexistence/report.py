"""Coexistence: the claim is about waiting; rates are compared with an even share of the link."""

from dataclasses import replace

from analysis.measures.results import RunResults
from analysis.reporting.answers import claim_of_run
from analysis.reporting.laws import LawComparison, law_report
from experiments.study.reports import even_shares, law

LAW = law(__file__)
_CAPTION = (
    "Each dot is one flow: what its receiver got over the whole run. The classic flows come first,"
    " then the scalable ones."
)
_ASSUMPTIONS = (
    "DCTCP is the scalable algorithm that Linux has. It sends with ECT(0), so the link puts packets"
    " with either ECT code into the scalable queue (any_ect); the Internet's identifier is ECT(1)"
    " alone (RFC 9331).",
    "All flows have the same path without queues.",
)


def compare(results: RunResults) -> LawComparison:
    return even_shares(results, LAW, _CAPTION, _ASSUMPTIONS)


REPORT = replace(law_report(LAW, compare), verdict=claim_of_run)
