"""What a lab's key gives: the answers of measured runs, and the values of known mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topologies.units import Quantity

Variables = Mapping[str, Quantity]
"""The student's parameters by name."""


def percent(share: Quantity) -> float:
    """A share in percent."""
    return share.base / 10**8


@dataclass(frozen=True)
class Key:
    """The right answers, by question.

    `numbers` are in the unit of their question, `choices` are the ids of right options, and
    `mistakes` are the values that known mistakes lead to, by their ids.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, set[str]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
