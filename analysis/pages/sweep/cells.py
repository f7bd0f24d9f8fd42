"""The table of all cells: the factors' values, the chosen metric, medians of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.measures.run_results import NOTHING
from analysis.records import row_columns
from analysis.records.row_columns import METRICS, Metric
from analysis.records.sweep_folder import SweepRecord
from analysis.statistics.metric_wording import decimals, fixed, labelled, signed
from analysis.statistics.sweep_samples import Place, SweepSamples

_MAIN = (
    row_columns.GOODPUT,
    row_columns.RTT_MEDIAN,
    row_columns.RETRANSMITTED_BYTES,
    row_columns.TIMEOUTS,
    row_columns.LOST,
    row_columns.QUEUE_DROPS,
)
_OF_MANY_FLOWS = (row_columns.TOTAL_GOODPUT, row_columns.JAIN_INDEX)


def shown_metrics(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    """The metrics beside the chosen one that have a column."""
    columns = (*_MAIN, *_OF_MANY_FLOWS) if samples.has_many_flows else _MAIN
    return [
        metric
        for metric in METRICS
        if metric in columns
        and metric != sweep.metric
        and not np.isnan(samples.medians[metric.name]).all()
    ]


def first(samples: SweepSamples, most: int) -> list[Place]:
    """The first `most` cells that have a value, in the order of the grid."""
    return [tuple(map(int, place)) for place in np.argwhere(samples.counts > 0)[:most]]


def head(sweep: SweepRecord, samples: SweepSamples, columns: Sequence[Metric]) -> list[str]:
    """The names of the columns."""
    others = (labelled(metric, samples.units[metric.name]) for metric in columns)
    factors = (factor.short for factor in sweep.factors)
    return [
        *factors,
        "Seeds",
        labelled(sweep.metric, samples.unit),
        "95 % interval",
        "\N{PLUS-MINUS SIGN}",
        *others,
    ]


def row(
    sweep: SweepRecord, samples: SweepSamples, place: Place, columns: Sequence[Metric]
) -> list[str]:
    """One cell of the grid as text."""
    levels = (factor.values[level] for factor, level in zip(sweep.factors, place, strict=True))
    others = (signed(float(samples.medians[metric.name][place])) for metric in columns)
    return [*levels, str(samples.counts[place]), *_chosen(samples, place), *others]


def _chosen(samples: SweepSamples, place: Place) -> tuple[str, str, str]:
    """The median, its interval, and half the interval in percent of the median."""
    interval = samples.intervals.get(place)
    if interval is None or interval.low == interval.high:
        same = NOTHING if interval is None else signed(interval.low)
        return signed(float(samples.median[place])), same, NOTHING if interval is None else "0 %"
    places = decimals(interval.low, interval.high)
    median, low, high = (
        fixed(value, places) for value in (interval.median, interval.low, interval.high)
    )
    half = 50 * (interval.high - interval.low) / abs(interval.median) if interval.median else None
    return median, f"{low} to {high}", NOTHING if half is None else f"{half:.2g} %"
