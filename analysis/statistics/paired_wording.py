"""How a paired comparison is written: its estimate and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from analysis.statistics.metric_wording import decimals, fixed, signed
from analysis.statistics.paired_tests import SIGNIFICANT, Paired, fewest_seeds, holm

Verdict = Literal["larger", "smaller", "not shown to differ"]
UNSHOWN: Verdict = "not shown to differ"


def verdict_of(paired: Paired | None, corrected: float) -> Verdict:
    """Shown is a difference with a corrected p below 5 % and an interval that excludes none."""
    if paired is None or corrected >= SIGNIFICANT or not paired.clear_of_neutral:
        return UNSHOWN
    return "larger" if paired.estimate > paired.neutral else "smaller"


def family(pairs: Sequence[Paired | None]) -> list[Verdict | None]:
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


def interval(paired: Paired) -> str:
    """The interval in words, empty where there is none."""
    if paired.low is None or paired.high is None:
        return ""
    return f"95 % interval {_figure(paired, paired.low)} to {_figure(paired, paired.high)}"


def _figure(paired: Paired, value: float) -> str:
    if paired.low is not None and paired.high is not None and paired.low < paired.high:
        return fixed(value, decimals(paired.low, paired.high, paired.neutral))
    if (
        0 < abs(value - paired.neutral) < 0.1
    ):  # all seeds alike, and close to no difference: it shall not read as none
        return fixed(
            value,
            max(
                2, decimals(min(value, paired.neutral), max(value, paired.neutral), paired.neutral)
            ),
        )
    return fixed(value, 2) if paired.scale == "ratio" and 0.1 < value < 1000 else signed(value)
