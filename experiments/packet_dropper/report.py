"""Packet dropper: elapsed times in the columns of the original, and the cost of a drop."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from analysis.fmt import NOTHING, written
from analysis.graphs.layers import DOT, Axis, Graph, GraphGroup, Layer, alone, bars, named, spread
from analysis.measures.results import RunResults
from analysis.measures.sweep_folder import SweepRecord
from analysis.reporting.answers import called, middle, parameter
from analysis.reporting.effects import SweptCell, varied
from analysis.reporting.studies import StudyReport, answers_from
from analysis.reporting.tables import Listing, Quantities, published_rows
from experiments.packet_dropper import ON_THE_LINK

REPETITIONS = 10  # columns of elapsed times: as many as were published
FRAME = 1526
"""Bytes that the original counts for a request of 1448: with headers of TCP, IP and Ethernet."""
HEAD = (
    *(f"{number}{ending}" for number, ending in zip(range(1, 4), ("st", "nd", "rd"), strict=True)),
    *(f"{number}th" for number in range(4, REPETITIONS + 1)),
    "Average (s)",
    "Spread (s)",
    "Spread / average",
    "Throughput (byte/s)",
)
_PUBLISHED = {"bw": "100mbit", "delay": "50us", "jitter": "0s", "requests": "100000"}
"""Settings of the published times; the delay is that of a laboratory's cables."""


def spread_of(times: Sequence[float]) -> float:
    """Return the mean distance of `times` from their average, in their unit."""
    average = fmean(times)
    return fmean(abs(time - average) for time in times)


def cells(times: Sequence[float], requests: float) -> tuple[str, ...]:
    """Return the original's columns for elapsed times in s: ten times, and figures of all."""
    shown = [f"{time:.2f}" for time in times[:REPETITIONS]]
    blank = [NOTHING] * (REPETITIONS - len(shown))
    if not times:
        return (*blank, *[NOTHING] * 4)
    average, distance = fmean(times), spread_of(times)
    last = (f"{100 * distance / average:.2g} %", f"{FRAME * requests / average:,.0f}")
    return (*shown, *blank, f"{average:.3f}", f"{distance:.4f}", *last)


def published_times(parameters: Mapping[str, str]) -> list[float]:
    """Return the ten times, in s, that were published for these parameters; else none."""
    if any(parameters.get(name) != value for name, value in _PUBLISHED.items()):
        return []
    rows = published_rows(Path(__file__).with_name("published.csv"))
    found = (row for row in rows if f"{row['drop_percent']}%" == parameters.get("loss"))
    numbers = range(1, REPETITIONS + 1)
    return [float(row[f"elapsed_s_{number}"]) for row in found for number in numbers]


def by_share(sweep: SweepRecord, swept: Sequence[SweptCell]) -> tuple[Listing, ...]:
    """Return the original's table for a sweep, with published lines if all else is equal."""
    rows: dict[str, tuple[str, ...]] = {}
    for cell in swept:
        first = cell.runs[0][0]
        own = {name: str(value) for name, value in first.items() if value is not None}
        settings = sweep.parameters | own
        requests = _number(settings.get("requests", ""))
        if times := published_times(settings):
            rows.setdefault(f"published, {settings['loss']}", cells(times, requests))
        ours = [row["client_seconds"] for run in cell.runs for row in run]
        rows[cell.name] = cells([time for time in ours if time is not None], requests)
    lines = tuple((name, *columns) for name, columns in rows.items())
    return (Listing("Elapsed times", (varied(sweep), *HEAD), lines, Q.notes),)


Q = Quantities(__file__)


def _by_condition(results: RunResults) -> list[tuple[str, list[float]]]:
    """Return names and elapsed times: published ones, if any, then each condition's."""
    times = published_times(results.run.spec.parameters)
    ours = [(called(results, one), Q["ELAPSED"].of(results, one)) for one in results.run.conditions]
    return [*([("published", times)] if times else []), *ours]


def listings(results: RunResults) -> tuple[Listing, ...]:
    requests = _requests(results)
    rows = tuple((name, *cells(times, requests)) for name, times in _by_condition(results))
    head = (f"{parameter(results, 'loss')} dropped", *HEAD)
    return (Listing("Elapsed times", head, rows, Q.notes),)


def _requests(results: RunResults) -> float:
    return _number(parameter(results, "requests"))


def _number(requests: str) -> float:
    return float(requests) if requests.isdecimal() else 0.0


def graphs(results: RunResults) -> list[GraphGroup]:
    groups = _by_condition(results)
    if not any(times for name, times in groups if name != "published"):
        return []
    known = {float(at): fmean(times) for at, (_, times) in enumerate(groups) if times}
    drawn = Graph(
        "elapsed",
        "Elapsed time",
        "Every dot is one repetition, the bar is the average.",
        named("", [name for name, _ in groups]),
        Axis("elapsed time", "s", zero=True),
        (_dots(groups), bars([*known], [*known.values()], 0.2, "average")),
    )
    return [alone(drawn)]


def _dots(groups: Sequence[tuple[str, Sequence[float]]]) -> Layer:
    across = [at + 0.3 * spread(len(times)) for at, (_, times) in enumerate(groups)]
    order = np.argsort(np.concatenate(across), kind="stable")
    values = np.concatenate([times for _, times in groups])
    return Layer(DOT, "dots", np.concatenate(across)[order], values[order], words="one repetition")


def against_the_link(results: RunResults) -> list[str]:
    """Compare the time with that of the link alone for the frames."""
    link, requests = results.link_rate, _requests(results)
    if not link or not requests:
        return []
    least = 8 * ON_THE_LINK * requests / (link * 1000)
    times = [
        (called(results, condition), middle(results, Q["ELAPSED"], condition))
        for condition in results.run.conditions
    ]
    multiples = " and ".join(
        f"{value / least:.3g} times that ({label})" for label, value in times if value
    )
    alone = (
        f"The link alone needs {written(least)} s for {written(requests)} frames of {ON_THE_LINK}"
        " bytes"
    )
    return [f"{alone}; it took {multiples}."]


REPORT = StudyReport(
    answers=answers_from(__file__, vars() | Q),
    listings=listings,
    graphs=graphs,
    short=Q.group("SHORT"),
    sweep_listings=by_share,
)
