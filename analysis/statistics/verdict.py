"""Whether a published number and ours agree: from the numbers alone.

A published number is one draw, or the mean of a few, from something that varies; so are ours.
Three questions differ: could the published number be our median (`AGREES`), could it be a further
run of ours (`WITHIN`), or neither (`DIFFERS`)? No verdict says *equal*: few or scattered runs
agree with much. Below six runs there is no verdict (`FEW`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from statistics import fmean, median
from typing import Literal

from analysis.statistics.metric_wording import signed
from analysis.statistics.paired_tests import FEWEST, median_interval
from analysis.statistics.prediction import ValueSpan, next_mean, next_run, true_mean

Word = Literal[
    "agrees", "lies within", "differs", "not judged", "not run", "not stated", "listed only"
]
AGREES: Word = "agrees"
WITHIN: Word = "lies within"
DIFFERS: Word = "differs"
FEW: Word = "not judged"
UNRUN: Word = "not run"
UNSTATED: Word = "not stated"
LISTED: Word = "listed only"

TOLERANCE = 0.02
"""Share of a published rate or time by which machines differ without a difference of TCP.

It is what counts as payload or header, when a program's clock starts and stops, and that iperf
prints three digits.
"""

_RATE_OR_TIME = re.compile(r".*(bit|byte|b)/s|[mun\N{MICRO SIGN}]?s|min|h", re.IGNORECASE)


@dataclass(frozen=True)
class Ours:
    """What our seeds gave, in the unit of the row.

    `center` is their median, or their mean if the published number is one; `middle` its 95 %
    interval and `further` where such a published number lies with 95 % if nothing differs: both
    None below six runs. `runs` goes from the least to the greatest.
    """

    center: float
    runs: ValueSpan
    middle: ValueSpan | None
    further: ValueSpan | None
    count: int


@dataclass(frozen=True)
class Agreement:
    """The word, for `DIFFERS` how far ours is away, and for `FEW` how many `runs` there are.

    `factor` is the greater divided by the smaller; it is None where one of both is not above
    zero, and `difference` (ours - published, in the unit of the row) says it.
    """

    word: Word
    factor: float | None = None
    difference: float = 0.0
    runs: int = 0

    def text(self, unit: str) -> str:
        """The verdict for the reader, such as "differs by a factor of 1.8 (ours is lower)"."""
        if self.word == FEW:
            return f"{FEW}: {self.runs} {'run' if self.runs == 1 else 'runs'}"
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


def summarize(values: Sequence[float], mean_of: int = 1) -> Ours | None:
    """What one value per seed says; None where there is none.

    The published number is the mean of `mean_of` runs, or one run.
    """
    if not values:
        return None
    runs, is_mean = ValueSpan(min(values), max(values)), mean_of > 1
    center = fmean(values) if is_mean else median(values)
    if len(values) < FEWEST:
        return Ours(center, runs, None, None, len(values))
    further = next_mean(values, mean_of) if is_mean else next_run(values)
    return Ours(center, runs, _middle(values, is_mean), further, len(values))


def _middle(values: Sequence[float], is_mean: bool) -> ValueSpan:
    """The 95 % interval of the mean or the median; of equal values the value itself."""
    if is_mean:
        return true_mean(values)
    interval = median_interval(values)
    return ValueSpan(interval.low, interval.high) if interval else ValueSpan(values[0], values[0])


def published_span(printed: str, unit: str) -> ValueSpan:
    """What a published number stands for as printed: 9.4 for 9.35 to 9.45.

    A rate or time stands for at least 2 %.
    """
    value = float(printed)
    around = max(
        _half_a_digit(printed),
        TOLERANCE * abs(value) if _RATE_OR_TIME.fullmatch(unit.strip()) else 0.0,
    )
    return ValueSpan(value - around, value + around)


def _half_a_digit(printed: str) -> float:
    """Half a unit of the last printed digit; zeros before the decimal point count as measured."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5 * 10.0 ** min(exponent, 0) if isinstance(exponent, int) else 0.0


def judge(published: float | None, span: ValueSpan | None, ours: Ours | None) -> Agreement:
    """The verdict for `published`, which stands for `span`, against our runs; None for no number.

    AGREES: `span` meets the 95 % interval of our median. WITHIN: it meets the interval in which a
    further run of ours lies with 95 %.
    """
    if published is None or span is None:
        return Agreement(UNSTATED)
    if ours is None:
        return Agreement(UNRUN)
    if ours.middle is None or ours.further is None:
        return Agreement(FEW, runs=ours.count)
    if ours.middle.meets(span):
        return Agreement(AGREES)
    return Agreement(WITHIN) if ours.further.meets(span) else _apart(published, ours.center)


def _apart(published: float, ours: float) -> Agreement:
    low, high = sorted((published, ours))
    is_ratio = low > 0 and isfinite(high / low)
    return Agreement(DIFFERS, high / low if is_ratio else None, ours - published)
