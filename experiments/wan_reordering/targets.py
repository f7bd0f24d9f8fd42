"""What iperf3 printed of the path without reordering and of nine cases with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from experiments.harness.published.target import (
    PublishedKernel,
    PublishedStudy,
    Row,
    Target,
    as_number,
    published,
)

_REASONS = (
    (
        "case .*segments sent again",
        "In 12 s of the period's network 1 to 7 are sent again up to 0.8 ms, 192 at 0.9 ms, 3177"
        " and 4840 at 1 ms, nearly all needlessly. That so many more were published from 0.8 ms on"
        " is not explained.",
    ),
    (
        "baseline",
        "The published baseline lost 9 s at its start: its window doubles every second, which is"
        " CUBIC's 5 % a round trip after it left slow start without a loss, at some 30 segments."
        " The lab leaves it at 11262 segments, on a full path. The socket buffers, 128 MiB, do"
        " not hold the path back; experiments/wan_reordering/README.md says why so much.",
    ),
    (
        "case [1-7],",
        "In the period's network slow start ends at 6202 to 6757 segments (HyStart, by the delay),"
        " a needless recovery makes that CUBIC's last maximum, and 12 s give 6.07 to 6.64 Gbit/s."
        " The send buffer is no limit there. The published windows reach 81 MiB within 6 to 13 s.",
    ),
    (
        "case [89],",
        "Not explained: experiments/wan_reordering/README.md has what was tried. RACK waits 17 ms"
        " for what is late, so 1 ms does not matter; with the settings of the time 3177 to 4840"
        " segments are sent again in 12 s, each recovery is taken back, and 6.46 to 8.04 Gbit/s"
        " stay. Linux 2.6.32 itself has 3.56 in case 8 (median of six seeds, 10 s), nearer to what"
        " was published, 0.78.",
    ),
)


SHORT = 10
"""Seconds of the short form, which is compared with the first ones that were published."""
STUDY = PublishedStudy(
    "ESnet, experiments on TCP re-ordering (December 2015)",
    order=7,
    kernel=PublishedKernel(
        "2.6.32, of CentOS 6",
        "Deduced: the hosts ran the perfSONAR Toolkit in July 2015, which then came with CentOS 6.",
        ("2.6.32", "3.13"),
    ),
    short_form=(
        f"Short form: {SHORT} s for each case instead of 60 s, next to the first {SHORT} of the"
        " published seconds (published_seconds.csv has all 900)."
    ),
    seeds=(6, 6),
    notes=(
        "The amount that iperf3 printed with each rate is the rate times the time: its rows are"
        " listed and not judged.",
    ),
    processor_seconds=(131.0, 700.0),
    reasons=_REASONS,
)


def targets(quick: bool) -> Iterator[Target]:
    """Yield the rate, the segments sent again and the amount of each published run."""
    seconds = published(__file__, "_seconds")
    for row in published(__file__):
        case = "baseline" if row["test_case"] == "0" else row["test_case"]
        first = [line for line in seconds if (line["case"], line["run"]) == (case, row["run"])]
        rate = _rate(case, row, quick)
        again = as_number(row["retransmissions"])
        if quick:
            rate = replace(rate, published=round(_mean(first[:SHORT]), 1))
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


def _mean(lines: list[Row]) -> float:
    return fmean(float(line["sender_mbit_s"]) for line in lines)


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
