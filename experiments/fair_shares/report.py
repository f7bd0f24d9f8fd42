"""Fair shares: the rate of each flow next to an even share of the link."""

from analysis.measures.results import RunResults
from analysis.measures.selection import jain
from analysis.reporting.laws import LawComparison, law_report
from experiments.study.reports import even_shares, law

LAW = law(__file__)
_CAPTION = (
    "Each dot is one flow: what its receiver got over the whole run. The line is the link's rate"
    " divided by the number of flows."
)


def compare(results: RunResults) -> LawComparison:
    return even_shares(results, LAW, _CAPTION, _assumptions(results))


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
