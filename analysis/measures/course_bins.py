"""Flows over equal times: rate, queueing delay and window, for series and for sweeps' records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.measures.flow_readings import FlowCourse

if TYPE_CHECKING:
    from analysis.measures.readings import TrialReadings

Numbers = NDArray[np.floating[Any]]
BINS = 80
"""Equal times of a series."""
MOST_LINES = 6
"""Flows beyond which those of one kind are a line together."""
SERIES_VERSION = 1
"""Version of the records that points keep."""
_DIGITS = 4


def kinds(names: Sequence[str]) -> dict[str, set[str]]:
    """Return the flows of each kind, which is a name without its number, such as "8 cubic"."""
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(name.rstrip("0123456789").rstrip("_-") or name, set()).add(name)
    return {f"{len(of)} {kind}": of for kind, of in found.items()}


def lines_of(names: Sequence[str]) -> dict[str, set[str]]:
    """Return the flows of each line: a line each, or of many flows a line for each kind."""
    return {name: {name} for name in names} if len(names) <= MOST_LINES else kinds(names)


def begin_of(courses: Sequence[FlowCourse]) -> float | None:
    """Return the time of the first sample; None without any."""
    return min((course.times[0] for course in courses if len(course)), default=None)


def _rate(course: FlowCourse, begin: float, edges: Numbers) -> Numbers:
    """Return newly delivered bytes, in kbit/s: an ACK that fills a gap delivers one segment."""
    if not len(course):
        return np.full(len(edges) - 1, np.nan)
    grown = np.diff(
        np.interp(edges, np.asarray(course.times) - begin, np.asarray(course.delivered))
    )
    rates: Numbers = grown * 8 / 1000 / np.diff(edges)
    return rates


def _held(name: str) -> Callable[[FlowCourse, float, Numbers], Numbers]:
    """Return the last sample before the middle of each time, none outside the flow's life."""

    def of(course: FlowCourse, begin: float, edges: Numbers) -> Numbers:
        times, values = np.asarray(course.times) - begin, getattr(course, name)
        middles = (edges[1:] + edges[:-1]) / 2
        at = np.searchsorted(times, middles, side="right") - 1
        if not len(times):
            return np.full(len(middles), np.nan)
        outside = (at < 0) | (middles > times[-1])
        return np.where(outside, np.nan, np.asarray(values)[np.maximum(at, 0)])

    return of


_OF_FLOW = {"rate": _rate, "delay": _held("delays"), "window": _held("windows")}
IN_SERIES = tuple(_OF_FLOW)
"""Quantities of a series. Rates of flows that share a line add up, others have their mean."""


def binned(name: str, courses: Sequence[FlowCourse], begin: float, edges: Numbers) -> Numbers:
    """Return a quantity of flows together between the edges, in seconds since `begin`.

    It is NaN where no flow has a value.
    """
    of_flows = np.array([_OF_FLOW[name](course, begin, edges) for course in courses])
    none = np.isnan(of_flows).all(axis=0)
    together = np.nansum(of_flows, axis=0) if name == "rate" else mean(of_flows, 0)
    return np.where(none, np.nan, together)


def mean(values: Numbers, axis: int) -> Numbers:
    """Return the mean of the values that are there, 0 of none."""
    counts = np.maximum((~np.isnan(values)).sum(axis=axis), 1)
    means: Numbers = np.nansum(values, axis=axis) / counts
    return means


def series_record(readings: Sequence[TrialReadings]) -> dict[str, Any]:
    """Return the series of a run of one seed: rows of a sweep's series.csv, a few kilobytes."""
    return {"version": SERIES_VERSION, "rows": [row for trial in readings for row in _rows(trial)]}


def _rows(trial: TrialReadings) -> Iterator[list[Any]]:
    """Yield condition, flow, quantity, seconds and values of each line of a trial."""
    courses = {each.flow.name: FlowCourse.of(each.samples) for each in trial.by_flow}
    begin = begin_of(list(courses.values()))
    if begin is None:
        return
    end = max(course.times[-1] for course in courses.values() if len(course)) - begin
    edges = np.linspace(0, end or 1.0, BINS + 1)
    for words, chosen in list(lines_of(list(courses)).items())[:MOST_LINES]:
        of_line = [courses[name] for name in courses if name in chosen]
        for name in IN_SERIES if any(map(len, of_line)) else ():
            values = binned(name, of_line, begin, edges).tolist()
            shown = [None if value != value else _short(value) for value in values]
            yield [trial.trial.condition.name, words, name, _short(edges[-1]), *shown]


def _short(value: float) -> float:
    """Return the value with a few digits, as a whole number if it is one."""
    shorter = float(f"{value:.{_DIGITS}g}")
    return int(shorter) if shorter == int(shorter) else shorter
