"""The graph of a study: against a swept quantity if there is one, else a line for each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from analysis.figures.picture import Picture
from analysis.pages.published.reproduction_rows import as_printed
from analysis.statistics.judgement import Judged, JudgedStudy
from analysis.statistics.verdict import LISTED, Ours

if TYPE_CHECKING:
    from analysis.figures.published_marks import ValueMark, ValueSource

MOST_PANELS = 8
MOST_LINES = 32
_LEAST, _GREATEST = 1e-12, 1e15
"""Sizes that are drawn, in any unit; a number beyond is no measurement."""
_WIDEST = 1e9
"""The greatest ratio that is drawn; anything beyond would leave no room for the others."""
_HOW = (
    "Hollow: published, with a bar over its repetitions where there are several. Filled: the median"
    " of our runs; the thin bar goes from the least run to the greatest, the thick one is the 95 %"
    " interval of the median (six runs or more)."
)


def picture(one: JudgedStudy, number: int) -> Picture | None:
    """The graph of a study, the `number`-th; None where it wants none or nothing can be drawn."""
    rows = [judged for judged in one.rows if judged.outcome.word != LISTED]
    rows = [judged for judged in rows if not judged.row.needs and _is_drawable(judged)]
    kind = one.study.plot.kind
    with_x = [judged for judged in rows if judged.row.x is not None]
    if kind == "none" or not rows:
        return None
    is_swept = kind == "loglog" or (not kind and len({judged.row.x for judged in with_x}) >= 3)
    name = f"study-{number}.png"
    return _curves(one, with_x, name) if is_swept and with_x else _lines(one, rows, name)


def _is_drawable(judged: Judged) -> bool:
    """Whether there is a number, and none that an axis would not hold."""
    row = judged.row
    ours = [sample for sample in (judged.period_kernel, judged.period, judged.today) if sample]
    numbers = [
        row.published,
        row.low,
        row.high,
        *(end for sample in ours for end in (sample.runs.low, sample.runs.high)),
    ]
    sizes = [abs(number) for number in (*numbers, row.x) if number]
    return any(number is not None for number in numbers) and all(
        _LEAST <= size <= _GREATEST for size in sizes
    )


def _curves(study: JudgedStudy, with_x: Sequence[Judged], name: str) -> Picture:
    from analysis.figures import published_curves
    from analysis.graphs.swept_places import swept

    amounts = sorted({judged.row.x for judged in with_x if judged.row.x is not None})
    axis = swept([as_printed(repr(amount)) for amount in amounts], amounts)
    groups: dict[tuple[str, str], list[Judged]] = {}
    for judged in sorted(
        with_x, key=lambda each: _quantity(each)
    ):  # panels of a quantity stand together
        groups.setdefault((_quantity(judged), judged.row.series), []).append(judged)
    shown = list(groups.items())[:MOST_PANELS]
    places = dict(zip(amounts, axis.positions, strict=True))
    panels = [
        published_curves.CurvePanel(
            series or quantity,
            quantity,
            _marks(group, [places[each.row.x or 0.0] for each in group]),
        )
        for (quantity, series), group in shown
    ]
    left = len(study.rows) - sum(len(group) for _, group in shown)
    return Picture(
        name, _title(study), _caption(left, ""), published_curves.draw(panels, axis, _below(study))
    )


def _below(study: JudgedStudy) -> str:
    plot = study.study.plot
    return f"{plot.x} ({plot.x_unit})" if plot.x and plot.x_unit else plot.x or plot.x_unit


def _lines(study: JudgedStudy, rows: Sequence[Judged], name: str) -> Picture | None:
    from analysis.figures import published_rows

    is_ratio = len({judged.row.unit for judged in rows}) > 1
    drawable = [judged for judged in rows if not is_ratio or _has_ratio(judged)]
    shown = drawable[:MOST_LINES]
    if not shown:
        return None
    quantities = list(dict.fromkeys(_quantity(judged) for judged in shown))
    labels = [_label(judged, len(quantities) > 1) for judged in shown]
    below = (
        "ours divided by the published number"
        if is_ratio
        else quantities[0]
        if len(quantities) == 1
        else ""
    )
    marks = _marks(shown, range(len(shown)), is_ratio)
    how = (
        "The rows have several units; so all numbers are divided by the published one, which is 1. "
        if is_ratio
        else ""
    )
    made = published_rows.draw(labels, marks, below or f"value ({shown[0].row.unit})", is_ratio)
    return Picture(name, _title(study), _caption(len(study.rows) - len(shown), how), made)


def _has_ratio(judged: Judged) -> bool:
    """Whether ours, divided by the published number, can be shown on a logarithmic axis."""
    published = judged.row.published or 0.0
    samples = (judged.period_kernel, judged.period, judged.today)
    medians = [ours.center for ours in samples if ours]
    return (
        published > 0
        and bool(medians)
        and published / _WIDEST <= min(medians)
        and max(medians) / _WIDEST <= published
    )


def _label(judged: Judged, with_quantity: bool) -> str:
    return f"{judged.row.where}: {judged.row.quantity}" if with_quantity else judged.row.where


def _quantity(judged: Judged) -> str:
    return f"{judged.row.quantity} ({judged.row.unit})" if judged.row.unit else judged.row.quantity


def _marks(
    rows: Sequence[Judged], places: Iterable[float], is_ratio: bool = False
) -> dict[ValueSource, list[ValueMark]]:
    from analysis.figures.published_marks import PERIOD, PERIOD_KERNEL, PUBLISHED, SOURCES, TODAY

    marks: dict[ValueSource, list[ValueMark]] = {source: [] for source in SOURCES}
    for judged, at in zip(rows, places, strict=True):
        unit = judged.row.published if is_ratio and judged.row.published else 1.0
        marks[PUBLISHED] += _published(judged, at, unit)
        marks[PERIOD_KERNEL] += _ours(judged.period_kernel, at, unit)
        marks[PERIOD] += _ours(judged.period, at, unit)
        marks[TODAY] += _ours(judged.today, at, unit)
    return marks


def _published(judged: Judged, at: float, unit: float) -> list[ValueMark]:
    from analysis.figures.published_marks import ValueMark

    row = judged.row
    runs = None if row.low is None or row.high is None else (row.low / unit, row.high / unit)
    return [] if row.published is None else [ValueMark(at, row.published / unit, runs)]


def _ours(ours: Ours | None, at: float, unit: float) -> list[ValueMark]:
    from analysis.figures.published_marks import ValueMark

    if ours is None:
        return []
    interval = (ours.middle.low / unit, ours.middle.high / unit) if ours.middle else None
    return [
        ValueMark(at, ours.center / unit, (ours.runs.low / unit, ours.runs.high / unit), interval)
    ]


def _title(study: JudgedStudy) -> str:
    return f"Published and ours: {study.study.name}"


def _caption(left_out: int, how: str) -> str:
    rows = "1 row is" if left_out == 1 else f"{left_out} rows are"
    return f"{how}{_HOW}" + (f" {rows} in the table only." if left_out else "")
