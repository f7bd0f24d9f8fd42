"""Sections 3.1 and 3.4 of the TCP assignment: delay, loss and streams; SACK at 10 % loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.assignment import assigned, assignment, path_settings, with_flows
from experiments.study.published import Row, Target, published

STUDY = assignment(__file__)
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
