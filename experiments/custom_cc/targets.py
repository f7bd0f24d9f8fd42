"""Section 3.5 of the TCP assignment: Reno and a module over 500 ms, with 5 % loss, with both."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.study.assignment import assigned, assignment, path_settings, with_flows
from experiments.study.published import Target, published

STUDY = assignment(__file__)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a target for each rate, and for the slowest and the fastest of parallel flows."""
    flows = published(__file__, "_flows")
    for row in published(__file__):
        algorithm = row["congestion_control"]
        settings = {"delay": "0s", "loss": "0%"} | path_settings(row["condition"])
        settings |= {"cc": algorithm, "streams": row["streams"]}
        yield from with_flows(assigned(row, "custom_cc", settings, algorithm), row, flows)
