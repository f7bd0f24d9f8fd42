"""How sides differ: in what was asked, and in what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from analysis.measures.metrics import Metric, columns
from analysis.measures.results import written
from analysis.pages.comparison.compared_sides import ComparedSide
from analysis.statistics.metric_wording import decimals, fixed
from analysis.statistics.paired_tests import (
    FEWEST,
    SIGNIFICANT,
    MedianInterval,
    Paired,
    fewest_seeds,
    holm,
    median_interval,
    paired,
)

NONE = "\N{EN DASH}"
_MBIT = 1000.0


@dataclass(frozen=True)
class ComparedResult:
    """One quantity of one condition: the values of each side, and each side against the first.

    `corrected` are the p-values after Holm's correction over the conditions and sides of this
    quantity, 1 where nothing could be tested.
    """

    condition: str
    metric: Metric
    unit: str
    values: tuple[tuple[float, ...], ...]
    against: tuple[Paired | None, ...]
    corrected: tuple[float, ...]

    @property
    def cells(self) -> list[str]:
        """Of each side the median, and its interval if there are enough seeds."""
        return [_cell(values) for values in self.values]

    @property
    def differences(self) -> list[str]:
        pairs = zip(self.against, self.corrected, strict=True)
        return [_difference(pair, p, self.unit) for pair, p in pairs]


@dataclass(frozen=True)
class SideComparison:
    """All of it: settings that differ, those that do not, and results."""

    sides: tuple[ComparedSide, ...]
    differing: dict[str, tuple[str, ...]]
    alike: dict[str, str]
    results: tuple[ComparedResult, ...]

    @property
    def sentence(self) -> str:
        """What differs in results, in words."""
        known = [pair for result in self.results for pair in result.against if pair]
        conditions = len({result.condition for result in self.results})
        needed = max(FEWEST, fewest_seeds(conditions * (len(self.sides) - 1)))
        most = max((pair.count for pair in known), default=0)
        if most < needed:
            return (
                f"No difference can be shown: {most:,} seeds are in both, and it takes {needed}."
                " The figures say what happened in these runs."
            )
        shown, tested = sum(map(self._is_shown, self.results)), len(self.results)
        return (
            f"Shown to differ: {shown} of {tested} quantities. Each is tested for itself, so about"
            " one in twenty would by chance."
        )

    @staticmethod
    def _is_shown(result: ComparedResult) -> bool:
        pairs = zip(result.against, result.corrected, strict=True)
        return any(pair and p < SIGNIFICANT and pair.clear_of_neutral for pair, p in pairs)

    @property
    def data(self) -> dict[str, Any]:
        """For programs (docs/run-directory.md)."""
        return {
            "sides": [
                {"letter": side.letter, "name": side.name, "settings": side.settings}
                for side in self.sides
            ],
            "differing": {name: list(values) for name, values in self.differing.items()},
            "sentence": self.sentence,
            "comparisons": [_result_data(result) for result in self.results],
        }


def compared(sides: Sequence[ComparedSide]) -> SideComparison:
    """Each side beside the first."""
    names = list(dict.fromkeys(name for side in sides for name in side.settings))
    settings = {name: tuple(side.settings.get(name, NONE) for side in sides) for name in names}
    differing = {name: values for name, values in settings.items() if len(set(values)) > 1}
    alike = {name: values[0] for name, values in settings.items() if len(set(values)) == 1}
    return SideComparison(tuple(sides), differing, alike, _results(sides))


def _results(sides: Sequence[ComparedSide]) -> tuple[ComparedResult, ...]:
    conditions = dict.fromkeys(condition for side in sides for condition, _ in side.values)
    places = [
        (condition, metric)
        for condition in conditions
        for metric in columns().values()
        if any((condition, metric.name) in side.values for side in sides)
    ]
    pairs = [[_paired(sides[0], side, place) for side in sides[1:]] for place in places]
    corrected = _corrected(places, pairs)
    return tuple(
        _result(sides, place, pairs[row], [corrected.get((row, at), 1.0) for at in range(len(of))])
        for row, (place, of) in enumerate(zip(places, pairs, strict=True))
    )


def _corrected(
    places: Sequence[tuple[str, Metric]], pairs: Sequence[Sequence[Paired | None]]
) -> dict[tuple[int, int], float]:
    """By row and side the p-value after Holm's correction: for a quantity's rows and sides."""
    found = dict[tuple[int, int], float]()
    for metric in columns().values():
        tested = [
            (row, at, pair.p)
            for row, (_, of) in enumerate(places)
            if of == metric
            for at, pair in enumerate(pairs[row])
            if pair
        ]
        p_values = holm([p for *_, p in tested]) if tested else []
        found |= {(row, at): p for (row, at, _), p in zip(tested, p_values, strict=True)}
    return found


def _paired(first: ComparedSide, second: ComparedSide, place: tuple[str, Metric]) -> Paired | None:
    """Over the seeds that both have."""
    condition, metric = place
    one, other = (side.values.get((condition, metric.name), {}) for side in (first, second))
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        return None
    return paired([one[seed] for seed in seeds], [other[seed] for seed in seeds])


def _result(
    sides: Sequence[ComparedSide],
    place: tuple[str, Metric],
    against: Sequence[Paired | None],
    corrected: Sequence[float],
) -> ComparedResult:
    """Rates of more than ten Mbit/s are in Mbit/s."""
    condition, metric = place
    values = [tuple(side.values.get((condition, metric.name), {}).values()) for side in sides]
    most = max((value for of in values for value in of), default=0.0)
    unit = metric.unit
    if unit == "kbit/s" and most >= 10 * _MBIT:
        unit, values = "Mbit/s", [tuple(value / _MBIT for value in of) for of in values]
    labels = {name: label for side in sides for name, label in side.labels.items()}
    name = labels.get(condition, condition)
    return ComparedResult(name, metric, unit, tuple(values), tuple(against), tuple(corrected))


def _cell(values: Sequence[float]) -> str:
    if not values:
        return NONE
    around = median_interval(values)
    return written(median(values)) if around is None else _with_interval(around)


def _with_interval(around: MedianInterval) -> str:
    return f"{written(around.median)} ({written(around.low)} to {written(around.high)})"


def _difference(pair: Paired | None, p: float, unit: str) -> str:
    if pair is None:
        return NONE
    what = " times" if pair.scale == "ratio" else f" {unit}".rstrip()
    if pair.low is None or pair.high is None:
        return f"{written(pair.estimate)}{what}"
    verdict = "differs" if p < SIGNIFICANT and pair.clear_of_neutral else "not shown to differ"
    if pair.low == pair.high:
        return f"{written(pair.estimate)}{what}, {verdict}"
    neutral = pair.neutral if pair.scale == "ratio" else None
    places = decimals(pair.low, pair.high, neutral)
    interval = f"({fixed(pair.low, places)} to {fixed(pair.high, places)})"
    return f"{fixed(pair.estimate, places)}{what} {interval}, {verdict}"


def _result_data(result: ComparedResult) -> dict[str, Any]:
    return {
        "condition": result.condition,
        "metric": result.metric.name,
        "unit": result.unit,
        "medians": [median(values) if values else None for values in result.values],
        "intervals": [
            [around.low, around.high] if (around := median_interval(values)) else None
            for values in result.values
        ],
        "against_first": [
            pair
            and {
                "scale": pair.scale,
                "estimate": pair.estimate,
                "low": pair.low,
                "high": pair.high,
                "seeds": pair.count,
                "p": corrected,
            }
            for pair, corrected in zip(result.against, result.corrected, strict=True)
        ],
    }
