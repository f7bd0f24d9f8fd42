"""The table of all cells: the factors' values, the chosen metric, medians of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.measures.metrics import Metric, columns
from analysis.measures.results import NOTHING
from analysis.measures.sweep_folder import SweepRecord
from analysis.statistics.metric_wording import decimals, fixed, labelled, signed
from analysis.statistics.sweep_samples import Place, SweepSamples

_MAIN = (
    "goodput_kbit_s",
    "rtt_median_ms",
    "retransmitted_percent",
    "timeouts",
    "lost_percent",
    "queue_drops",
)
_OF_MANY_FLOWS = ("total_goodput_kbit_s", "jain_index")


def shown_metrics(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    """Return the metrics next to the chosen one that have a column."""
    shown = (*_MAIN, *_OF_MANY_FLOWS) if samples.has_many_flows else _MAIN
    return [
        metric
        for name, metric in columns().items()
        if name in shown and metric != sweep.metric and not np.isnan(samples.medians[name]).all()
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
