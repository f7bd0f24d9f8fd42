"""The key of the lab about BBR and CUBIC: rates with a shallow queue, waits with a deep one."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables, compared, ratio
from labs.measuring.lab_measures import Runs

CUBIC, BBR, RATE, TRIP = "cubic", "bbr", "flow1.goodput_kbit_s", "flow1.rtt_median_ms"
_FRAME = 1514
"""Bytes of a full packet on the link."""


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """The larger rate over the smaller."""
    return ratio(answers["shallow_cubic"], answers["shallow_bbr"])


def wait_factor(answers: Mapping[str, float], _: Variables) -> float:
    """The larger round trip over the smaller."""
    return ratio(answers["deep_cubic"], answers["deep_bbr"])


def waiting(answers: Mapping[str, float], variables: Variables) -> float:
    """Full packets that the link sends in the time that a packet waits; the delay is one way."""
    seconds = answers["deep_cubic"] / 1000 - variables["delay"].base / 1e9
    return seconds * variables["bw"].base / (8 * _FRAME)


DERIVED = {"factor": factor, "wait_factor": wait_factor, "waiting": waiting}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    shallow, deep = runs["shallow"], runs["deep"]
    numbers = {
        "shallow_cubic": shallow(CUBIC, RATE),
        "shallow_bbr": shallow(BBR, RATE),
        "deep_cubic": deep(CUBIC, TRIP),
        "deep_bbr": deep(BBR, TRIP),
    }
    numbers |= {name: derived(numbers, variables) for name, derived in DERIVED.items()}
    return Key(
        numbers=numbers,
        choices={"sign": {"rate"}, **_change(runs)},
        mistakes={
            "shallow_cubic": {"other_condition": numbers["shallow_bbr"]},
            "shallow_bbr": {"other_condition": numbers["shallow_cubic"]},
            "factor": {"upside_down": 1 / numbers["factor"]},
            "deep_cubic": {"other_condition": numbers["deep_bbr"]},
            "deep_bbr": {"other_condition": numbers["deep_cubic"]},
            "wait_factor": {"upside_down": 1 / numbers["wait_factor"]},
        },
        frames={"cut_line": shallow.frames(f"{CUBIC}/right.sockets", "cut")},
        measured={"change": {}} if "changed" in runs else {},
    )


def _change(runs: Runs) -> dict[str, set[str]]:
    """What the student's own change did to the factor; nothing if it was not run."""
    if "changed" not in runs:
        return {}
    after, before = (
        ratio(runs[name](BBR, RATE), runs[name](CUBIC, RATE)) for name in ("changed", "shallow")
    )
    return {"change_effect": {compared(after, before, "larger", "same", "smaller")}}


def lesson(runs: Runs) -> bool:
    """Twice the wait or more with a deep queue; no less rate for BBR with a shallow one."""
    shallow, deep = runs["shallow"], runs["deep"]
    waits = deep(CUBIC, TRIP) > 2 * deep(BBR, TRIP)
    return waits and shallow(BBR, RATE) > 0.95 * shallow(CUBIC, RATE)
