"""The key of the lab about packet loss: the time of a fixed amount of data."""

from __future__ import annotations

from collections.abc import Mapping

from labs.key import Key, Variables, percent
from labs.measuring import Runs

DROPPING, SECONDS = "dropping", "flow1.client_seconds"
ON_THE_WIRE, REQUEST = 1526, 1448
"""Bytes of a request: with all its headers by the study's formula, and by itself."""


def slower(answers: Mapping[str, float], _: Variables) -> float:
    """The time with few drops over the time without."""
    return answers["time_few"] / answers["time_none"]


def throughput(answers: Mapping[str, float], variables: Variables) -> float:
    """kB/s by the study's formula."""
    return ON_THE_WIRE * variables["few.requests"].base / answers["time_few"] / 1000


DERIVED = {"slower": slower, "throughput": throughput}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and where known mistakes lead."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    counted, share = runs["few"](DROPPING, "run.lost_percent"), percent(variables["few.loss"])
    times = {"time_none": none, "time_few": few}
    extra = (many - none) / (few - none)
    times_the_drops = percent(variables["many.loss"]) / share
    grown = "more" if extra > 1.05 * times_the_drops else "less" if extra < 0.95 * times_the_drops else "same"
    return Key(
        numbers={**times, "time_many": many, "slower": slower(times, variables),
                 "throughput": throughput(times, variables), "counted": counted},
        choices={"faster_than": {grown}},
        mistakes={
            "slower": {"upside_down": none / few},
            "throughput": {"payload": throughput(times, variables) * REQUEST / ON_THE_WIRE},
            "counted": {"setting": share},
        },
    )  # fmt: skip


def lesson(runs: Runs) -> bool:
    """A percent or so of drops makes it half as long again, and five percent more than that."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    return none * 1.5 < few < many
