"""What leads the page of a run or a sweep: the effect, and pictures of the claim."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isnan
from statistics import median
from typing import Any

from analysis.fmt import spread, written
from analysis.graphs.layers import Graph, GraphGroup, level, without_zeros
from analysis.measures.expressions import parse
from analysis.measures.metrics import UnknownMetric
from analysis.measures.results import RunResults, value_of
from analysis.measures.sweep_folder import SweepRecord, read_rows
from analysis.records.spec_file import HeadlineEntry, RunCondition, SubjectEntry
from analysis.reporting import over_seeds
from analysis.reporting.answers import figure, in_comparison, samples_of_claim
from analysis.reporting.run_distributions import responses
from analysis.reporting.run_graphs import repeated
from analysis.reporting.tables import Listing, ReportQuantity, quantity
from topologies.errors import UsageError
from topologies.untrusted import StrangeFile

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


def swept_cells(sweep: SweepRecord) -> list[SweptCell] | None:
    """Return the rows by cell; None if they cannot be read, which sweep_samples says."""
    runs: dict[tuple[int, ...], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    blank = dict.fromkeys(sweep.metrics)
    try:
        rows = read_rows(sweep)
        for row in rows.select("flow", *(name for name in rows if name != "flow")).as_rows():
            runs[sweep.place(row)][int(row["seed"])].append(blank | row)
    except (OSError, KeyError, ValueError, TypeError, StrangeFile):
        return None
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


_HEIGHT = 230  # px
_COURSES = (("queueing", "delay"), ("delay", "delay"), ("cwnd", "window"))
"""Parts of a metric, and the quantity over time that explains it."""


def claim_picture(results: RunResults, effect: RunEffect | None) -> GraphGroup | None:
    """Return the claim's metric of each seed, then its course or the most telling quantity."""
    headline = results.run.spec.headline
    if headline is None:
        return None
    try:
        first = _values(results, headline)
    except (UnknownMetric, UsageError):  # the claim's sentence says so
        return None
    if first is None:
        return None
    sides = {each.condition for each in (headline.subject, headline.against) if each}
    conditions = tuple(each for each in results.run.conditions if each.name in sides)
    measured = tuple(each for each in results.measured if each.trial.condition in conditions)
    claimed = RunResults(replace(results.run, conditions=conditions), measured)
    more = _course(claimed, headline.metric) or _telling(results, effect)
    drawn = [replace(each, key=f"claim_{each.key}", height=_HEIGHT) for each in (first, *more)]
    return GraphGroup("effect", "The claim", _caption(results, drawn), tuple(drawn))


def _caption(results: RunResults, drawn: list[Graph]) -> str:
    several = len(results.run.seeds) > 1
    joined = "A line joins the values of one seed. " if len(drawn[0].x.ticks) > 1 else ""
    words = f"{joined}The thick mark is the median." if several else "One repetition."
    layers = [layer for graph in drawn if graph.over_time for layer in graph.layers]
    if not several or all(layer.top is None for layer in layers):
        return words
    is_share = drawn[1].key.startswith("claim_stacked")
    means = "means of the seeds." if is_share else "the median of the seeds; bands: all of them."
    return f"{words} Over time: {means}"


def _values(results: RunResults, headline: HeadlineEntry) -> Graph | None:
    """Draw the metric of each seed under the claim's conditions, and the range that is claimed."""
    sides = {
        name: samples
        for name, subject in _sides(results, headline).items()
        if not all(map(isnan, samples := samples_of_claim(results, headline, subject)))
    }
    rows = [row for row in zip(*sides.values(), strict=True) if not any(map(isnan, row))]
    what = headline.what.removeprefix("the ")
    axis = over_seeds.axis_for(what, parse(headline.metric).root.unit)
    drawn = repeated(what, axis, rows, [*sides])
    if drawn is None:
        return None
    claimed = [
        level(end * headline.expected, f"claimed: at {word}")
        for end, word in ((headline.low, "least"), (headline.high, "most"))
        if end is not None and headline.direction == "within"
    ]
    layers, title = (*claimed, *drawn.layers), what[:1].upper() + what[1:]
    return replace(drawn, key="values", title=title, layers=layers)


def _sides(results: RunResults, headline: HeadlineEntry) -> dict[str, SubjectEntry]:
    """Return what is compared by its name: both sides, or every condition next to the subject's."""
    labels = {condition.name: condition.label for condition in results.run.conditions}
    if headline.against:
        sides = (headline.against, headline.subject)
        same = sides[0].condition == sides[1].condition
        return {each.flow if same else labels.get(each.condition, ""): each for each in sides}
    flow = headline.subject.flow
    return {label: SubjectEntry(name, flow) for name, label in labels.items()}


def _course(results: RunResults, metric: str) -> list[Graph]:
    """Draw the rates or the shares of several flows over time, and the metric's course."""
    several = len(results.run.flows) > 1
    probed = over_seeds.answered(results) if several else None
    if "exchange" in metric and not probed:
        return _graphs(responses(results))
    if not several:
        return []
    if "/" in metric and "exchange" not in metric and not _quantity(metric):
        return _graphs(over_seeds.shares(results))
    if "exchange" in metric:
        return [*_graphs(over_seeds.series(results, ("rate",))), *_graphs(probed)]
    return _graphs(over_seeds.series(results, ("rate", *_quantity(metric))))


def _quantity(metric: str) -> list[str]:
    return [course for part, course in _COURSES if part in metric][:1]


def _graphs(group: GraphGroup | None) -> list[Graph]:
    found = without_zeros(group).graphs if group else ()
    return [replace(each, title=each.title or group.title) for each in found if group]


def _telling(results: RunResults, effect: RunEffect | None) -> list[Graph]:
    if effect is None or effect.telling is None:
        return []
    quantity, labels = effect.telling, [each.label for each in effect.sides]
    rows = quantity.pairs(results, effect.sides)
    axis = over_seeds.axis_for(quantity.name.lower(), quantity.unit)
    drawn = repeated(quantity.name, axis, rows, labels)
    return [replace(drawn, key="telling", title=quantity.name)] if drawn else []
