"""Pictures of a run's claim: its metric in each repetition, and the course that explains it."""

from dataclasses import replace
from math import isnan

from analysis.graphs.layers import Graph, GraphGroup, level, without_zeros
from analysis.measures.expressions import parse
from analysis.measures.metrics import UnknownMetric
from analysis.measures.results import RunResults
from analysis.records.spec_file import HeadlineEntry, SubjectEntry
from analysis.reporting import over_seeds
from analysis.reporting.answers import samples_of_claim
from analysis.reporting.effects import RunEffect
from analysis.reporting.run_distributions import responses
from analysis.reporting.run_graphs import repeated
from topologies.errors import UsageError

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
