"""BBR's share in each repetition, next to the model of its limit of data in flight."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is the share of the BBR flow in one repetition, after its first 30 s.",
    (
        "The queue is full whenever BBR measures its least round trip. It is not: the others have"
        " just backed off at some time within ten seconds.",
        "All flows have the same path without queues, and the queue drops at its tail.",
    ),
)
