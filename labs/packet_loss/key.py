"""The key of the lab about packet loss: the time of a fixed amount of data."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables, percent
from labs.measuring.lab_measures import Runs

DROPPING, SECONDS, LOST = "dropping", "flow1.client_seconds", "run.lost_percent"
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
    """The values, and what known mistakes lead to."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    counted, share = runs["few"](DROPPING, LOST), percent(variables["few.loss"])
    times = {"time_none": none, "time_few": few}
    return Key(
        numbers={
            **times,
            "time_many": many,
            "slower": slower(times, variables),
            "throughput": throughput(times, variables),
            "counted": counted,
        },
        choices={"faster_than": {cost_of_more(runs)}},
        mistakes={
            "slower": {"upside_down": none / few},
            "throughput": {"payload": throughput(times, variables) * REQUEST / ON_THE_WIRE},
            "counted": {"setting": share},
        },
    )


def cost_of_more(runs: Runs) -> str:
    """How the extra time grew from run `few` to `many` beside the drops: more, the same or less."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    drops = runs["many"](DROPPING, LOST) / runs["few"](DROPPING, LOST)
    ratio = (many - none) / (few - none) / drops
    return "more" if ratio > 1.05 else "less" if ratio < 0.95 else "same"


def lesson(runs: Runs) -> bool:
    """Few drops make it three times as long; many longer still, but less than in proportion."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    return 3 * none < few < many and cost_of_more(runs) == "less"
