"""Elapsed times in the columns of the original, and its own ten times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from analysis.measures.run_results import NOTHING
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.published_file import published_rows
from analysis.reporting.swept_runs import SweptCell, varied
from analysis.reporting.tables import Listing

REPETITIONS = 10
"""Columns of elapsed times: as many as were published."""
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
NOTES = (
    (
        "Elapsed time of each repetition at the sender, in s. The spread is the mean distance from"
        " the average, which is what the original's column holds."
    ),
    f"Throughput = {FRAME} x requests / average time, as in the original.",
)
_PUBLISHED = {"bw": "100mbit", "delay": "50us", "jitter": "0s", "requests": "100000"}
"""Settings of the published times, whatever was dropped; the delay is that of a laboratory's own
cables.
"""


def spread_of(times: Sequence[float]) -> float:
    """The mean distance of `times` from their average, in their unit."""
    average = fmean(times)
    return fmean(abs(time - average) for time in times)


def cells(times: Sequence[float], requests: float) -> tuple[str, ...]:
    """The original's columns for elapsed times in s.

    Of more than ten times the first ten are shown, and all count.
    """
    shown = [f"{time:.2f}" for time in times[:REPETITIONS]]
    blank = [NOTHING] * (REPETITIONS - len(shown))
    if not times:
        return (*blank, *[NOTHING] * 4)
    average, distance = fmean(times), spread_of(times)
    last = (f"{100 * distance / average:.2g} %", f"{FRAME * requests / average:,.0f}")
    return (*shown, *blank, f"{average:.3f}", f"{distance:.4f}", *last)


def published_times(percent: float) -> list[float]:
    """The ten published times for a share dropped, in s; empty for one that was not published."""
    rows = published_rows(Path(__file__).with_name("published.csv"))
    row = next((row for row in rows if float(row["drop_percent"]) == percent), None)
    return (
        [float(row[f"elapsed_s_{number}"]) for number in range(1, REPETITIONS + 1)] if row else []
    )


def as_published(parameters: Mapping[str, str]) -> bool:
    """Whether all but the share dropped is as in the published experiment."""
    return all(parameters.get(name) == value for name, value in _PUBLISHED.items())


def percent(loss: str) -> float | None:
    """`0.1%` as 0.1, or None."""
    try:
        return float(loss.removesuffix("%"))
    except ValueError:
        return None


def by_share(sweep: SweepRecord, swept: Sequence[SweptCell]) -> tuple[Listing, ...]:
    """The original's table for a sweep, with its line above ours if all else is as published."""
    rows: list[tuple[str, ...]] = []
    shown: set[float] = set()
    for cell in swept:
        settings = _settings(sweep, cell)
        dropped = percent(settings.get("loss", ""))
        requests = float(settings.get("requests", 0))
        if dropped is not None and dropped not in shown and as_published(settings):
            shown.add(dropped)
            if times := published_times(dropped):
                rows.append((f"published, {settings['loss']}", *cells(times, requests)))
        ours = [row["client_seconds"] for run in cell.runs for row in run]
        rows.append((cell.name, *cells([time for time in ours if time is not None], requests)))
    return (Listing("Elapsed times", (varied(sweep), *HEAD), tuple(rows), NOTES),)


def _settings(sweep: SweepRecord, cell: SweptCell) -> dict[str, str]:
    """The parameters of a cell: the sweep's, and what the rows of its runs hold."""
    first = cell.runs[0][0]
    return sweep.parameters | {
        name: str(value) for name, value in first.items() if value is not None
    }
