"""What a lab's key gives: the answers that follow from measured runs, and the values to which known
mistakes lead.
"""

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
    """Numbers in the unit of their question, the ids of right options, and wrong values by question
    and mistake.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, set[str]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
