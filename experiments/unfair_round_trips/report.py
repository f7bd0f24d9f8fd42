"""The ratio of two rates in each repetition, next to the most that the law gives."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is the ratio of the two rates in one repetition, after its first 30 s.",
    (
        "The round trip is that without a queue. The wait in the queue is the same for both flows"
        " and makes the ratio of the round trips smaller.",
        "Both flows have the same congestion control and share one FIFO queue.",
    ),
)
