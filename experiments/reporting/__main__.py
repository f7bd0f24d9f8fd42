"""`python -m experiments.run.report`: the analysis with the reports of all studies."""

from __future__ import annotations

from analysis.__main__ import start
from experiments.reporting.studies import report_of

if __name__ == "__main__":
    start(report_of)
