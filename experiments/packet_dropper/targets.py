"""The mean of ten times for 100 000 requests at each of 8 shares dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.definition.profiles import DROPPER
from experiments.published.target import PublishedStudy, Target

STUDY = PublishedStudy(
    "Experiments with a packet dropper module on a static router (about 2001)",
    order=8,
    plot={"kind": "loglog", "x": "dropped", "x_unit": "%", "series": ""},
)
_NO_MODULE = ((DROPPER, "98.44mbit"),)  # at 0 % the dropping module was not in the router


def targets(_quick: bool) -> Iterator[Target]:
    """A target for each mean, with the range of its ten times."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        times = [float(row[f"elapsed_s_{number}"]) for number in range(1, 11)]
        yield Target(
            "packet_dropper",
            f"{row['drop_percent']} % dropped",
            "elapsed time",
            "s",
            float(row["elapsed_avg_s"]),
            (("loss", f"{row['drop_percent']}%"),),
            "dropping",
            "client_seconds",
            then=() if float(row["drop_percent"]) else _NO_MODULE,
            low=min(times),
            high=max(times),
            series="elapsed",
            x=float(row["drop_percent"]),
        )
