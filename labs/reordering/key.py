"""The key of the lab about reordering: rates and needless retransmissions."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables
from labs.measuring.lab_measures import Runs

CUBIC, RATE, RESENT = "cubic", "flow1.goodput_kbit_s", "nstat.TcpRetransSegs"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """The rate with steady delay over the rate with varying delay."""
    return answers["steady_rate"] / answers["varied_rate"]


DERIVED = {"factor": factor}


def lost(runs: Runs) -> float:
    """Packets of run `varied` that the router lost or dropped on their way to the receiver."""
    varied = runs["varied"]
    return varied(CUBIC, "path.lost") + varied(CUBIC, "path.dropped")


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    steady, varied = runs["steady"](CUBIC, RATE), runs["varied"](CUBIC, RATE)
    counting, patient = runs["counting"](CUBIC, RATE), runs["patient"](CUBIC, RATE)
    resent = runs["varied"](CUBIC, RESENT)
    return Key(
        numbers={
            "steady_rate": steady,
            "varied_rate": varied,
            "factor": steady / varied,
            "lost": lost(runs),
            "resent": resent,
            "patient_factor": patient / counting,
        },
        choices={"needless": {"copies" if lost(runs) < resent / 10 else "repairs"}},
        mistakes={
            "varied_rate": {"other_run": steady},
            "factor": {"upside_down": varied / steady},
            "patient_factor": {"upside_down": counting / patient},
        },
    )


def lesson(runs: Runs) -> bool:
    """Packets overtook each other, nothing was lost, and the sender still slowed down."""
    varied, steady = runs["varied"], runs["steady"]
    reordered = varied(CUBIC, "run.reorderings") > 0
    needless = lost(runs) == 0 < varied(CUBIC, RESENT)
    return reordered and needless and varied(CUBIC, RATE) < steady(CUBIC, RATE)
