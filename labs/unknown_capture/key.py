"""The key of the lab about an unknown capture: the faults that were drawn, and their frames."""

from labs.definition.key import Key, Numbers, Variables, compared, rate_mistakes
from labs.measuring.measures import Runs

CUBIC, RATE, CAPTURE = "cubic", "flow1.goodput_kbit_s", "cubic/right-eth0"
_PLAIN_WINDOW = 65_535
"""Bytes that a receiver can offer without window scaling (RFC 7323, section 2.1)."""


def window_most(answers: Numbers, _: Variables) -> float:
    """kbit/s that the largest window without scaling allows in a round trip of that many ms."""
    return 8 * _PLAIN_WINDOW / answers["trip"]


DERIVED = {"window_most": window_most}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    run = runs["unknown"]
    syn, answer = (run.frames(CAPTURE, event) for event in ("syn", "syn_ack"))
    drawn = {name.partition("_fault.")[2] for name in variables if "_fault." in name}
    choices = {"faults": {name.removeprefix("net.ipv4.tcp_") for name in drawn}}
    if "repaired" in runs:
        effect = compared(runs["repaired"](CUBIC, RATE), run(CUBIC, RATE), *_EFFECTS)
        choices["repair_effect"] = {effect}
    trip = 1000 * (min(answer.values()) - min(syn.values()))
    most = window_most({"trip": trip}, variables)
    return Key(
        numbers={"trip": trip, "rate": run(CUBIC, RATE), "window_most": most},
        choices=choices,
        mistakes={"rate": rate_mistakes(run, CUBIC, variables["unknown.bw"])},
        frames={"host_frame": syn, "path_frame": run.frames(CAPTURE, "resent")},
        wrong_frames={
            "host_frame": {"answer": answer},
            "path_frame": {"first_copy": run.frames(CAPTURE, "first_copy")},
        },
        measured={"repair": {}} if "repaired" in runs else {},
    )


_EFFECTS = ("larger", "same", "smaller")


def lesson(runs: Runs) -> bool:
    """The connection was opened, and something was sent again: every fault of the path shows."""
    run = runs["unknown"]
    return bool(run.frames(CAPTURE, "syn_ack")) and bool(run.frames(CAPTURE, "resent"))
