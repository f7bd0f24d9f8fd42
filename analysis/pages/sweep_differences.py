"""Pictures of a sweep's differences: each with its interval, and of which metrics differ."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from analysis.graphs import distributions
from analysis.graphs.layers import BLUE, GREY, VERMILLION, Axis, Graph, GraphGroup, caption
from analysis.measures.metrics import Metric, columns
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages import sweep_layout
from analysis.reporting.over_seeds import axis_for, box_axis
from analysis.statistics.comparisons import LevelComparison
from analysis.statistics.paired_tests import DifferenceVerdict
from analysis.statistics.sweep_samples import SweepSamples

MOST_DIFFERENCES = 24
_APART = 1.05  # ratio of medians from which on a metric is drawn
_ROW = 24  # px
_LOOKS = {
    DifferenceVerdict.LARGER: distributions.look(VERMILLION, "triangle"),
    DifferenceVerdict.SMALLER: distributions.look(BLUE, "square"),
    DifferenceVerdict.UNSHOWN: distributions.look(GREY, "circle"),
}


def differences(
    sweep: SweepRecord, samples: SweepSamples, comparisons: Sequence[LevelComparison]
) -> GraphGroup | None:
    """Return each comparison's estimate and 95 % interval, as ratios if there are any."""
    known = [each for each in comparisons if each.paired and isfinite(each.paired.estimate)]
    scales = {each.paired.scale for each in known if each.paired}
    scale = "ratio" if "ratio" in scales else "difference"
    known = [each for each in known if each.paired and each.paired.scale == scale]
    largest = sorted(known, key=_size, reverse=True)[:MOST_DIFFERENCES]
    shown = [each for each in known if each in largest]
    if not shown:
        return None
    values = [(str(each.verdict), _ranged(each)) for each in shown]
    numbers = distributions.extremes([value for _, value in values])
    if scale == "ratio":
        label = f"the first of each row, divided by the second ({sweep.metric.title.lower()})"
        across = distributions.ratio_axis(label, numbers)
    else:
        widest = 1.05 * max(map(abs, numbers)) or 1.0
        label = f"the first of each row, less the second ({samples.unit})"
        across = Axis(label, "", range=(-widest, widest))
    looks = {str(verdict): (seen, str(verdict)) for verdict, seen in _LOOKS.items()}
    neutral = float(scale == "ratio")
    graph = distributions.verdict_rows("differences_0", across, values, looks, _ROW, neutral)
    left = len(comparisons) - len(shown)
    rest = f" {left} of {len(comparisons)} comparisons are in the tables only." if left else ""
    title = f"{sweep.metric.title}: differences"
    return GraphGroup("differences", title, caption("differences") + rest, (graph,))


def _size(each: LevelComparison) -> float:
    assert each.paired
    estimate = each.paired.estimate
    is_ratio = each.paired.scale == "ratio"
    return abs(float(np.log(max(estimate, 1e-9)))) if is_ratio else abs(estimate)


def _ranged(each: LevelComparison) -> distributions.RangedValue:
    assert each.paired
    name = f"{each.in_words(each.second)} : {each.in_words(each.first)}"
    low, high = each.paired.low, each.paired.high
    interval = None if low is None or high is None else (low, high)
    where = f"{each.where}, " if each.where else ""
    return distributions.RangedValue(0, each.paired.estimate, interval=interval, name=where + name)


def metrics_that_differ(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return the medians of the metrics that differ over the grid, each on an axis that fits."""
    shape = sweep_layout.for_lines(sweep)
    if shape is None or shape.across is None or len(shape.panels) != 1:
        return None
    (levels,) = shape.panels
    factor = sweep.factors[shape.across]
    axis = distributions.swept(factor.values, samples.amounts[shape.across])
    drawn, below = [], distributions.ticked(axis, factor.short)
    for metric in _differing(sweep, samples):
        medians = np.where(np.isinf(found := samples.medians[metric.name]), np.nan, found)
        of = enumerate(shape.lines(levels))
        lines = [layer for series, each in of for layer in shape.line(axis, medians, series, each)]
        values = [value for each in lines for value in each.y.tolist()]
        up = box_axis(axis_for(metric.title.lower(), samples.units[metric.name]), values)
        key = f"metric_{metric.name}"
        drawn.append(Graph(key, metric.title, "", below, up, tuple(lines), height=200))
    words = "Medians over the seeds of the metrics that differ most; an axis fits its values."
    return GraphGroup("metrics", "What else differs", words, tuple(drawn)) if drawn else None


_MAIN = (
    *("goodput_kbit_s", "rtt_median_ms", "retransmitted_percent"),
    *("timeouts", "lost_percent", "queue_drops"),
)
_OF_MANY_FLOWS = ("total_goodput_kbit_s", "jain_index")


def other_metrics(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    shown = (*_MAIN, *_OF_MANY_FLOWS) if samples.has_many_flows else _MAIN
    return [
        metric
        for name, metric in columns().items()
        if name in shown and metric != sweep.metric and not np.isnan(samples.medians[name]).all()
    ]


def _differing(sweep: SweepRecord, samples: SweepSamples) -> list[Metric]:
    found = []
    for metric in other_metrics(sweep, samples):
        known = samples.medians[metric.name][np.isfinite(samples.medians[metric.name])]
        if known.min() >= 0 and known.max() > _APART * known.min():
            found.append((known.max() / max(known.min(), 1e-3 * known.max()), metric))
    return [metric for _, metric in sorted(found, key=lambda each: -each[0])]
