"""The key of the lab about a transport of one's own: its rate next to that of stop-and-wait."""

from labs.definition.key import Key, Variables, factor_of, rate_mistakes, ratio
from labs.measuring.measures import Runs

CONDITION, RATE = "own", "flow1.goodput_kbit_s"
DERIVED = {"factor": factor_of("own_rate", "simple_rate")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    simple, own = (runs[name](CONDITION, RATE) for name in ("simple", "own"))
    return Key(
        numbers={"simple_rate": simple, "own_rate": own, "factor": ratio(own, simple)},
        mistakes={
            "simple_rate": rate_mistakes(runs["simple"], CONDITION, variables["bw"]),
            "own_rate": {
                "other_run": simple,
                **rate_mistakes(runs["own"], CONDITION, variables["bw"]),
            },
            "factor": {"upside_down": min(own, simple) / max(own, simple)},
        },
    )


def lesson(runs: Runs) -> bool:
    """Stop-and-wait uses less than a tenth of the slowest link."""
    return runs["simple"](CONDITION, RATE) < 400
