"""The key of the lab about packet loss: the time of a fixed amount of data."""

from labs.definition.key import (
    Key,
    Numbers,
    Variables,
    calculated,
    change_effect,
    compared,
    factor_of,
    percent,
)
from labs.measuring.measures import Runs

DROPPING, SECONDS, LOST = "dropping", "flow1.client_seconds", "run.lost_percent"
ON_THE_WIRE, REQUEST = 1526, 1448
"""Bytes of a request: with all its headers by the study's formula, and by itself."""


def throughput(answers: Numbers, variables: Variables) -> float:
    """kB/s by the study's formula."""
    return ON_THE_WIRE * variables["few.requests"].base / answers["time_few"] / 1000


DERIVED = {"slower": factor_of("time_few", "time_none"), "throughput": throughput}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    none, few, many = (runs[name](DROPPING, SECONDS) for name in ("none", "few", "many"))
    counted, share = runs["few"](DROPPING, LOST), percent(variables["few.loss"])
    numbers = {"time_none": none, "time_few": few, "time_many": many, "counted": counted}
    numbers = calculated(DERIVED, numbers, variables)
    return Key(
        numbers=numbers,
        choices={
            "faster_than": {cost_of_more(runs)},
            "no_ack_lost": {"back"},
            **change_effect(runs, "few", lambda run: run(DROPPING, SECONDS)),
        },
        mistakes={
            "time_few": {"other_run": none},
            "slower": {"upside_down": 1 / numbers["slower"]},
            "throughput": {"payload": numbers["throughput"] * REQUEST / ON_THE_WIRE},
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
