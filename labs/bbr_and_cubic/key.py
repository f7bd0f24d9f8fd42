"""The key of the lab about BBR next to CUBIC: who gets how much of three queues."""

from labs.definition.key import (
    Key,
    Numbers,
    Variables,
    calculated,
    change_effect,
    factor_of,
    first,
    full_packets,
    rate_mistakes,
)
from labs.measuring.measures import MeasuredRun, Runs

CONDITION = "cubic"
CUBIC, BBR = "flow1.goodput_kbit_s", "beside.goodput_kbit_s"
TRIP = "flow1.rtt_median_ms"


def waiting(answers: Numbers, variables: Variables) -> float:
    """Full packets that the link sends in the time that a packet waits; the delay is one way."""
    wait = answers["trip"] - variables["delay"].base / 1e6
    return full_packets(wait, variables["bw"])


def product(answers: Numbers, variables: Variables) -> float:
    """Return the deep queue in bandwidth-delay products."""
    return variables["deep.queue"].base / answers["fits"]


DERIVED = {
    "factor": factor_of("shallow_cubic", "shallow_bbr"),
    "deep_factor": factor_of("deep_cubic", "deep_bbr"),
    "waiting": waiting,
    "product": product,
}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    shallow, middle, deep = runs["shallow"], runs["middle"], runs["deep"]
    numbers = {
        "fits": full_packets(variables["delay"].base / 1e6, variables["bw"]),
        "shallow_cubic": shallow(CONDITION, CUBIC),
        "shallow_bbr": shallow(CONDITION, BBR),
        "middle_share": bbr_share(middle),
        "deep_cubic": deep(CONDITION, CUBIC),
        "deep_bbr": deep(CONDITION, BBR),
        "trip": deep(CONDITION, TRIP),
    }
    numbers = calculated(DERIVED, numbers, variables)
    return Key(
        numbers=numbers,
        choices={
            "crossing": {_crossing(runs)},
            "sign": {"rate"},
            **change_effect(runs, "deep", bbr_share),
        },
        mistakes={
            "fits": {"there_and_back": 2 * numbers["fits"]},
            **_exchanged(shallow, "shallow", variables),
            **_exchanged(deep, "deep", variables),
            "factor": {"upside_down": 1 / numbers["factor"]},
            "middle_share": {"of_cubic": 100 - numbers["middle_share"]},
            "deep_factor": {"upside_down": 1 / numbers["deep_factor"]},
            "waiting": {"whole": full_packets(numbers["trip"], variables["bw"])},
        },
        frames={"cut_line": first(middle.frames(f"{CONDITION}/right.sockets", "cut"))},
        measured={"change": {}} if "changed" in runs else {},
    )


def _exchanged(run: MeasuredRun, name: str, variables: Variables) -> dict[str, dict[str, float]]:
    cubic, bbr = (
        rate_mistakes(run, CONDITION, variables["bw"], flow) for flow in ("flow1", "beside")
    )
    return {
        f"{name}_cubic": {"other_flow": run(CONDITION, BBR), **cubic},
        f"{name}_bbr": {"other_flow": run(CONDITION, CUBIC), **bbr},
    }


def bbr_share(run: MeasuredRun) -> float:
    """Percent that BBR has of what arrived of both."""
    cubic, bbr = run(CONDITION, CUBIC), run(CONDITION, BBR)
    return 100 * bbr / (cubic + bbr)


def _crossing(runs: Runs) -> str:
    """Find between which two of the three queues CUBIC begins to have more than BBR."""
    if bbr_share(runs["shallow"]) < 50:
        return "before"
    if bbr_share(runs["middle"]) < 50:
        return "first"
    return "second" if bbr_share(runs["deep"]) < 50 else "never"


def lesson(runs: Runs) -> bool:
    """BBR has two thirds or more at the shallow queue, and less than half at the deep one."""
    return bbr_share(runs["shallow"]) > 200 / 3 and bbr_share(runs["deep"]) < 50
