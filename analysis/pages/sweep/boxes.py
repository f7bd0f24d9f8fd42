"""Boxes over the seeds of a sweep, and the axis of its metric."""

from collections.abc import Sequence

import numpy as np

from analysis.graphs.layers import Axis, GraphGroup, holding
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages.sweep import layout
from analysis.reporting.seed_distributions import (
    BOX_CAPTION,
    FEWEST_OF_A_BOX,
    box_axis,
    boxed_graph,
)
from analysis.statistics.sweep_samples import SweepSamples
from analysis.statistics.wording import with_unit


def value_axis(sweep: SweepRecord, samples: SweepSamples, values: Sequence[float]) -> Axis:
    """Return the axis that all panels share: logarithmic over decades, else from zero."""
    name = with_unit(sweep.metric.title, samples.unit)
    plain = Axis(name, "")
    if samples.unit in _RATES:
        label = name.removesuffix(f" ({samples.unit})")
        plain = Axis(label, "bit/s", _RATES[samples.unit])
    return holding(plain, values)


_RATES = {"kbit/s": 1e3, "Mbit/s": 1e6, "bit/s": 1.0}


def boxes(sweep: SweepRecord, samples: SweepSamples) -> GraphGroup | None:
    """Return a box over the seeds for each level; None with fewer than three seeds."""
    if int(samples.counts.max()) < FEWEST_OF_A_BOX:
        return None
    shape, metric = layout.for_runs(sweep), sweep.metric
    every = np.concatenate([samples.at(place) for place in samples.places])
    axis = box_axis(value_axis(sweep, samples, []), every.tolist())
    drawn = tuple(
        boxed_graph(
            f"boxes_{number}",
            shape.title(levels),
            [(name, samples.at(shape.place(at))) for name, at in shape.lines(levels)],
            axis,
            shape.compared,
        )
        for number, levels in enumerate(shape.panels)
    )
    caption = BOX_CAPTION + shape.left_out
    return GraphGroup("boxes", f"{metric.title}: middle half of the runs", caption, drawn)
