"""Rates and repeated segments at each of 28 loss rates, without and with SACK."""

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.published import Row, Target, as_number, published, study

STUDY = study(__file__)
_MEGA = 1e-3  # kbit/s to Mbit/s
_FULL = "300 s for each loss rate: about two hours of a processor for each seed of all 28"


def targets(quick: bool) -> Iterator[Target]:
    """Yield the average rate, the share sent again, the slowest and the fastest second."""
    for row in published(__file__):
        rate = _average(row, quick)
        yield rate
        yield replace(
            rate,
            quantity="segments sent again",
            unit="%",
            published=as_number(row["measured_retransmission_percent"]),
            metric="resent_of_new_percent",  # the script divides figures of netstat -s
            scale=1.0,
            group="segments sent again",
        )
        for name, column in (("slowest", "min_mbit_s"), ("fastest", "max_mbit_s")):
            yield replace(
                rate,
                quantity=f"{name} second",
                published=as_number(row[column]),
                metric=f"{name}_second_kbit_s",
                group=f"{name} second",
                needs=_FULL if quick else "",
            )


def _average(row: Row, quick: bool) -> Target:
    word, loss = ("on" if row["sack"] == "1" else "off"), f"{row['netem_loss_percent']}%"
    share = float(row["netem_loss_percent"])
    return Target(
        "sack_loss_sweep",
        f"SACK {word}, loss {loss}",
        "average rate",
        "Mbit/s",
        as_number(row["avg_mbit_s"]),
        (("loss", loss), ("duration", _short(share) if quick else "300s")),
        f"sack_{word}",
        "mean_second_kbit_s",
        _MEGA,
        series=f"SACK {word}",
        x=share,
        group="average rate",
    )


def _short(share: float) -> str:
    """Return how long a loss rate is measured in short: fewer packets take longer to be as many."""
    return "5s" if share < 0.2 else "10s" if share < 2 else "30s"
