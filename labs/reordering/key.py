"""The key of the lab about reordering: rates and needless retransmissions."""

from labs.definition.key import (
    Frames,
    Key,
    Variables,
    change_effect,
    factor_of,
    rate_mistakes,
    ratio,
)
from labs.measuring.measures import Runs

CUBIC, RATE, RESENT = "cubic", "flow1.goodput_kbit_s", "nstat.TcpRetransSegs"


DERIVED = {"factor": factor_of("steady_rate", "varied_rate")}


def lost(runs: Runs) -> float:
    """Packets of run `varied` that the router lost or dropped on their way to the receiver."""
    varied = runs["varied"]
    return varied(CUBIC, "path.lost") + varied(CUBIC, "path.dropped")


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    steady, varied = runs["steady"](CUBIC, RATE), runs["varied"](CUBIC, RATE)
    counting, patient = runs["counting"](CUBIC, RATE), runs["patient"](CUBIC, RATE)
    resent = runs["varied"](CUBIC, RESENT)
    duplicates, blocks = (
        runs["varied"].frames(f"{CUBIC}/right-eth0", event) for event in ("dsack", "with_blocks")
    )
    return Key(
        numbers={
            "steady_rate": steady,
            "varied_rate": varied,
            "factor": ratio(steady, varied),
            "lost": lost(runs),
            "resent": resent,
            "patient_factor": ratio(patient, counting),
        },
        choices={
            "needless": {"copies" if lost(runs) < resent / 10 else "repairs"},
            "which_counter": {"pair"},
            **change_effect(runs, "varied", lambda run: run(CUBIC, RATE)),
        },
        mistakes={
            "steady_rate": rate_mistakes(runs["steady"], CUBIC, variables["steady.bw"]),
            "varied_rate": {
                "other_run": steady,
                **rate_mistakes(runs["varied"], CUBIC, variables["varied.bw"]),
            },
            "factor": {"upside_down": 1 / ratio(steady, varied)},
            "patient_factor": {"upside_down": 1 / ratio(patient, counting)},
        },
        frames={"copy_frame": duplicates},
        wrong_frames={"copy_frame": {"blocks": _others(blocks, duplicates)}},
        measured={"change": {}} if "changed" in runs else {},
    )


def _others(frames: Frames, without: Frames) -> dict[int, float]:
    return {number: time for number, time in frames.items() if number not in without}


def lesson(runs: Runs) -> bool:
    """Packets overtook each other, no packet was lost, and the sender still slowed down."""
    varied, steady = runs["varied"], runs["steady"]
    reordered = varied(CUBIC, "run.reorderings") > 0
    needless = lost(runs) == 0 < varied(CUBIC, RESENT)
    return reordered and needless and varied(CUBIC, RATE) < steady(CUBIC, RATE)
