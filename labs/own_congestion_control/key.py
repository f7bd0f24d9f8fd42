"""The key of the lab about the student's congestion control: the module compared with Reno."""

from labs.definition.key import (
    Key,
    Variables,
    compared,
    factor_of,
    first,
    rate_mistakes,
    ratio,
)
from labs.measuring.measures import Runs
from topologies.units import Rate

RENO, MINE, RATE, WINDOW = "reno", "mine", "flow1.goodput_kbit_s", "flow1.cwnd_median_segments"
RESENT = "nstat.TcpRetransSegs"
LINK = Rate.parse("100mbit")
"""The experiment's link in run `lossy`, which the lab does not vary."""


DERIVED = {"factor": factor_of("mine", "reno")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    run, crowd = runs["lossy"], runs["crowd"]
    reno, mine = run(RENO, RATE), run(MINE, RATE)
    resent_reno, resent_mine = crowd(RENO, RESENT), crowd(MINE, RESENT)
    return Key(
        numbers={
            "reno": reno,
            "mine": mine,
            "factor": ratio(mine, reno),
            "window": run(MINE, WINDOW),
            "resent_reno": resent_reno,
            "resent_mine": resent_mine,
        },
        choices={"crowd_effect": {compared(resent_mine, resent_reno, "more", "same", "fewer")}},
        mistakes={
            "reno": {"other_condition": mine, **rate_mistakes(run, RENO, LINK)},
            "mine": {"other_condition": reno, **rate_mistakes(run, MINE, LINK)},
            "factor": {"upside_down": 1 / ratio(mine, reno)},
            "window": {"other_condition": run(RENO, WINDOW)},
            "resent_reno": {"other_condition": resent_mine},
            "resent_mine": {"other_condition": resent_reno},
        },
        frames={"cut_line": first(run.frames(f"{RENO}/right.sockets", "cut"))},
    )


def lesson(runs: Runs) -> bool:
    """More arrives with the package's own bolder Reno, which gives up less after a loss."""
    run = runs["lossy"]
    return run(MINE, RATE) > run(RENO, RATE)
