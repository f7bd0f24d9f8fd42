"""The TCP assignment of the GENI project: common parts of the studies of its sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from experiments.study.published import PublishedKernel, PublishedStudy, Row, Target, study

RATES, FLOWS = "rates", "slowest and fastest of parallel flows"
"""Groups of rows."""
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
"""Number of late connections of a row with several, and their delays.

A printed line covers the time from a connection's own start to the common end: 57 s of 60 is a
start 3 s late. Times between are of the next multiple of 3 s below (RFC 2988, section 2: a SYN is
sent again after 3, 9 and 21 s).
"""
_KBYTE = 1024 * 8e-6  # Mbit


def assignment(file: str) -> PublishedStudy:
    """Return the study of a section, next to a module's `file`."""
    return study(file, source=SOURCE, kernel=KERNEL)


def assigned(
    row: Row, experiment: str, settings: dict[str, str], condition: str, flow: str = ""
) -> Target:
    """Return the target of a row of the assignment; the rate of TCP is that of the sender.

    Several connections have iperf's sum: all their bytes divided by their common time.
    """
    place = f"section {row['section']}: {row['condition']}, {row['congestion_control']}"
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    streams = "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"
    metric, scale = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s", 1e-3
    late = _LATE.get((row["condition"], row["congestion_control"]))
    if row["streams"] != "1":
        metric, scale = "transfer_kbyte", _KBYTE / float(row["duration_s"])
    return Target(
        experiment,
        f"{place}, {streams}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        float(row["reported_mbit_s"]) if row["reported_mbit_s"] else None,
        (*settings.items(), ("duration", f"{row['duration_s']}s")),
        condition,
        metric,
        scale,
        note=row["note"],
        flow=flow,
        then=(("late", late),) if late and (row["streams"], row["flow"]) != ("1", "tcp") else (),
        group=RATES,
    )


def with_flows(rate: Target, row: Row, flows: Iterable[Row]) -> Iterator[Target]:
    """Yield the rate of all flows, and those of the slowest and fastest if they were published.

    `flows` are the rows of the study's published_flows.csv.
    """
    yield rate
    names = ("condition", "congestion_control", "streams", "duration_s")
    rates = [
        float(line["mbit_s"]) for line in flows if all(line[name] == row[name] for name in names)
    ]
    if not rates:
        return
    of_flow = replace(rate, metric="client_kbit_s", scale=1e-3, note="", group=FLOWS)
    yield replace(of_flow, quantity="slowest flow", published=min(rates), among="least")
    yield replace(of_flow, quantity="fastest flow", published=max(rates), among="most")


def path_settings(text: str) -> dict[str, str]:
    """Read `300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})
