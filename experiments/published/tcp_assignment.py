"""The TCP assignment of the GENI project: what the studies after its sections have in common."""

from __future__ import annotations

import re

from experiments.published.target import Target

Row = dict[str, str]
SOURCE = "TCP assignment of the GENI project, solutions for instructors (2013)"
LATE = (
    "The published flows did not start together: their lines cover 57, 54, 51, 48, 42 or 39 of the"
    " 60 s. A SYN was retransmitted after 3, 9 and 21 s then (before Linux 3.1; now after 1). Ours"
    " start together, with a server each. "
)
"""A reason of every row with several flows."""


def assigned(
    row: Row, experiment: str, settings: dict[str, str], condition: str, flow: str = ""
) -> Target:
    """The target of a row of the assignment; the rate of TCP is taken at the sender."""
    place = f"section {row['section']}: {row['condition']}, {row['congestion_control']}"
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    metric = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s"
    return Target(
        experiment,
        f"{place}, {_streams(row)}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        float(row["reported_mbit_s"]) if row["reported_mbit_s"] else None,
        tuple(settings.items()),
        condition,
        metric,
        1e-3,
        note=row["note"],
        flow=flow,
    )


def _streams(row: Row) -> str:
    return "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"


def duration(row: Row, quick: bool) -> str:
    """How long a row is measured. In short half an hour takes 2 min: far longer than slow start."""
    return "120s" if quick and row["duration_s"] == "1800" else f"{row['duration_s']}s"


def path_settings(text: str) -> dict[str, str]:
    """`300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})
