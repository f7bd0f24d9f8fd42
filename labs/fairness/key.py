"""The key of the lab about fairness: each flow's rate with one queue and with a fair one."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables
from labs.measuring.lab_measures import Runs

TOGETHER, UDP, TCP = "together", "udp.goodput_kbit_s", "tcp1.goodput_kbit_s"


def kept(answers: Mapping[str, float], _: Variables) -> float:
    """Percent of its rate that the UDP flow kept."""
    return 100 * answers["udp_fair"] / answers["udp_fifo"]


DERIVED = {"kept": kept}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    fifo, fair = runs["fifo"], runs["fair"]
    return Key(
        numbers={
            "udp_fifo": fifo(TOGETHER, UDP),
            "udp_fair": fair(TOGETHER, UDP),
            "kept": 100 * fair(TOGETHER, UDP) / fifo(TOGETHER, UDP),
            "lost_fair": fair(TOGETHER, "udp.udp_lost_percent"),
            "jain_fifo": fifo(TOGETHER, "run.jain_index"),
            "jain_fair": fair(TOGETHER, "run.jain_index"),
        },
        choices={"who": {"router"}},
        mistakes={
            "udp_fair": {"other_run": fifo(TOGETHER, UDP)},
            "lost_fair": {"other_run": fifo(TOGETHER, "udp.udp_lost_percent")},
            "jain_fifo": {"other_run": fair(TOGETHER, "run.jain_index")},
        },
    )


def lesson(runs: Runs) -> bool:
    """UDP loses next to nothing in one queue; in the fair one it gets what a TCP flow gets."""
    fifo, fair = runs["fifo"], runs["fair"]
    kept = fifo(TOGETHER, "udp.udp_lost_percent") < 5
    shared = 0.9 < fair(TOGETHER, UDP) / fair(TOGETHER, TCP) < 1.1
    return kept and shared and fair(TOGETHER, UDP) < fifo(TOGETHER, UDP)
