"""The key of the SACK lab: every answer from what the student's own run measured."""

from labs.definition.key import Key, Variables, change_effect, factor_of, rate_mistakes, ratio
from labs.measuring.measures import MeasuredRun, Runs

OFF, ON = "sack_off", "sack_on"


DERIVED = {"factor": factor_of("goodput_on", "goodput_off")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
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
    true = {
        "both_syns",
        *(["fewer_timeouts"] * (timeouts_on < timeouts_off)),
        *(["faster"] * (on > off)),
    }
    return Key(
        numbers={
            "goodput_off": off,
            "goodput_on": on,
            "factor": ratio(on, off),
            "resent_off": run(OFF, "nstat.TcpRetransSegs"),
            "resent_share_on": 100 * resent / sent,
            "timeouts_off": timeouts_off,
            "timeouts_on": timeouts_on,
            "silence_off": run(OFF, "pauses.total"),
        },
        choices={"where": {"sender"}, "blocks": true, **change_effect(runs, "sack", _factor)},
        frames={
            "agreed_frame": run.frames(f"{ON}/h2-eth0", "syn_ack"),
            "timeout_frame": run.frames(f"{OFF}/h1-eth0", "timeout"),
            "report_frame": run.frames(f"{ON}/h1-eth0", "with_blocks"),
        },
        wrong_frames={
            "agreed_frame": {"offer": run.frames(f"{ON}/h2-eth0", "syn")},
            "timeout_frame": {
                "fast": run.frames(f"{OFF}/h1-eth0", "fast"),
                "slow_start": run.frames(f"{OFF}/h1-eth0", "rto"),
                "first_copy": run.frames(f"{OFF}/h1-eth0", "first_copy"),
            },
        },
        measured={"change": {}} if "changed" in runs else {},
        mistakes={
            "goodput_off": {"other_condition": on, **rate_mistakes(run, OFF, variables["bw"])},
            "goodput_on": {"other_condition": off, **rate_mistakes(run, ON, variables["bw"])},
            "factor": {"upside_down": 1 / ratio(on, off), "increase": ratio(on, off) - 1},
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


def _factor(run: MeasuredRun) -> float:
    return ratio(run(ON, "server.rate"), run(OFF, "server.rate"))


def lesson(runs: Runs) -> bool:
    """At most half as many time-outs occur with SACK."""
    run = runs["sack"]
    return run(ON, "nstat.TcpExtTCPTimeouts") <= 0.5 * run(OFF, "nstat.TcpExtTCPTimeouts")
