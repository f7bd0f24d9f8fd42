"""The key of the lab about retransmission: rates and counters of the loss sweep."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables, percent
from labs.measuring.lab_measures import Runs

OFF, ON = "sack_off", "sack_on"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """The rate with SACK over the rate without."""
    return answers["rate_on"] / answers["rate_off"]


DERIVED = {"factor": factor}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    some, rare = runs["some"], runs["rare"]
    on, off = some(ON, "flow1.goodput_kbit_s"), some(OFF, "flow1.goodput_kbit_s")
    resent_on, resent_off = some(ON, "run.resent_percent"), some(OFF, "run.resent_percent")
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
            "resent_rate": resent_on,
            "rate_on": on,
            "rate_off": off,
            "factor": on / off,
            "rare_off": rare(OFF, "flow1.goodput_kbit_s"),
            "slowest": some(ON, "flow1.slowest_second_kbit_s"),
        },
        choices={"compare": true},
        mistakes={
            "resent_rate": {"without_sack": resent_off, "setting": percent(variables["loss"])},
            "rate_on": {"other_condition": off},
            "rate_off": {"other_condition": on},
            "factor": {"upside_down": off / on},
            "slowest": {"average": some(ON, "flow1.client_kbit_s")},
        },
    )


def lesson(runs: Runs) -> bool:
    """More arrives with SACK at the higher loss, with a smaller share of retransmissions."""
    some = runs["some"]
    faster = some(ON, "flow1.goodput_kbit_s") > some(OFF, "flow1.goodput_kbit_s")
    return faster and some(ON, "run.resent_percent") < some(OFF, "run.resent_percent")
