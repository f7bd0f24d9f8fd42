"""The key of the lab about fairness: each flow's rate with one queue and with a fair one."""

from statistics import median

from analysis.measures.selection import jain
from labs.definition.key import Key, Variables, calculated, factor_of, rate_mistakes
from labs.measuring.measures import MeasuredRun, Runs
from topologies.units import Rate

TOGETHER, UDP = "together", "udp.goodput_kbit_s"
_TCP = tuple(f"tcp{number}.goodput_kbit_s" for number in (1, 2, 3))
"""Three, since sfq may by chance put two flows into one queue, and each of them has half then."""
_LINK = Rate.parse("100mbit")
"""The experiment's link, which the lab does not vary."""


DERIVED = {"factor": factor_of("udp_fair", "udp_fifo")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    fifo, fair = runs["fifo"], runs["fair"]
    rates = {"udp_fifo": fifo(TOGETHER, UDP), "udp_fair": fair(TOGETHER, UDP)}
    rates = calculated(DERIVED, rates, variables)
    return Key(
        numbers={
            **rates,
            "lost_fair": fair(TOGETHER, "udp.udp_lost_percent"),
            "jain_fifo": _index(fifo),
            "jain_fair": _index(fair),
        },
        choices={"who": {"router"}, "proof": {"client_queue"}},
        mistakes={
            "udp_fifo": rate_mistakes(fifo, TOGETHER, _LINK, "udp"),
            "udp_fair": {
                "other_run": fifo(TOGETHER, UDP),
                **rate_mistakes(fair, TOGETHER, _LINK, "udp"),
            },
            "factor": {"upside_down": 1 / rates["factor"]},
            "lost_fair": {"other_run": fifo(TOGETHER, "udp.udp_lost_percent")},
            "jain_fifo": {"other_run": _index(fair)},
        },
        measured={"queue": _bounds(runs["yours"])} if "yours" in runs else {},
    )


def _index(run: MeasuredRun) -> float:
    """Jain's index of all flows, UDP's too: who shares the link is this lab's question."""
    return jain(run.rates(TOGETHER))


def _bounds(run: MeasuredRun) -> dict[str, float]:
    return {
        "jain": _index(run),
        "rate": 100_000 * sum(run.rates(TOGETHER)) / _LINK.base,
        "trip": run(TOGETHER, "tcp1.rtt_p95_ms"),
    }


def lesson(runs: Runs) -> bool:
    """UDP loses almost no packets in one queue; in the fair one it gets what a TCP flow gets."""
    fifo, fair = runs["fifo"], runs["fair"]
    kept = fifo(TOGETHER, "udp.udp_lost_percent") < 5
    tcp = median(fair(TOGETHER, rate) for rate in _TCP)
    shared = 0.9 < fair(TOGETHER, UDP) / tcp < 1.1
    return kept and shared and fair(TOGETHER, UDP) < fifo(TOGETHER, UDP)
