"""Section 3.5 of the TCP assignment: Reno and a module over 500 ms, with 5 % loss, with both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.published_file import published_rows
from experiments.harness.published.assignment import (
    KERNEL,
    SOURCE,
    assigned,
    duration,
    lines_of,
    path_settings,
    with_flows,
)
from experiments.harness.published.target import PublishedStudy, Target

STUDY = PublishedStudy(
    SOURCE,
    order=6,
    kernel=KERNEL,
    notes=(
        "Of 180 lines of parallel flows (published_flows.csv) the slowest and the fastest of each"
        " transfer are rows. The amounts that iperf printed beside each rate are none.",
    ),
    processor_seconds=(63.0, 63.0),
)


def targets(_quick: bool) -> Iterator[Target]:
    """A target for each rate, and for the slowest and the fastest of parallel flows."""
    flows = published_rows(Path(__file__).with_name("published_flows.csv"))
    for row in published_rows(Path(__file__).with_name("published.csv")):
        algorithm = row["congestion_control"]
        settings = {"delay": "0s", "loss": "0%"} | path_settings(row["condition"])
        settings |= {
            "cc": algorithm,
            "streams": row["streams"],
            "duration": duration(row),
        }
        rate = assigned(row, "custom_cc", settings, algorithm)
        yield from with_flows(rate, lines_of(row, flows))
