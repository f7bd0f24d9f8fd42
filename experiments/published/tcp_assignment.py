"""The TCP assignment of the GENI project: what the studies after its sections have in common."""

from __future__ import annotations

import re

from experiments.published.target import Target
from topologies.units import Duration

Row = dict[str, str]
SOURCE = "TCP assignment of the GENI project, solutions for instructors (2013)"
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
    )


def _streams(row: Row) -> str:
    return "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"


def duration(row: Row, quick: bool) -> str:
    """How long a row is measured. In short half an hour takes 2 min: far longer than slow start."""
    return "120s" if quick and row["duration_s"] == "1800" else f"{row['duration_s']}s"


def path_settings(text: str) -> dict[str, str]:
    """`300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})
