"""The key of the lab about congestion control: CUBIC and Reno, near and far."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables
from labs.measuring.lab_measures import Runs

RATE = "flow1.goodput_kbit_s"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """CUBIC's rate over Reno's."""
    return answers["far_cubic"] / answers["far_reno"]


DERIVED = {"factor": factor}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    near, far = runs["near"], runs["far"]
    cubic, reno = far("cubic", RATE), far("reno", RATE)
    return Key(
        numbers={
            "near_cubic": near("cubic", RATE),
            "far_cubic": cubic,
            "far_reno": reno,
            "factor": cubic / reno,
            "trip": far("reno", "flow1.rtt_median_ms"),
            "window": far("reno", "flow1.cwnd_median_segments"),
        },
        choices={"what_limits": {"growth"}},
        mistakes={
            "far_cubic": {"other_condition": reno, "other_run": near("cubic", RATE)},
            "far_reno": {"other_condition": cubic},
            "factor": {"upside_down": reno / cubic},
            "window": {"other_condition": far("cubic", "flow1.cwnd_median_segments")},
        },
    )


def lesson(runs: Runs) -> bool:
    """Equally fast on the short path, to a twentieth; CUBIC faster on the long one."""
    near, far = runs["near"], runs["far"]
    alike = 0.95 < near("cubic", RATE) / near("reno", RATE) < 1.05
    return alike and far("cubic", RATE) > far("reno", RATE)
