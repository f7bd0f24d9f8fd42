"""The key of the lab about retransmission: rates and counters of the loss sweep."""

from labs.definition.key import (
    Key,
    Variables,
    change_effect,
    factor_of,
    first,
    percent,
    rate_mistakes,
    ratio,
)
from labs.measuring.measures import MeasuredRun, Runs

OFF, ON = "sack_off", "sack_on"
RESENT, OF_ALL = "run.resent_of_new_percent", "run.resent_percent"


DERIVED = {"factor": factor_of("rate_on", "rate_off")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    some, rare = runs["some"], runs["rare"]
    on, off = some(ON, "flow1.goodput_kbit_s"), some(OFF, "flow1.goodput_kbit_s")
    resent_on, resent_off = some(ON, RESENT), some(OFF, RESENT)
    link = variables["bw"].base / 1000  # kbit/s
    true = {
        name
        for name, holds in (
            ("sack_helps", on > off),
            ("rare_harmless", rare(ON, "flow1.goodput_kbit_s") >= 0.9 * link),
            ("more_repeats_on", resent_on > resent_off),
        )
        if holds
    }
    return Key(
        numbers={
            "resent_rate": resent_off,
            "rate_on": on,
            "rate_off": off,
            "factor": ratio(on, off),
            "rare_off": rare(OFF, "flow1.goodput_kbit_s"),
            "slowest": some(ON, "flow1.slowest_second_kbit_s"),
        },
        choices={"compare": true, **change_effect(runs, "some", _factor)},
        frames={"cut_line": first(some.frames(f"{ON}/h1.sockets", "cut"))},
        measured={"change": {}} if "changed" in runs else {},
        mistakes={
            "resent_rate": {
                "with_sack": resent_on,
                "setting": percent(variables["loss"]),
                "of_all": some(OFF, OF_ALL),
            },
            "rate_on": {"other_condition": off, **rate_mistakes(some, ON, variables["bw"])},
            "rate_off": {"other_condition": on, **rate_mistakes(some, OFF, variables["bw"])},
            "rare_off": rate_mistakes(rare, OFF, variables["bw"]),
            "factor": {"upside_down": 1 / ratio(on, off)},
            "slowest": {"average": some(ON, "flow1.client_kbit_s")},
        },
    )


def _factor(run: MeasuredRun) -> float:
    return ratio(run(ON, "flow1.goodput_kbit_s"), run(OFF, "flow1.goodput_kbit_s"))


def lesson(runs: Runs) -> bool:
    """More arrives with SACK at the higher loss, with a smaller share of retransmissions."""
    some = runs["some"]
    faster = some(ON, "flow1.goodput_kbit_s") > some(OFF, "flow1.goodput_kbit_s")
    return faster and some(ON, RESENT) < some(OFF, RESENT)
