"""The average rate at each of 28 loss rates, without and with SACK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.published.target import PublishedStudy, Target

STUDY = PublishedStudy(
    "M. Davids, a shell script to measure the effects of retransmissions (2017)",
    order=2,
    short_form="Short form: 30 s for each loss rate instead of 300 s.",
    plot={"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"},
    seeds=(1, 1),
)


def targets(quick: bool) -> Iterator[Target]:
    """A target for each average rate; its note has the slowest and the fastest second."""
    for row in published_rows(Path(__file__).with_name("published.csv")):
        word, loss = ("on" if row["sack"] == "1" else "off"), f"{row['netem_loss_percent']}%"
        yield Target(
            "sack_loss_sweep",
            f"SACK {word}, loss {loss}",
            "average rate",
            "Mbit/s",
            float(row["avg_mbit_s"]),
            (("loss", loss), ("duration", "30s" if quick else "300s")),
            f"sack_{word}",
            "mean_second_kbit_s",
            1e-3,
            note=(
                f"seconds from {row['min_mbit_s']} to {row['max_mbit_s']}; "
                f"{row['measured_retransmission_percent']} % of segments sent again"
            ),
            series=f"SACK {word}",
            x=float(row["netem_loss_percent"]),
        )
