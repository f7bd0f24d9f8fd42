"""What a check finds: what was asked, what was measured, and how well the two agree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class CheckOutcome(IntEnum):
    """How a check ended, the worse the greater."""

    GOOD = 0
    UNMEASURED = 1
    CARE = 2
    UNUSABLE = 3

    @property
    def word(self) -> str:
        """As manifests, pages and terminals have it."""
        return ("ok", "not measured", "with care", "not as asked")[self]


@dataclass(frozen=True)
class CheckFinding:
    """What one check of one place found.

    `kind` is the check and `place` what it was looked for at, such as a port under a condition.
    `excess` is how far the measured value is from the asked one, in tolerances; it orders findings
    with the same outcome. `sentence` says what it means for who uses the run's figures, if it is
    not good.
    """

    kind: str
    place: str
    asked: str
    measured: str
    outcome: CheckOutcome
    sentence: str = ""
    excess: float = 0.0


def unmeasured(kind: str, place: str, asked: str, why: str) -> CheckFinding:
    """A check that could not be made; `why` is a sentence's end, such as "it has no captures"."""
    return CheckFinding(kind, place, asked, "not measured", CheckOutcome.UNMEASURED, why)


def outcome_of(excess: float, far: float) -> CheckOutcome:
    """Good up to one tolerance, with care up to `far` tolerances, unusable beyond."""
    if excess <= 1:
        return CheckOutcome.GOOD
    return CheckOutcome.CARE if excess <= far else CheckOutcome.UNUSABLE


def percent(share: float) -> str:
    """A share of one, to three digits: 9.7 %."""
    return f"{100 * share:.3g} %"


def duration(nanoseconds: float) -> str:
    """A time as people write it, to three or four digits: 12.11 us, 80.59 ms, 2.5 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds:.0f} ns"
