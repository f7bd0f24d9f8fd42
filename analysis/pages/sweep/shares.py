"""The flows' shares of a sweep's runs, stacked over the levels of a factor."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.graphs.distributions import SHARE
from analysis.graphs.layers import DOT, Graph, GraphGroup, Layer, SeriesLook, named
from analysis.measures.course_bins import lines_of
from analysis.measures.sweep_folder import SweepRecord
from analysis.pages.sweep import layout
from analysis.reporting.sweeps import Row, swept_cells
from topologies.foundation.untrusted import StrangeFile

_GOODPUT = "goodput_kbit_s"
_STACK = SeriesLook("", DOT.colour)
_HALF = 0.38


def shares(sweep: SweepRecord) -> GraphGroup | None:
    """Return stacked shares of the goodput for each level; None for runs of a single flow.

    None too if the rows cannot be read (sweep_samples).
    """
    try:
        runs = {cell.place: cell.runs for cell in swept_cells(sweep)}
        flows = dict.fromkeys(row["flow"] for cell in runs.values() for run in cell for row in run)
    except (OSError, KeyError, ValueError, TypeError, StrangeFile):
        return None
    if len(flows) < 2:
        return None
    stacked = lines_of(list(flows))
    shape = layout.for_runs(sweep)
    drawn = tuple(
        Graph(
            f"shares_{number}",
            shape.title(levels),
            "",
            named(shape.compared, [name for name, _ in shape.lines(levels)]),
            SHARE,
            tuple(
                _stack([runs.get(shape.place(at), []) for _, at in shape.lines(levels)], stacked)
            ),
        )
        for number, levels in enumerate(shape.panels)
    )
    caption = f"Means over the seeds of each flow's goodput, as a share of all.{shape.left_out}"
    return GraphGroup("shares", "How flows share the link", caption, drawn)


def _stack(
    levels: Sequence[Sequence[Sequence[Row]]], stacked: Mapping[str, set[str]]
) -> Iterator[Layer]:
    """Yield a layer for each flow: a box at each level, on top of those of the flows before."""
    below = np.zeros(len(levels))
    at = np.arange(len(levels), dtype=float)
    for number, (words, chosen) in enumerate(stacked.items()):
        above = below + np.array([_mean_share(runs, chosen) for runs in levels])
        yield Layer(
            _STACK, "boxes", at - _HALF, below, above, at + _HALF, words=words, series=number
        )
        below = above


def _mean_share(runs: Sequence[Sequence[Row]], chosen: set[str]) -> float:
    """Return the mean over the runs that carried data; 0 without one."""
    found = []
    for run in runs:
        rates = {row["flow"]: row[_GOODPUT] or 0.0 for row in run}
        if total := sum(rates.values()):
            found.append(sum(rate for flow, rate in rates.items() if flow in chosen) / total)
    return float(np.mean(found)) if found else 0.0
