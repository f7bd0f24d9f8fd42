"""The key of the lab about a congestion control of one's own: the student's module beside Reno."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables
from labs.measuring.lab_measures import Runs

RENO, MINE, RATE, WINDOW = "reno", "mine", "flow1.goodput_kbit_s", "flow1.cwnd_median_segments"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """The module's rate over Reno's."""
    return answers["mine"] / answers["reno"]


DERIVED = {"factor": factor}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    run = runs["lossy"]
    reno, mine = run(RENO, RATE), run(MINE, RATE)
    return Key(
        numbers={"reno": reno, "mine": mine, "factor": mine / reno, "window": run(MINE, WINDOW)},
        mistakes={
            "reno": {"other_condition": mine},
            "mine": {"other_condition": reno},
            "factor": {"upside_down": reno / mine},
            "window": {"other_condition": run(RENO, WINDOW)},
        },
    )


def lesson(runs: Runs) -> bool:
    """More arrives with the package's own bolder Reno, which gives up less after a loss."""
    run = runs["lossy"]
    return run(MINE, RATE) > run(RENO, RATE)
