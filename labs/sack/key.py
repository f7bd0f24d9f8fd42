"""The key of the SACK lab: every answer from what the student's own run measured."""

from __future__ import annotations

from collections.abc import Mapping

from labs.definition.answer_key import Key, Variables
from labs.measuring.lab_measures import Runs

OFF, ON = "sack_off", "sack_on"


def factor(answers: Mapping[str, float], _: Variables) -> float:
    """Goodput with SACK over goodput without."""
    return answers["goodput_on"] / answers["goodput_off"]


DERIVED = {"factor": factor}


def key(runs: Runs, variables: Variables) -> Key:
    """The values, and what known mistakes lead to."""
    run = runs["sack"]
    off, on = run(OFF, "server.rate"), run(ON, "server.rate")
    resent, sent, unique = (
        run(ON, f"sender.{name}")
        for name in ("rexmt_data_bytes", "actual_data_bytes", "unique_bytes_sent")
    )
    at_receiver = 100 * run(ON, "receiver.rexmt_data_bytes") / run(ON, "receiver.actual_data_bytes")
    timeouts_off, timeouts_on = (
        run(OFF, "nstat.TcpExtTCPTimeouts"),
        run(ON, "nstat.TcpExtTCPTimeouts"),
    )
    link = variables["bw"].base / 1000  # kbit/s
    true = {
        "both_syns",
        *(["fewer_timeouts"] * (timeouts_on < timeouts_off)),
        *(["faster"] * (on > off)),
    }
    return Key(
        numbers={
            "goodput_off": off,
            "goodput_on": on,
            "factor": on / off,
            "resent_off": run(OFF, "nstat.TcpRetransSegs"),
            "resent_share_on": 100 * resent / sent,
            "timeouts_off": timeouts_off,
            "timeouts_on": timeouts_on,
            "silence_off": run(OFF, "pauses.total"),
        },
        choices={"where": {"sender"}, "blocks": true},
        mistakes={
            "goodput_off": {"other_condition": on, "link": link},
            "goodput_on": {"other_condition": off, "link": link},
            "factor": {"upside_down": off / on, "increase": on / off - 1},
            "resent_off": {
                "at_receiver": run(OFF, "receiver.rexmt_data_pkts"),
                "other_condition": run(ON, "nstat.TcpRetransSegs"),
            },
            "resent_share_on": {"of_unique": 100 * resent / unique, "at_receiver": at_receiver},
            "timeouts_off": {"other_condition": timeouts_on, "pauses": run(OFF, "pauses.count")},
            "timeouts_on": {"other_condition": timeouts_off},
            "silence_off": {"longest": run(OFF, "pauses.longest")},
        },
    )


def lesson(runs: Runs) -> bool:
    """Whether the runs show the lab's claim: at most half as many time-outs with SACK."""
    run = runs["sack"]
    return run(ON, "nstat.TcpExtTCPTimeouts") <= 0.5 * run(OFF, "nstat.TcpExtTCPTimeouts")
