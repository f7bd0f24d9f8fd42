"""The key of a lab: answers of measured runs, and the values of known mistakes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from topologies.units import Quantity

Variables = Mapping[str, Quantity]
"""The student's parameters by name."""
Numbers = Mapping[str, float]
"""Answers to questions, in their units, by id."""
Derived = Callable[[Numbers, Variables], float]
"""Calculates a number from the answers to other questions."""
Frames = Mapping[int, float]
"""Numbers of frames in a capture, with their times in seconds."""


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
