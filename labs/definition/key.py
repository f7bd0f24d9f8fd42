"""What a lab's key gives: the answers of measured runs, and the values of known mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topologies.foundation.units import Quantity

Variables = Mapping[str, Quantity]
"""The student's parameters by name."""
Frames = Mapping[int, float]
"""Numbers of frames in a capture, with their times in seconds."""
FULL_PACKET = 1514
"""Bytes of a full packet on a link of Ethernet, without its checksum."""


def percent(share: Quantity) -> float:
    """A share in percent."""
    return share.base / 10**8


def full_packets(milliseconds: float, rate: Quantity) -> float:
    """How many full packets a link of that rate sends in that time."""
    return milliseconds / 1000 * rate.base / (8 * FULL_PACKET)


def ratio(value: float, other: float) -> float:
    """The larger over the smaller."""
    return max(value, other) / min(value, other)


def compared(after: float, before: float, larger: str, same: str, smaller: str) -> str:
    """Which of the three words is right, within a twentieth."""
    return larger if after > 1.05 * before else smaller if after < 0.95 * before else same


def first(frames: Frames) -> Frames:
    """The first of them alone: of what is frequent, a guess would often be right."""
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
