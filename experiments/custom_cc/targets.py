"""Section 3.5 of the TCP assignment: Reno and a module over 500 ms, with 5 % loss, with both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target
from experiments.published.tcp_assignment import SOURCE, assigned, duration, path_settings

STUDY = PublishedStudy(SOURCE, order=6)


def targets(quick: bool) -> Iterator[Target]:
    """A target for each rate."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        algorithm = row["congestion_control"]
        settings = {"delay": "0s", "loss": "0%"} | path_settings(row["condition"])
        settings |= {
            "cc": algorithm,
            "streams": row["streams"],
            "duration": duration(row, quick),
        }
        yield assigned(row, "custom_cc", settings, algorithm)
