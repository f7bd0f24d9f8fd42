"""Rates and repeated segments at each of 28 loss rates, without and with SACK."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.harness.published.target import (
    PublishedKernel,
    PublishedStudy,
    Row,
    Target,
    as_number,
    published,
)

_FEW = (
    "A loss takes up to 64 KB at once, and a receiver that gets whole buffers acknowledges each"
    " once: without SACK the few duplicates that come leave most losses to a time-out of 200 ms."
    " With 984.4 Mbit/s, netem in the sender's own port and 256 KiB of small queue that makes 676,"
    " 252 and 160 Mbit/s at 0.1, 0.5 and 1 % (678, 288 and 146 published; 30 s, seed 1). "
)
_SLOW = (
    "At 3 % and more windows are of a few segments and most losses wait for a time-out: 21.6"
    " Mbit/s with SACK and 5.0 without at 5 % (47 and 10.1 published; 30 s, seed 1). With SACK the"
    " kernel decides: in the same network Linux 3.13 has 16.5 Mbit/s (median of six seeds),"
    " 4.4 has 79.9 to 93.8 (four seeds). Red Hat's 3.10 is a 3.10 with much of later kernels; how"
    " much of TCP was in it is not known here. Without SACK 4.4 has 4.0 to 5.4, and what was"
    " published is not explained."
)
_FAST = (
    "The path with the sender's own netem gives 931 and 678 Mbit/s at 0.5 and 1 % (883 and 555"
    " published; 30 s, seed 1), which is not explained."
)

_REASONS = (
    ("segments sent again", ""),  # what follows speaks of rates
    (r"SACK (on|off), loss (3|4|5|6|7|8|9|10)%", _SLOW),
    (r"SACK on, loss (0\.5|1|2)%", _FAST),
    (r"SACK off, loss", _FEW),
)


STUDY = PublishedStudy(
    "M. Davids, a shell script to measure the effects of retransmissions (2017)",
    order=2,
    kernel=PublishedKernel(
        "3.10, of Red Hat",
        "Its text names Red Hat Enterprise Linux 7.4 as it comes, whose kernel is a 3.10 with much"
        " of later ones in it.",
        ("3.13", "4.4"),
    ),
    short_form=(
        "Short form: 5 s for each loss rate below 0.2 %, 10 s below 2 % and 30 s above, instead"
        " of 300 s. The slowest and the fastest of 300 seconds are in the full form only."
    ),
    plot={"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"},
    seeds=(6, 6),
    notes=(
        "The text states no round trip. Of one transfer (0.5 %, SACK on) 21 of its 300 seconds are"
        " printed with their windows (published_seconds.csv). A window is sent once a round trip,"
        " so window divided by rate is a round trip with its waiting: 1.4 ms in the middle, from"
        " 0.33 to 2.6 ms.",
    ),
    processor_seconds=(86.0, 3700.0),
    reasons=_REASONS,
)
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
            metric="resent_percent",
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
