"""The key of the lab about packet loss: the time of a fixed amount of data."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.key import Key, Variables, change_effect, compared, percent, ratio
from labs.measuring.measures import Runs

DROPPING, SECONDS, LOST = "dropping", "flow1.client_seconds", "run.lost_percent"
ON_THE_WIRE, REQUEST = 1526, 1448
"""Bytes of a request: with all its headers by the study's formula, and by itself."""


def slower(answers: Mapping[str, float], _: Variables) -> float:
    """Return the larger time of those with few drops and without over the smaller."""
    return ratio(answers["time_few"], answers["time_none"])


def throughput(answers: Mapping[str, float], variables: Variables) -> float:
    """kB/s by the study's formula."""
    return ON_THE_WIRE * variables["few.requests"].base / answers["time_few"] / 1000


DERIVED = {"slower": slower, "throughput": throughput}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
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
        choices={
            "faster_than": {cost_of_more(runs)},
            "no_ack_lost": {"back"},
            **change_effect(runs, "few", lambda run: run(DROPPING, SECONDS)),
        },
        mistakes={
            "time_few": {"other_run": none},
            "slower": {"upside_down": 1 / slower(times, variables)},
            "throughput": {"payload": throughput(times, variables) * REQUEST / ON_THE_WIRE},
            "counted": {"setting": share},
        },
        frames={"cut_line": runs["few"].frames(f"{DROPPING}/h1.sockets", "cut")},
        measured={"change": {}} if "changed" in runs else {},
    )


def cost_of_more(runs: Runs) -> str:
    """Compare the growth of the extra time from run `few` to `many` with that of the drops."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    drops = runs["many"](DROPPING, LOST) / runs["few"](DROPPING, LOST)
    return compared((many - none) / (few - none), drops, "more", "same", "less")


def lesson(runs: Runs) -> bool:
    """Few drops make it three times as long or longer; many longer still."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    return 3 * none < few < many
