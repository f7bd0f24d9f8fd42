"""The window at the first loss with pacing, next to the law."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is half the largest window of the paced flow in slow start.",
    (
        "The queue holds less than the bandwidth-delay product.",
        "Both senders send alone on their paths, and no packet is lost at random.",
    ),
)
