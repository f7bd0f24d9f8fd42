"""Words and digits of figures, metrics and paired comparisons in sentences."""

import re
from collections.abc import Sequence
from enum import StrEnum
from math import floor, isfinite, log10

from analysis.measures.metrics import Metric
from analysis.measures.results import MINUS, NOTHING, written
from analysis.statistics.paired_tests import SIGNIFICANT, Paired, fewest_seeds, holm

_MOST_DECIMALS = 6


def called(metric: Metric) -> str:
    """The metric's title inside a sentence; a name such as Jain's keeps its capital."""
    first = metric.title.partition(" ")[0]
    return metric.title if first.endswith("'s") else metric.title[:1].lower() + metric.title[1:]


def verb(metric: Metric) -> str:
    """is or are, after what `called` gives."""
    return "are" if any(re.search("[^s']s$", word) for word in metric.title.split()[:2]) else "is"


def with_unit(name: str, unit: str, how: str = " ({})") -> str:
    """Return the name with its unit, if it has one, such as "Goodput (kbit/s)"."""
    return name + how.format(unit) if unit else name


def numbered(amount: int, single: str, several: str = "") -> str:
    """Return "1 run" or "12 runs"; `several` is for a plural without a plain s."""
    return f"1 {single}" if amount == 1 else f"{amount:,} {several or single + 's'}"


def in_a_row(seeds: Sequence[int], most: int | None = None) -> str:
    """Return seeds that follow each other by their ends, others one by one, at most `most`."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    left_out = most is not None and len(seeds) > most
    return ", ".join(map(str, seeds[:most])) + ", ..." * left_out


def decimals(low: float, high: float, neutral: float | None = None) -> int:
    """The decimals that show two digits of the width, and no end as `neutral` that is not."""
    places = max(0, min(_MOST_DECIMALS, 1 - floor(log10(high - low))))
    while (
        places < _MOST_DECIMALS
        and neutral in (round(low, places), round(high, places))
        and neutral not in (low, high)
    ):
        places += 1
    return places


def fixed(value: float, places: int) -> str:
    """A figure with that many decimals; what rounds to zero has no sign."""
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", MINUS)


def signed(value: float) -> str:
    """A figure to three digits, a dash for none."""
    return written(value).replace("-", MINUS) if isfinite(value) else NOTHING


def probability(p: float) -> str:
    """`p` with its sign, such as "= 0.031" or "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.9995 else "= 1"


class DifferenceVerdict(StrEnum):
    """DifferenceVerdict of a paired comparison: the second level against the first."""

    LARGER = "larger"
    SMALLER = "smaller"
    UNSHOWN = "not shown to differ"


def verdict_of(paired: Paired | None, corrected: float) -> DifferenceVerdict:
    """Return the verdict: a difference needs a corrected p below 5 % and an interval without it."""
    if paired is None or corrected >= SIGNIFICANT or not paired.clear_of_neutral:
        return DifferenceVerdict.UNSHOWN
    return (
        DifferenceVerdict.LARGER if paired.estimate > paired.neutral else DifferenceVerdict.SMALLER
    )


def family(pairs: Sequence[Paired | None]) -> list[DifferenceVerdict | None]:
    """The verdicts of comparisons that belong together, each p corrected for all of them.

    None for a comparison with fewer seeds than could show any difference in such a family.
    """
    corrected = holm([pair.p if pair else 1.0 for pair in pairs])
    enough = fewest_seeds(len(pairs))
    return [
        verdict_of(pair, p) if pair and pair.count >= enough else None
        for pair, p in zip(pairs, corrected, strict=True)
    ]


def estimate(paired: Paired, unit: str) -> str:
    """The ratio or difference with its unit, to the digits that the interval supports."""
    if paired.scale == "ratio":
        return f"{_figure(paired, paired.estimate)} times"
    figure = _figure(paired, paired.estimate)
    return f"{'+' if paired.estimate > 0 else ''}{figure} {unit}".strip()


COPIES = "one trajectory, whatever the seed"


def interval(paired: Paired) -> str:
    """The interval in words, or why seeds have none; empty for too few seeds."""
    if paired.copies:
        return COPIES
    if paired.low is None or paired.high is None:
        return ""
    return f"95 % interval {_figure(paired, paired.low)} to {_figure(paired, paired.high)}"


def _figure(paired: Paired, value: float) -> str:
    if paired.low is not None and paired.high is not None and paired.low < paired.high:
        return fixed(value, decimals(paired.low, paired.high, paired.neutral))
    if 0 < abs(value - paired.neutral) < 0.1:  # equal in all seeds: it must not read as none
        low, high = sorted((value, paired.neutral))
        return fixed(value, max(2, decimals(low, high, paired.neutral)))
    return fixed(value, 2) if paired.scale == "ratio" and 0.1 < value < 1000 else signed(value)
