"""Section 3.2 of the TCP assignment: UDP and the sum of ten TCP flows, with FIFO and with sfq."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target
from experiments.published.tcp_assignment import SOURCE, assigned, duration

STUDY = PublishedStudy(SOURCE, order=4)


def targets(quick: bool) -> Iterator[Target]:
    """A target for each rate."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        queueing = "sfq" if "sfq" in row["condition"] else "fifo"
        settings = {"queueing": queueing, "duration": duration(row, quick)}
        flow = "udp" if row["flow"] == "udp" else "tcp*"
        yield assigned(row, "udp_fairness", settings, "together", flow=flow)
