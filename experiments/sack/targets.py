"""The SACK table: 17 quantities of one transfer without and one with SACK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.quantities import TRANSFER
from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target

STUDY = PublishedStudy(
    "Explanation of a Mininet script for selective acknowledgement, with its results (2014)",
    order=1,
    seeds=(30, 100),  # a seed costs a second
)


def targets(_quick: bool) -> Iterator[Target]:
    """A target for each number. The server's line without SACK is not published."""
    measured = {quantity.name: quantity.key.name for quantity in TRANSFER}
    for row in published_rows(Path(__file__).with_name("published.csv")):
        for condition, word in (("sack_off", "off"), ("sack_on", "on")):
            if row[condition]:
                yield Target(
                    "sack",
                    f"SACK {word}",
                    row["quantity"],
                    row["unit"],
                    float(row[condition]),
                    (("duration", "10s"),),
                    condition,
                    measured[row["quantity"]],
                    captured=True,
                    series=f"SACK {word}",
                )
