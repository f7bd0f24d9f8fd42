"""Sections 3.1 and 3.4 of the TCP assignment: delay, loss and streams; SACK at 10 % loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target
from experiments.published.tcp_assignment import SOURCE, Row, assigned, duration, path_settings

STUDY = PublishedStudy(SOURCE, order=3, short_form="Short form: 120 s where 1800 s were published.")


def targets(quick: bool) -> Iterator[Target]:
    """A target for each rate."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        yield _with_sack(row, quick) if row["section"] == "3.4" else _over_path(row, quick)


def _over_path(row: Row, quick: bool) -> Target:
    algorithm = row["congestion_control"]
    settings = path_settings(row["condition"]) | {
        "cc": algorithm,
        "streams": row["streams"],
        "duration": duration(row, quick),
    }
    return assigned(row, "cubic_vs_reno", settings, algorithm)


def _with_sack(row: Row, quick: bool) -> Target:
    off = "without SACK" in row["condition"]
    settings = {
        "cc": "cubic",
        "sack": "off" if off else "on",
        "loss": "10%",
        "duration": duration(row, quick),
    }
    return assigned(row, "cubic_vs_reno", settings, "cubic_sack_off" if off else "cubic")
