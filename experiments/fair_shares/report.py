"""Fair shares: the rate of each flow next to an even share of the link."""

from analysis.measures.results import RunResults
from analysis.measures.selection import jain
from analysis.reporting.laws import LawComparison, law_report
from experiments.study.reports import even_shares, law, law_texts

LAW = law(__file__)


def compare(results: RunResults) -> LawComparison:
    """Return a point for each flow and repetition, and Jain's index of each run."""
    rates = [
        [flow.goodput for flow in measured.flows if flow.goodput is not None]
        for measured in results.measured
    ]
    indices = ", ".join(f"{jain(of_trial):.4f}" for of_trial in rates if any(of_trial))
    values = {"flows": len(results.run.flows), "indices": indices or "not known"}
    return even_shares(results, LAW, *law_texts(__file__, **values))


REPORT = law_report(LAW, compare)
