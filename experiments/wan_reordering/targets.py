"""The sender's rate in the baseline and in nine cases of reordering."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target

STUDY = PublishedStudy(
    "ESnet, experiments on TCP re-ordering (December 2015)",
    order=7,
    short_form="Short form: 10 s for each case instead of 60 s.",
    seeds=(1, 1),
)


def targets(quick: bool) -> Iterator[Target]:
    """A target for each published run."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        case = "baseline" if row["test_case"] == "0" else row["test_case"]
        where = f"case {case}, run {row['run']}" if case != "baseline" else "baseline"
        yield Target(
            "wan_reordering",
            where,
            "rate at the sender",
            "Mbit/s",
            float(row["sender_mbit_s"]),
            (("case", case), ("duration", "10s" if quick else "60s")),
            "reordering",
            "client_kbit_s",
            1e-3,
            note=f"{row['retransmissions']} segments sent again",
            series="published",
        )
