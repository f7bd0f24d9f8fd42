"""The median of the completion times from ten segments, next to the law."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is the median of the completion times with an initial window of ten segments.",
    ("No packet is lost, and the link carries each window within a round trip.",),
)
