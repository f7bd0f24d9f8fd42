"""The key of the congestion contest: the rates of a fixed window and of CUBIC next to it."""

from labs.definition.key import Key, Variables, factor_of, rate_mistakes, ratio
from labs.measuring.measures import Runs

CONDITION, RATE, BESIDE = "own", "flow1.goodput_kbit_s", "beside.goodput_kbit_s"
DERIVED = {"factor": factor_of("cubic_rate", "simple_rate")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    simple, cubic = (runs["simple"](CONDITION, name) for name in (RATE, BESIDE))
    return Key(
        numbers={"simple_rate": simple, "cubic_rate": cubic, "factor": ratio(cubic, simple)},
        mistakes={
            "simple_rate": {
                "other_flow": cubic,
                **rate_mistakes(runs["simple"], CONDITION, variables["bw"]),
            },
            "cubic_rate": {
                "own_flow": simple,
                **rate_mistakes(runs["simple"], CONDITION, variables["bw"], "beside"),
            },
            "factor": {"upside_down": min(cubic, simple) / max(cubic, simple)},
        },
    )


def lesson(runs: Runs) -> bool:
    """A window of two packets has less than a fifth of what CUBIC has next to it."""
    simple = runs["simple"]
    return simple(CONDITION, RATE) < simple(CONDITION, BESIDE) / 5
