"""Whether a published number and ours agree: from the numbers alone.

A published number is one draw, or the mean of a few, from something that varies; so are ours.
Three questions differ: could the published number be our median (`AGREES`), could it be a single
run of ours (`WITHIN`), or neither (`DIFFERS`)? No verdict says *equal*: few or scattered runs
agree with much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite
from statistics import median
from typing import Literal

from analysis.statistics.metric_wording import signed
from analysis.statistics.paired_tests import MedianInterval, median_interval

Word = Literal["agrees", "within our runs' range", "differs", "not run", "not stated"]
AGREES: Word = "agrees"
WITHIN: Word = "within our runs' range"
DIFFERS: Word = "differs"
UNRUN: Word = "not run"
UNSTATED: Word = "not stated"
ORDER: tuple[Word, ...] = (AGREES, WITHIN, DIFFERS, UNRUN, UNSTATED)
"""From the best, which counts for a row that was run in two ways."""

TOLERANCE = 0.02
"""Share of a published rate or time by which machines differ without a difference of TCP.

It is what counts as payload or header, when a program's clock starts and stops, and that iperf
prints three digits.
"""

_RATE_OR_TIME = re.compile(r".*(bit|byte|b)/s|[mun\N{MICRO SIGN}]?s|min|h", re.IGNORECASE)
_ROUNDING = 1e-9
"""Share of an end by which two floating-point numbers may miss each other and still be the same."""


@dataclass(frozen=True)
class ValueSpan:
    """All from `low` to `high`, in the unit of the row."""

    low: float
    high: float

    def meets(self, other: ValueSpan) -> bool:
        """Whether the two have a value in common."""
        return _reaches(self.high, other.low) and _reaches(other.high, self.low)


@dataclass(frozen=True)
class Ours:
    """What our seeds gave: their median, the least to the greatest, and the interval, if any."""

    median: float
    runs: ValueSpan
    interval: MedianInterval | None
    count: int


@dataclass(frozen=True)
class Agreement:
    """The word, and for `DIFFERS` how far ours is away.

    `factor` is the greater divided by the smaller; it is None where one of both is not above
    zero, and `difference` (ours - published, in the unit of the row) says it.
    """

    word: Word
    factor: float | None = None
    difference: float = 0.0

    def text(self, unit: str) -> str:
        """The verdict for the reader, such as "differs by a factor of 1.8 (ours is lower)"."""
        if self.word != DIFFERS:
            return self.word
        side = "higher" if self.difference > 0 else "lower"
        how_far = (
            f"{signed(abs(self.difference))} {unit}".strip()
            if self.factor is None
            else self._factor()
        )
        return f"differs by {how_far} (ours is {side})"

    def _factor(self) -> str:
        factor = self.factor or 1.0
        if factor >= 10:
            return f"a factor of {signed(round(factor))}"
        return f"a factor of {factor:.1f}" if factor >= 1.095 else f"{100 * (factor - 1):.1g} %"


def _reaches(high: float, low: float) -> bool:
    return high + _ROUNDING * abs(high) >= low


def summarize(values: Sequence[float]) -> Ours | None:
    """What one value per seed says; None where there is none."""
    if not values:
        return None
    return Ours(
        float(median(values)),
        ValueSpan(min(values), max(values)),
        median_interval(values),
        len(values),
    )


def published_span(
    printed: str, unit: str, low: float | None = None, high: float | None = None
) -> ValueSpan:
    """What a published number stands for: itself as printed, and its repetitions.

    A rate or time stands for at least 2 %.

    `printed` is the number with its digits: 9.4 stands for 9.35 to 9.45. `low` and `high` are
    the least and the greatest of the published repetitions, not of moments of one run.
    """
    value = float(printed)
    around = max(
        _half_a_digit(printed),
        TOLERANCE * abs(value) if _RATE_OR_TIME.fullmatch(unit.strip()) else 0.0,
    )
    ends = [end for end in (low, high) if end is not None]
    return ValueSpan(min(value - around, *ends, inf), max(value + around, *ends, -inf))


def _half_a_digit(printed: str) -> float:
    """Half a unit of the last printed digit; zeros before the decimal point count as measured."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5 * 10.0 ** min(exponent, 0) if isinstance(exponent, int) else 0.0


def judge(published: float | None, span: ValueSpan | None, ours: Ours | None) -> Agreement:
    """The verdict for `published`, which stands for `span`, against our runs; None for no number.

    AGREES: the 95 % interval of our median meets `span`; below six runs there is no interval,
    and the median itself must lie in it. WITHIN: all from our least to our greatest run meets
    `span`. A further run of ours lies there with probability (n - 1) / (n + 1), whatever its
    distribution: n runs and it are equally likely to come in any order.
    """
    if published is None or span is None:
        return Agreement(UNSTATED)
    if ours is None:
        return Agreement(UNRUN)
    middle = (
        ValueSpan(ours.interval.low, ours.interval.high)
        if ours.interval
        else ValueSpan(ours.median, ours.median)
    )
    if middle.meets(span):
        return Agreement(AGREES)
    return Agreement(WITHIN) if ours.runs.meets(span) else _apart(published, ours.median)


def _apart(published: float, ours: float) -> Agreement:
    low, high = sorted((published, ours))
    is_ratio = low > 0 and isfinite(high / low)
    return Agreement(DIFFERS, high / low if is_ratio else None, ours - published)


def best(verdicts: Sequence[Agreement]) -> Agreement:
    """The best of a row's verdicts, the nearest where all differ."""
    return min(
        verdicts, key=lambda one: (ORDER.index(one.word), one.factor or inf, abs(one.difference))
    )
