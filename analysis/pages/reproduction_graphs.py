"""Graphs of a reproduction: published and measured values."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from analysis.fmt import with_unit
from analysis.graphs import distributions
from analysis.graphs import layers as plots
from analysis.pages.published import as_printed
from analysis.statistics.published import Era, Judged, JudgedStudy, Word

MOST_PANELS = 8
MOST_LINES = 32
_LEAST, _GREATEST = 1e-12, 1e15
"""Sizes that are drawn, in any unit; a number beyond is no measurement."""
_WIDEST = 1e9
"""The greatest ratio that is drawn; anything beyond would leave no room for the others."""
_ROW = 46
_STEP = 0.13
"""Share of a row between the marks of two sources: they stay nearer to their row than the next."""
_AS_RATIOS = (
    "The rows have several units; so all numbers are divided by the published one, which is 1. "
)
_HOW = (
    "Hollow: published, with a bar over its repetitions, or over what a law allows. Filled: the"
    " median of the runs; the thin bar goes from the least run to the greatest, the thick one is"
    " the 95 % interval of the median (six runs or more)."
)


PUBLISHED = "published"
SOURCES: dict[Era, str] = {
    "period_kernel": "kernel of its time",
    "period": "settings of its time",
    "today": "today's defaults",
}
_LOOKS = {
    PUBLISHED: distributions.look(plots.BLACK, "ring"),
    SOURCES["period_kernel"]: distributions.look(plots.GREEN, "diamond"),
    SOURCES["period"]: distributions.look(plots.BLUE, "square"),
    SOURCES["today"]: distributions.look(plots.VERMILLION, "triangle"),
}
Marks = dict[str, list[distributions.RangedValue]]


def graphs(one: JudgedStudy, number: int) -> plots.GraphGroup | None:
    """The graph of a study, the `number`-th; None without a drawable row."""
    drawable = [judged for judged in one.rows if _is_drawable(judged)]
    kind = one.study.plot.kind
    with_x = [judged for judged in drawable if judged.row.x is not None]
    if kind == "none" or not drawable:
        return None
    is_swept = kind == "loglog" or (not kind and len({judged.row.x for judged in with_x}) >= 3)
    key = f"numbers_{number}"
    return _curves(one, with_x, key) if is_swept and with_x else _lines(one, drawable, key)


def _is_drawable(judged: Judged) -> bool:
    """Return whether a row was to be run and has numbers, all of a size that an axis can hold."""
    row = judged.row
    runs = [ours.runs for ours in judged.measured.values() if ours]
    numbers = [row.published, row.published_low, row.published_high]
    numbers += [end for span in runs for end in (span.low, span.high)]
    sizes = [abs(each) for each in (*numbers, row.x, row.allowed_low, row.allowed_high) if each]
    return (
        judged.outcome.word != Word.LISTED
        and not row.needs
        and any(number is not None for number in numbers)
        and all(_LEAST <= size <= _GREATEST for size in sizes)
    )


def _curves(study: JudgedStudy, with_x: Sequence[Judged], key: str) -> plots.GraphGroup:
    amounts = sorted({judged.row.x for judged in with_x if judged.row.x is not None})
    axis = distributions.swept([as_printed(repr(amount)) for amount in amounts], amounts)
    places = dict(zip(amounts, axis.positions, strict=True))
    groups: dict[tuple[str, str], list[Judged]] = {}
    for judged in sorted(with_x, key=_quantity):  # panels of a quantity stand together
        groups.setdefault((_quantity(judged), judged.row.series), []).append(judged)
    shown = list(groups.items())[:MOST_PANELS]
    panels = [
        (quantity, series, _marks(group, [places[each.row.x or 0.0] for each in group]))
        for (quantity, series), group in shown
    ]
    plot, drawn = study.study.plot, list[plots.Graph]()
    below = distributions.ticked(axis, with_unit(plot.x, plot.x_unit) if plot.x else plot.x_unit)
    for quantity, of in groupby(panels, key=lambda panel: panel[0]):
        members = list(of)
        beside = plots.holding(plots.Axis(quantity, ""), _numbers([marks for *_, marks in members]))
        for _, series, marks in members:
            layers = tuple(layer for source in marks for layer in _curve(source, marks[source]))
            name = f"{key}_{len(drawn)}"
            drawn.append(plots.Graph(name, series or quantity, "", below, beside, layers))
    left = len(study.rows) - sum(len(group) for _, group in shown)
    title = f"Published and measured: {study.study.name}"
    return plots.GraphGroup(key, title, _caption(left, ""), tuple(drawn))


def _curve(source: str, values: Sequence[distributions.RangedValue]) -> list[plots.Layer]:
    ordered = sorted(values, key=lambda value: value.at)
    x, y = (np.array([getattr(each, name) for each in ordered]) for name in ("at", "value"))
    thin = replace(_LOOKS[source], mark="", every=False, width=1.0)
    joined = plots.Layer(thin, "line", x, y, words=source)
    return [joined, *distributions.ranged(ordered, _LOOKS[source], source, "y")]


def _lines(study: JudgedStudy, drawable: Sequence[Judged], key: str) -> plots.GraphGroup | None:
    is_ratio = len({judged.row.unit for judged in drawable}) > 1
    shown = [judged for judged in drawable if not is_ratio or _has_ratio(judged)][:MOST_LINES]
    if not shown:
        return None
    quantities = list(dict.fromkeys(map(_quantity, shown)))
    names = [
        f"{judged.row.where}: {judged.row.quantity}" if len(quantities) > 1 else judged.row.where
        for judged in shown
    ]
    panels = distributions.in_panels(shown)
    marks = [_marks(panel, [-float(at) for at in range(len(panel))], is_ratio) for panel in panels]
    if is_ratio:
        across = distributions.ratio_axis("measured divided by published number", _numbers(marks))
    else:
        label = quantities[0] if len(quantities) == 1 else "value"
        across = plots.holding(plots.Axis(label, ""), _numbers(marks))
    drawn = tuple(
        _rows(f"{key}_{at}" if at else key, across, names_of, of, is_ratio)
        for at, (of, names_of) in enumerate(zip(marks, distributions.in_panels(names), strict=True))
    )
    caption = _caption(len(study.rows) - len(shown), _AS_RATIOS if is_ratio else "")
    return plots.GraphGroup(
        f"{key}_rows", f"Published and measured: {study.study.name}", caption, drawn
    )


def _rows(
    key: str, across: plots.Axis, names: Sequence[str], marks: Marks, is_ratio: bool
) -> plots.Graph:
    layers = list[plots.Layer]()
    for place, (source, values) in enumerate(marks.items(), 1):
        lower = 0.0 if source == PUBLISHED else _STEP * place
        moved = [replace(value, at=value.at - lower) for value in values]
        layers += distributions.ranged(moved, _LOOKS[source], source, "x")
    if is_ratio:
        layers.append(distributions.no_difference("the published number"))
    return distributions.rows_graph(key, across, names, layers, _ROW)


def _has_ratio(judged: Judged) -> bool:
    """Return whether the measured value over the published one fits a logarithmic axis."""
    published = judged.row.published or 0.0
    medians = [ours.center for ours in judged.measured.values() if ours]
    return (
        published > 0
        and bool(medians)
        and published / _WIDEST <= min(medians)
        and max(medians) / _WIDEST <= published
    )


def _quantity(judged: Judged) -> str:
    return with_unit(judged.row.quantity, judged.row.unit)


def _marks(shown: Sequence[Judged], places: Sequence[float], is_ratio: bool = False) -> Marks:
    """The values of each source that has any; the hollow marks come last, so they hide no other."""
    marks: Marks = {source: [] for source in (*SOURCES.values(), PUBLISHED)}
    for judged, at in zip(shown, places, strict=True):
        unit = judged.row.published if is_ratio and judged.row.published else 1.0
        marks[PUBLISHED] += _published(judged, at, unit)
        for era, source in SOURCES.items():
            if ours := judged.measured[era]:
                spans = (ours.runs, ours.middle)
                runs, middle = ((end.low / unit, end.high / unit) if end else None for end in spans)
                value = distributions.RangedValue(
                    at, ours.center / unit, runs, middle, judged.row.where
                )
                marks[source].append(value)
    return {source: values for source, values in marks.items() if values}


def _numbers(panels: Sequence[Marks]) -> list[float]:
    return distributions.extremes(
        [value for marks in panels for values in marks.values() for value in values]
    )


def _published(judged: Judged, at: float, unit: float) -> list[distributions.RangedValue]:
    row = judged.row
    if row.published is None:
        return []
    low, high = row.published_low, row.published_high
    if (row.allowed_low, row.allowed_high) != (None, None):
        low = row.published if row.allowed_low is None else row.allowed_low
        high = row.published if row.allowed_high is None else row.allowed_high
    runs = None if low is None or high is None else (low / unit, high / unit)
    return [distributions.RangedValue(at, row.published / unit, runs, name=row.where)]


def _caption(left_out: int, how: str) -> str:
    rows = "1 row is" if left_out == 1 else f"{left_out} rows are"
    return f"{how}{_HOW}" + (f" {rows} in the table only." if left_out else "")
