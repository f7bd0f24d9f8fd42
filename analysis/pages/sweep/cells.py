"""The table of a sweep's cells: medians and intervals of its metric, medians of others."""

import numpy as np

from analysis.measures.metrics import Metric, columns
from analysis.measures.results import NOTHING
from analysis.measures.sweep_folder import SweepRecord
from analysis.statistics.sweep_samples import Place, SweepSamples
from analysis.statistics.wording import COPIES, decimals, fixed, signed, with_unit

_MAIN = (
    "goodput_kbit_s",
    "rtt_median_ms",
    "retransmitted_percent",
    "timeouts",
    "lost_percent",
    "queue_drops",
)
_OF_MANY_FLOWS = ("total_goodput_kbit_s", "jain_index")


def _other_metrics(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    """Return the metrics next to the chosen one that have a column."""
    shown = (*_MAIN, *_OF_MANY_FLOWS) if samples.has_many_flows else _MAIN
    return [
        metric
        for name, metric in columns().items()
        if name in shown and metric != sweep.metric and not np.isnan(samples.medians[name]).all()
    ]


def _chosen(samples: SweepSamples, place: Place) -> tuple[str, str, str]:
    """Return the median, its interval, and half the interval in percent of the median."""
    interval = samples.intervals.get(place)
    if interval is None:
        return signed(float(samples.median[place])), NOTHING, NOTHING
    if interval.low == interval.high:
        return signed(float(samples.median[place])), COPIES, NOTHING
    places = decimals(interval.low, interval.high)
    median, low, high = (
        fixed(value, places) for value in (interval.median, interval.low, interval.high)
    )
    half = 50 * (interval.high - interval.low) / abs(interval.median) if interval.median else None
    return median, f"{low} to {high}", NOTHING if half is None else f"{half:.2g} %"


def cell_table(sweep: SweepRecord, samples: SweepSamples) -> tuple[list[str], list[list[str]]]:
    """Return the head, and a row for each cell of the grid that has a value."""
    others = _other_metrics(sweep, samples)
    places = [tuple(map(int, place)) for place in np.argwhere(samples.counts > 0)]
    head = [
        *(factor.short for factor in sweep.factors),
        "Seeds",
        with_unit(sweep.metric.title, samples.unit),
        "95 % interval",
        "\N{PLUS-MINUS SIGN}",
        *(with_unit(metric.title, samples.units[metric.name]) for metric in others),
    ]
    rows = [
        [
            *(factor.values[level] for factor, level in zip(sweep.factors, place, strict=True)),
            str(samples.counts[place]),
            *_chosen(samples, place),
            *(signed(float(samples.medians[metric.name][place])) for metric in others),
        ]
        for place in places
    ]
    return head, rows
