"""The key of the lab about reordering: rates and needless retransmissions."""

from __future__ import annotations

from collections.abc import Mapping

from labs.key import Key, Variables
from labs.measuring import Runs

CUBIC, RATE = "cubic", "flow1.goodput_kbit_s"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """The rate with steady delay over the rate with varying delay."""
    return answers["steady_rate"] / answers["varied_rate"]


DERIVED = {"factor": factor}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and where known mistakes lead."""
    steady, varied = runs["steady"](CUBIC, RATE), runs["varied"](CUBIC, RATE)
    counting, patient = runs["counting"](CUBIC, RATE), runs["patient"](CUBIC, RATE)
    lost = runs["varied"](CUBIC, "path.lost") + runs["varied"](CUBIC, "path.dropped")
    return Key(
        numbers={
            "steady_rate": steady, "varied_rate": varied, "factor": steady / varied, "lost": lost,
            "resent": runs["varied"](CUBIC, "nstat.TcpRetransSegs"), "patient_factor": patient / counting,
        },
        choices={"needless": {"copies"}},
        mistakes={
            "varied_rate": {"other_run": steady}, "factor": {"upside_down": varied / steady},
            "patient_factor": {"upside_down": counting / patient},
        },
    )  # fmt: skip


def lesson(runs: Runs) -> bool:
    """Varying delay costs half of the rate at least, and what was sent again had hardly ever been lost."""
    varied = runs["varied"]
    lost = varied(CUBIC, "path.lost") + varied(CUBIC, "path.dropped")
    slow = varied(CUBIC, RATE) < runs["steady"](CUBIC, RATE) / 2
    return slow and lost < 0.1 * varied(CUBIC, "nstat.TcpRetransSegs")
