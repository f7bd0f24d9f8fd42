"""Sections 3.1 and 3.4 of the TCP assignment: delay, loss and streams; SACK at 10 % loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.harness.published.assignment import (
    KERNEL,
    SOURCE,
    Row,
    assigned,
    duration,
    lines_of,
    path_settings,
    with_flows,
)
from experiments.harness.published.target import COUNTS, PublishedStudy, Target

_REASONS = (
    (
        "% loss(,| with SACK)",
        COUNTS
        + "That makes 7.0 (CUBIC) and 14.8 (Reno) at 5 %, 1.8 and 3.0 at 10 %, where RACK makes"
        " 16.7 and 65.4, 4.2 and 12.3. Linux 2.6.32, the nearest to 2.6.27 that can be run, has"
        " 15.8 and 14.2, 3.2 and 2.5: CUBIC before Reno, as published. Linux 3.13 has 21.6 and"
        " 37.6, 4.0 and 4.9 (medians of six seeds each). That both were published with 0.6 to 0.8"
        " of what 2.6.32 has is not explained.",
    ),
)


STUDY = PublishedStudy(
    SOURCE,
    order=3,
    kernel=KERNEL,
    short_form="What was measured for half an hour is in the full form only.",
    notes=(
        "Of 90 lines of parallel flows (published_flows.csv) the slowest and the fastest of each"
        " transfer are rows. The first seconds of two transfers and the amounts that iperf printed"
        " with each rate are no rows.",
    ),
    processor_seconds=(40.0, 400.0),
    reasons=_REASONS,
)
_HALF_AN_HOUR = "half an hour of traffic: 1 to 6 minutes of a processor for each run"


def targets(quick: bool) -> Iterator[Target]:
    """Yield a target for each rate, and for the slowest and the fastest of parallel flows."""
    flows = published_rows(Path(__file__).with_name("published_flows.csv"))
    for row in published_rows(Path(__file__).with_name("published.csv")):
        target = _with_sack(row) if row["section"] == "3.4" else _over_path(row)
        if quick and row["duration_s"] == "1800":
            target = replace(target, needs=_HALF_AN_HOUR)
        yield from with_flows(target, lines_of(row, flows))


def _over_path(row: Row) -> Target:
    algorithm = row["congestion_control"]
    settings = path_settings(row["condition"]) | {
        "cc": algorithm,
        "streams": row["streams"],
        "duration": duration(row),
    }
    return assigned(row, "cubic_vs_reno", settings, algorithm)


def _with_sack(row: Row) -> Target:
    off = "without SACK" in row["condition"]
    settings = {
        "cc": "cubic",
        "sack": "off" if off else "on",
        "loss": "10%",
        "duration": duration(row),
    }
    return assigned(row, "cubic_vs_reno", settings, "cubic_sack_off" if off else "cubic")
