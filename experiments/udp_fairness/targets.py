"""Section 3.2 of the TCP assignment: UDP and the sum of ten TCP flows, with FIFO and with sfq."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from analysis.reporting.tables import published_rows
from experiments.harness.published.assignment import (
    KERNEL,
    SOURCE,
    Row,
    assigned,
    duration,
    lines_of,
    with_flows,
)
from experiments.harness.published.target import PublishedStudy, Target, as_number

STUDY = PublishedStudy(
    SOURCE,
    order=4,
    kernel=KERNEL,
    notes=(
        "Of 20 lines of parallel flows (published_flows.csv) the slowest and the fastest of each"
        " transfer are rows. The amounts that iperf printed with each rate are no rows.",
    ),
    processor_seconds=(30.0, 30.0),
)


def targets(_quick: bool) -> Iterator[Target]:
    """Yield each rate, the losses and jitter of UDP, and the extreme flows of TCP."""
    flows = published_rows(Path(__file__).with_name("published_flows.csv"))
    datagrams = published_rows(Path(__file__).with_name("published_datagrams.csv"))
    for row in published_rows(Path(__file__).with_name("published.csv")):
        rate = _rate(row)
        if row["flow"] == "udp":
            (line,) = (line for line in datagrams if line["condition"] == row["condition"])
            yield from _of_datagrams(rate, line)
        else:
            yield from with_flows(rate, lines_of(row, flows))


def _rate(row: Row) -> Target:
    queueing = "sfq" if "sfq" in row["condition"] else "fifo"
    settings = {"queueing": queueing, "duration": duration(row)}
    flow = "udp" if row["flow"] == "udp" else "tcp*"
    return assigned(row, "udp_fairness", settings, "together", flow=flow)


def _of_datagrams(rate: Target, line: Row) -> Iterator[Target]:
    yield rate
    columns = (
        ("datagrams lost", "%", "udp_lost_percent", "lost_percent"),
        ("jitter of datagrams", "ms", "udp_jitter_ms", "jitter_ms"),
    )
    for quantity, unit, metric, column in columns:
        yield replace(
            rate,
            quantity=quantity,
            unit=unit,
            published=as_number(line[column]),
            metric=metric,
            scale=1.0,
            note="",
            group="datagrams",
        )
