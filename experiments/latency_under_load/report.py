"""The probe's median round trip in each repetition, next to what the discipline promises."""

from analysis.reporting.laws import claimed_report
from experiments.study.law import law

REPORT = claimed_report(
    law(__file__),
    "Each dot is the median round trip of the probe in one repetition.",
    (
        "The round trip is near the 100 ms for which CoDel's interval is set (RFC 8289,"
        " section 4.3).",
        "The probe has a queue of its own if the discipline has one for each flow.",
    ),
)
