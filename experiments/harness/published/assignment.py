"""The TCP assignment of the GENI project: what the studies after its sections have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.harness.published.target import PublishedKernel, Target
from topologies.foundation.units import Duration

if TYPE_CHECKING:
    from analysis.measures.results import Among

Row = dict[str, str]
RATES, FLOWS = "rates", "slowest and fastest of parallel flows"
"""The groups of rows."""
SOURCE = "TCP assignment of the GENI project, solutions for instructors (2013)"
KERNEL = PublishedKernel(
    "2.6.27",
    "Its text has students find their kernel with uname -r, 'something like"
    " 2.6.27.5-117.emulab1.fc10.i686' (Fedora 10).",
    ("2.6.32", "3.13"),
)
_LATE = {
    ("300 ms delay", "cubic"): "16x3s",
    ("300 ms delay", "reno"): "16x3s",
    ("same with sfq on the bottleneck", "default"): "9x3s",
    ("500 ms delay", "reno"): "16x9s+7x6s",
    ("500 ms delay", "exp"): "15x3s",
    ("5 % loss", "reno"): "9x9s+13x6s",
    ("5 % loss", "exp"): "16x21s+9x18s+4x12s",
    ("500 ms delay and 5 % loss", "reno"): "14x21s+13x18s+1x12s+1x9s",
    ("500 ms delay and 5 % loss", "exp"): "16x9s+10x6s+1x3s",
}
"""How many connections of a row with several were late, and by how much.

A printed line covers the time from a connection's own start to the common end: 57 s of 60 is a
start 3 s late. Times between are of the next multiple of 3 s below (RFC 2988, section 2: a SYN is
sent again after 3, 9 and 21 s).
"""
_KBYTE = 1024 * 8e-6  # Mbit


def assigned(
    row: Row, experiment: str, settings: dict[str, str], condition: str, flow: str = ""
) -> Target:
    """The target of a row of the assignment; the rate of TCP is taken at the sender.

    Several connections have iperf's sum: all their bytes by the time that all together took.
    """
    place = f"section {row['section']}: {row['condition']}, {row['congestion_control']}"
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    metric, scale = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s", 1e-3
    late = _LATE.get((row["condition"], row["congestion_control"]))
    if row["streams"] != "1":
        metric, scale = "transfer_kbyte", _KBYTE / Duration.parse(settings["duration"]).seconds
    return Target(
        experiment,
        f"{place}, {_streams(row)}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        float(row["reported_mbit_s"]) if row["reported_mbit_s"] else None,
        tuple(settings.items()),
        condition,
        metric,
        scale,
        note=row["note"],
        flow=flow,
        then=(("late", late),) if late and (row["streams"], row["flow"]) != ("1", "tcp") else (),
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
            rate,
            quantity=quantity,
            published=published,
            metric="client_kbit_s",
            scale=1e-3,
            among=among,
            note="",
            group=FLOWS,
        )


def lines_of(row: Row, flows: Iterable[Row]) -> list[Row]:
    """The lines of the row's own flows."""
    names = ("condition", "congestion_control", "streams", "duration_s")
    return [line for line in flows if all(line[name] == row[name] for name in names)]


def duration(row: Row) -> str:
    """Return the duration of a row."""
    return f"{row['duration_s']}s"


def path_settings(text: str) -> dict[str, str]:
    """`300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})
