"""The key of a lab: answers of measured runs, and the values of known mistakes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from topologies.units import Quantity

Variables = Mapping[str, Quantity]
"""The student's parameters by name."""
Numbers = Mapping[str, float]
"""Answers to questions, in their units, by id."""
Derived = Callable[[Numbers, Variables], float]
"""Calculates a number from the answers to other questions."""
Run = TypeVar("Run")
Frames = Mapping[int, float]
"""Numbers of frames in a capture, with their times in seconds."""
FULL_PACKET = 1514
"""Bytes of a full packet on a link of Ethernet, without its checksum."""


def percent(share: Quantity) -> float:
    """Return a share in percent."""
    return share.base / 10**8


def full_packets(milliseconds: float, rate: Quantity) -> float:
    """Return the number of full packets that a link of that rate sends in that time."""
    return milliseconds / 1000 * rate.base / (8 * FULL_PACKET)


def packets_waiting(trip: str, run: str = "") -> Derived:
    """Return how the full packets are calculated that the link sends while a packet waits.

    `trip` is the answer with the round trip in ms; delay and rate are parameters of the `run`.
    """

    def calculate(answers: Numbers, variables: Variables) -> float:
        path = 2 * variables[f"{run}delay"].base / 1e6
        return full_packets(answers[trip] - path, variables[f"{run}bw"])

    return calculate


def ratio(value: float, other: float) -> float:
    """Return the larger over the smaller."""
    return max(value, other) / min(value, other)


def factor_of(one: str, other: str) -> Derived:
    """Return how a factor is calculated: of two answers the larger over the smaller."""
    return lambda answers, _: ratio(answers[one], answers[other])


def compared(after: float, before: float, larger: str, same: str, smaller: str) -> str:
    """Return the right one of three words, within a twentieth."""
    return larger if after > 1.05 * before else smaller if after < 0.95 * before else same


def rate_mistakes(
    run: Callable[[str, str], float], condition: str, link: Quantity, flow: str = "flow1"
) -> dict[str, float]:
    """Return in kbit/s what is read in place of a flow's rate.

    These are the rate of the link, and the amount next to the rate, whose MBytes (KBytes below one)
    are taken for Mbit/s.
    """
    amount = run(condition, f"{flow}.transfer_kbyte")
    shown = amount if amount < 1024 else amount / 1.024  # iperf's MBytes are 1024 KBytes
    return {"link": link.base / 1000, "transfer": shown}


def change_effect(
    runs: Mapping[str, Run], before: str, value: Callable[[Run], float]
) -> dict[str, set[str]]:
    """Return the effect of the student's change on a value; empty if the change was not run."""
    if "changed" not in runs:
        return {}
    after = value(runs["changed"])
    return {"change_effect": {compared(after, value(runs[before]), "larger", "same", "smaller")}}


def calculated(
    derived: Mapping[str, Derived], numbers: Numbers, variables: Variables
) -> dict[str, float]:
    """Return the numbers, and those that are calculated from them."""
    return {**numbers, **{name: each(numbers, variables) for name, each in derived.items()}}


def first(frames: Frames) -> Frames:
    """Return the first frame alone: among frequent ones, a guess would often be right."""
    return {number: frames[number] for number in sorted(frames)[:1]}


@dataclass(frozen=True)
class Key:
    """The right answers, by question.

    `numbers` are in the unit of their question, `choices` are the ids of right options, and
    `mistakes` are the values that known mistakes lead to, by their ids. `frames` are the frames of
    the question's capture that prove what is asked, with their times; `wrong_frames` are those that
    known mistakes lead to. `measured` are the values of a design's bounds in its run.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, set[str]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    frames: Mapping[str, Frames] = field(default_factory=dict)
    wrong_frames: Mapping[str, Mapping[str, Frames]] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
