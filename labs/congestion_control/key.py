"""The key of the lab about congestion control: CUBIC and Reno, near and far."""

from labs.definition.key import (
    Key,
    Numbers,
    Variables,
    calculated,
    change_effect,
    factor_of,
    rate_mistakes,
    ratio,
)
from labs.measuring.measures import MeasuredRun, Runs

RATE = "flow1.goodput_kbit_s"
_SEGMENT = 1448
"""Bytes of data in a full segment with timestamps."""


def window_rate(answers: Numbers, _: Variables) -> float:
    """kbit/s that a window allows in each round trip."""
    return 8 * _SEGMENT * answers["window"] / answers["trip"]


DERIVED = {"factor": factor_of("far_cubic", "far_reno"), "window_rate": window_rate}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    near, far = runs["near"], runs["far"]
    numbers = {
        "near_cubic": near("cubic", RATE),
        "far_cubic": far("cubic", RATE),
        "far_reno": far("reno", RATE),
        "trip": far("reno", "flow1.rtt_median_ms"),
        "window": far("reno", "flow1.cwnd_median_segments"),
    }
    numbers = calculated(DERIVED, numbers, variables)
    return Key(
        numbers=numbers,
        choices={"what_limits": {"growth"}, **change_effect(runs, "far", _factor)},
        mistakes={
            "near_cubic": rate_mistakes(near, "cubic", variables["near.bw"]),
            "far_cubic": {
                "other_condition": numbers["far_reno"],
                "other_run": near("cubic", RATE),
                **rate_mistakes(far, "cubic", variables["far.bw"]),
            },
            "far_reno": {
                "other_condition": numbers["far_cubic"],
                **rate_mistakes(far, "reno", variables["far.bw"]),
            },
            "factor": {"upside_down": 1 / numbers["factor"]},
            "window": {"other_condition": far("cubic", "flow1.cwnd_median_segments")},
        },
        frames={"cut_line": far.frames("reno/right.sockets", "cut")},
        measured={"change": {}} if "changed" in runs else {},
    )


def _factor(run: MeasuredRun) -> float:
    return ratio(run("cubic", RATE), run("reno", RATE))


def lesson(runs: Runs) -> bool:
    """Equally fast on the short path, to a twentieth; CUBIC faster on the long one."""
    near, far = runs["near"], runs["far"]
    alike = 0.95 < near("cubic", RATE) / near("reno", RATE) < 1.05
    return alike and far("cubic", RATE) > far("reno", RATE)
