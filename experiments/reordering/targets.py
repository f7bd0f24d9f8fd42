"""Section 3.3 of the TCP assignment: a steady delay, a varying one, and tcp_reordering raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target
from experiments.published.tcp_assignment import SOURCE, Row, assigned, duration

STUDY = PublishedStudy(SOURCE, order=5, processor_seconds=(36.0, 36.0))
_HIGHEST = {"10^14": "2147483647", "10^15": "2147483647"}
"""What a kernel takes for thresholds that do not fit into its integers."""


def targets(_quick: bool) -> Iterator[Target]:
    """A target for each rate."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        settings = {
            "cc": row["congestion_control"],
            "jitter": "75ms" if "75 ms" in row["condition"] else "0s",
            "threshold": _threshold(row),
            "duration": duration(row),
        }
        yield assigned(row, "reordering", settings, row["congestion_control"])


def _threshold(row: Row) -> str:
    match = re.search(r"tcp_reordering=(\S+)", row["condition"])
    return _HIGHEST.get(match[1], match[1]) if match else "3"
