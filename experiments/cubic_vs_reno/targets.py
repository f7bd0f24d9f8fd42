"""Sections 3.1 and 3.4 of the TCP assignment: delay, loss and streams; SACK at 10 % loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.harness.published.assignment import assigned, assignment, path_settings, with_flows
from experiments.harness.published.target import COUNTS, Row, Target, published

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


STUDY = assignment(
    order=3,
    lines=90,
    short_form="Runs of half an hour are in the full form only.",
    notes=("The first seconds of two transfers are no rows.",),
    processor_seconds=(40.0, 400.0),
    reasons=_REASONS,
)
_HALF_AN_HOUR = "half an hour of traffic: 1 to 6 minutes of a processor for each run"


def targets(quick: bool) -> Iterator[Target]:
    """Yield a target for each rate, and for the slowest and the fastest of parallel flows."""
    flows = published(__file__, "_flows")
    for row in published(__file__):
        target = _with_sack(row) if row["section"] == "3.4" else _over_path(row)
        if quick and row["duration_s"] == "1800":
            target = replace(target, needs=_HALF_AN_HOUR)
        yield from with_flows(target, row, flows)


def _over_path(row: Row) -> Target:
    algorithm = row["congestion_control"]
    settings = path_settings(row["condition"]) | {"cc": algorithm, "streams": row["streams"]}
    return assigned(row, "cubic_vs_reno", settings, algorithm)


def _with_sack(row: Row) -> Target:
    off = "without SACK" in row["condition"]
    settings = {"cc": "cubic", "sack": "off" if off else "on", "loss": "10%"}
    return assigned(row, "cubic_vs_reno", settings, "cubic_sack_off" if off else "cubic")
