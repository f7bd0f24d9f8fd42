"""The last block's time in each repetition, next to the link's time for all blocks."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is the time until the last block was there, with a short least time-out.",
    ("All senders start at once, and each block fits into a few round trips.",),
)
