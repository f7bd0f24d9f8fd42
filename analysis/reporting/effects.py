"""The effect that leads the page of a run or a sweep, and tables that one study's sweep has."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from analysis.fmt import spread, written
from analysis.graphs.layers import GraphGroup
from analysis.measures.metrics import UnknownMetric
from analysis.measures.results import RunResults, value_of
from analysis.measures.sweep_folder import SweepRecord, read_rows
from analysis.records.spec_file import RunCondition
from analysis.reporting.answers import figure, in_comparison
from analysis.reporting.tables import Listing, ReportQuantity, quantity
from topologies.untrusted import StrangeFile

Made = TypeVar("Made")


Row = dict[str, Any]


@dataclass(frozen=True)
class SweptCell:
    """A cell of the grid: its varied values in words, and the rows of each run, by seed."""

    name: str
    runs: list[list[Row]]
    place: tuple[int, ...] = ()


MakeListings = Callable[[SweepRecord, list[SweptCell]], tuple[Listing, ...]]
"""Makes the tables of a study from the runs of each cell."""


@dataclass(frozen=True)
class SweepEffect:
    """The sentence and the picture that lead the page of an experiment's sweep."""

    sentence: str
    picture: GraphGroup


MakeEffect = Callable[[SweepRecord, list[SweptCell]], SweepEffect | None]
"""Makes the effect of a study from the runs of each cell."""


def made_of(
    sweep: SweepRecord, make: Callable[[SweepRecord, list[SweptCell]], Made] | None
) -> Made | None:
    """Return the effect or the tables; None if rows cannot be read, which sweep_samples says."""
    if make is None:
        return None
    try:
        return make(sweep, swept_cells(sweep))
    except (OSError, KeyError, ValueError, TypeError, StrangeFile):
        return None


def swept_cells(sweep: SweepRecord) -> list[SweptCell]:
    runs: dict[tuple[int, ...], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in read_rows(sweep).as_rows():
        runs[sweep.place(row)][row["seed"]].append(row)
    many = [axis for axis, factor in enumerate(sweep.factors) if len(factor.values) > 1]
    cells = []
    for place, of in sorted(runs.items()):
        name = ", ".join(sweep.factors[axis].values[place[axis]] for axis in many) or "all runs"
        cells.append(SweptCell(name, [of[seed] for seed in sorted(of)], place))
    return cells


def varied(sweep: SweepRecord) -> str:
    """Return the names of the factors that vary: what heads the names of the cells."""
    return ", ".join(factor.short for factor in sweep.factors if len(factor.values) > 1)


def over_runs(measure: Callable[[list[Row]], float | None], runs: Sequence[list[Row]]) -> str:
    return spread([value for run in runs if (value := measure(run)) is not None])


def flow_value(metric: str, flow: str, scale: float = 1.0) -> Callable[[list[Row]], float | None]:
    def measure(rows: list[Row]) -> float | None:
        value = value_of(rows, metric, flow)
        return None if value is None else scale * value

    return measure


_CLEAR = 2.0  # times by which a quantity differs that is worth a headline
_FEWEST_EVENTS = 10  # events from which a difference of counts is more than a few
_ALIKE = 0.05  # share up to which a ratio of the claim's metric counts as no difference


@dataclass(frozen=True)
class RunEffect:
    """Quantities of two conditions: the claim's, and the one that differs most."""

    sides: tuple[RunCondition, RunCondition]
    claimed: ReportQuantity | None
    telling: ReportQuantity | None

    def sentence(self, results: RunResults) -> str:
        """Such as "Retransmitted segments: 54 with cubic, 998 with reno."."""
        quantities = [each for each in (self.claimed, self.telling) if each]
        sentences = []
        for each in quantities if self.differs(results) else quantities[::-1]:
            ends = zip(_medians(results, each, self.sides), self.sides, strict=True)
            figures = (f"{figure(value, each.unit)} with {side.label}" for value, side in ends)
            sentences.append(f"{each.name}: {', '.join(figures)}.")
        return " ".join(sentences)

    def differs(self, results: RunResults) -> bool:
        claimed = self.claimed
        return claimed is not None and _times(*_medians(results, claimed, self.sides)) > 1 + _ALIKE


def _medians(
    results: RunResults, each: ReportQuantity, sides: tuple[RunCondition, RunCondition]
) -> tuple[float, float]:
    first, second = (median(each.of(results, side)) for side in sides)
    return first, second


def effect_of(results: RunResults, others: Sequence[ReportQuantity]) -> RunEffect | None:
    """Return the claim's quantity and the clearest of `others`; None without a claim."""
    sides, headline = in_comparison(results), results.run.spec.headline
    if sides is None or headline is None:
        return None
    claimed = None
    if not headline.subject.flow:
        with suppress(UnknownMetric):
            claimed = quantity(headline.metric)
    if claimed and not claimed.pairs(results, sides):
        claimed = None
    apart = [(_apart(results, each, sides), each) for each in others if each.pairs(results, sides)]
    most, telling = max(apart, key=lambda each: each[0], default=(0.0, None))
    if claimed is None and not apart:
        return None
    return RunEffect(sides, claimed, telling if most >= _CLEAR else None)


def goodput(results: RunResults) -> str:
    """Return a sentence on the goodput under each condition, or "" without a value."""
    rate = quantity("metric.goodput_kbit_s")
    conditions = results.run.conditions
    values = [(f" with {each.label}", rate.of(results, each)) for each in conditions]
    figures = [
        f"{written(median(found))} {rate.unit}{label * (len(conditions) > 1)}"
        for label, found in values
        if found
    ]
    return f"{rate.name}: {', '.join(figures)}." if figures else ""


def _apart(
    results: RunResults, each: ReportQuantity, sides: tuple[RunCondition, RunCondition]
) -> float:
    """Return how many times the medians differ; 1 for counts of a few events."""
    first, second = _medians(results, each, sides)
    if each.unit:
        return _times(first, second)
    return _times(first + 1, second + 1) if max(first, second) >= _FEWEST_EVENTS else 1.0


def _times(first: float, second: float) -> float:
    low, high = sorted((abs(first), abs(second)))
    return high / low if low else (1.0 if not high else float("inf"))
