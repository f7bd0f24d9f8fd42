"""What iperf3 printed of the path without reordering and of nine cases with it."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from experiments.study.published import Row, Target, as_number, published, study

SHORT = 10  # seconds of the short form, which is compared with the first ones that were published
STUDY = study(__file__)


def targets(quick: bool) -> Iterator[Target]:
    """Yield the rate, the segments sent again and the amount of each published run."""
    seconds = published(__file__, "_seconds")
    for row in published(__file__):
        case = "baseline" if row["test_case"] == "0" else row["test_case"]
        first = [line for line in seconds if (line["case"], line["run"]) == (case, row["run"])]
        rate = _rate(case, row, quick)
        again = as_number(row["retransmissions"])
        if quick:
            mean = fmean(float(line["sender_mbit_s"]) for line in first[:SHORT])
            rate = replace(rate, published=round(mean, 1))
            again = sum(as_number(line["retransmissions"]) for line in first[:SHORT])
        yield rate
        yield replace(
            rate,
            quantity="segments sent again",
            unit="",
            published=again,
            metric="retransmitted_segments",
            scale=1.0,
            group="segments sent again",
        )
        yield _amount(rate, row)


def _rate(case: str, row: Row, quick: bool) -> Target:
    return Target(
        "wan_reordering",
        f"case {case}, run {row['run']}" if case != "baseline" else "baseline",
        "rate at the sender",
        "Mbit/s",
        as_number(row["sender_mbit_s"]),
        (("case", case), ("duration", f"{SHORT}s" if quick else "60s")),
        "reordering",
        "client_kbit_s",
        1e-3,
        series="published",
        group="rates",
    )


def _amount(rate: Target, row: Row) -> Target:
    return replace(
        rate,
        quantity="amount in 60 s",
        unit="GByte",
        published=float(row["transfer_gbyte"]),
        series="",
        group="amounts",
        listed="It is the rate times 60 s.",
    )
