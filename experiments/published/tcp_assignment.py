"""The TCP assignment of the GENI project: what the studies after its sections have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from analysis.measures.flow_rows import Among
from experiments.published.target import Target

Row = dict[str, str]
RATES, FLOWS = "rates", "slowest and fastest of parallel flows"
"""The groups of rows."""
SOURCE = "TCP assignment of the GENI project, solutions for instructors (2013)"
LATE = (
    "The published flows did not start together: their lines cover 57, 54, 51, 48, 42 or 39 of the"
    " 60 s. A SYN was retransmitted after 3, 9 and 21 s then (before Linux 3.1; now after 1). Ours"
    " start together, with a server each. "
)
"""A reason of every row with several flows."""


def assigned(
    row: Row, experiment: str, settings: dict[str, str], condition: str, flow: str = ""
) -> Target:
    """The target of a row of the assignment; the rate of TCP is taken at the sender."""
    place = f"section {row['section']}: {row['condition']}, {row['congestion_control']}"
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    metric = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s"
    return Target(
        experiment,
        f"{place}, {_streams(row)}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        float(row["reported_mbit_s"]) if row["reported_mbit_s"] else None,
        tuple(settings.items()),
        condition,
        metric,
        1e-3,
        note=row["note"],
        flow=flow,
        group=RATES,
    )


def _streams(row: Row) -> str:
    return "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"


def with_flows(rate: Target, lines: Iterable[Row]) -> Iterator[Target]:
    """The rate of all flows together, and if their lines were published their slowest and fastest.

    `lines` are those of the study's published_flows.csv that belong to the row.
    """
    yield rate
    rates = [float(line["mbit_s"]) for line in lines]
    if not rates:
        return
    ends: tuple[tuple[str, Among, float], ...] = (
        ("slowest flow", "least", min(rates)),
        ("fastest flow", "most", max(rates)),
    )
    for quantity, among, published in ends:
        yield replace(
            rate, quantity=quantity, published=published, among=among, note="", group=FLOWS
        )


def lines_of(row: Row, flows: Iterable[Row]) -> list[Row]:
    """The lines of the row's own flows."""
    names = ("condition", "congestion_control", "streams", "duration_s")
    return [line for line in flows if all(line[name] == row[name] for name in names)]


def duration(row: Row) -> str:
    """How long a row was measured."""
    return f"{row['duration_s']}s"


def path_settings(text: str) -> dict[str, str]:
    """`300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})
