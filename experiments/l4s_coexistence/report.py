"""Coexistence: the claim is about waiting; rates are compared with an even share of the link."""

from dataclasses import replace

from analysis.measures.results import RunResults
from analysis.reporting.answers import claim_of_run
from analysis.reporting.laws import LawComparison, law_report
from experiments.study.reports import even_shares, law, law_texts

LAW = law(__file__)


def compare(results: RunResults) -> LawComparison:
    return even_shares(results, LAW, *law_texts(__file__))


REPORT = replace(law_report(LAW, compare), verdict=claim_of_run)
