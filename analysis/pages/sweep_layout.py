"""Factors of a sweep along axes, by colour and by panels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan

import numpy as np

from analysis.graphs.distributions import SweptAxis
from analysis.graphs.layers import Axis, Graph, Layer, line
from analysis.measures.sweep_folder import CONDITION, Numbers, SweepRecord
from analysis.statistics.sweep_samples import Place

Levels = dict[int, int]  # value of some factors, both by number
MOST_PANELS = 12


@dataclass(frozen=True)
class Layout:
    """One graph of `sweep`: the factor `across`, the `series` by colour, panels of the `rest`."""

    sweep: SweepRecord
    across: int | None
    series: int | None
    rest: tuple[int, ...]
    panels: tuple[Levels, ...]
    left_out: str

    def title(self, levels: Levels) -> str:
        return self.sweep.described(self.place(levels), self.rest)

    def place(self, levels: Levels) -> Place:
        """Return the cell at `levels`; factors that are not named have one value only."""
        return tuple(levels.get(axis, 0) for axis in range(len(self.sweep.factors)))

    def lines(self, levels: Levels) -> list[tuple[str, Levels]]:
        if self.series is None:
            return [("", levels)]
        names = self.sweep.factors[self.series].values
        return [(name, levels | {self.series: level}) for level, name in enumerate(names)]

    def words(self, name: str) -> str:
        """Return what a line's level is called, such as "delay 50ms" or a condition's label."""
        return name if self.compared == CONDITION else f"{self.compared} {name}".strip()

    @property
    def compared(self) -> str:
        """Name of the factor with a colour per level; empty if there is none."""
        return "" if self.series is None else self.sweep.factors[self.series].short

    @property
    def names(self) -> list[str]:
        """The names of the lines."""
        return [name for name, _ in self.lines({})]

    def cells(self, levels: Levels) -> list[Place]:
        """Return the cells along the factor `across`, all others at `levels`."""
        assert self.across is not None
        steps = range(self.sweep.shape[self.across])
        return [self.place(levels | {self.across: step}) for step in steps]

    def line(
        self, axis: SweptAxis, medians: Numbers, series: int, of: tuple[str, Levels]
    ) -> tuple[Layer, ...]:
        """Return the line of a series through its medians; none without a median."""
        name, levels = of
        places = zip(axis.positions, self.cells(levels), strict=True)
        known = [(at, value) for at, place in places if not isnan(value := medians[place])]
        if not known:
            return ()
        x, y = np.array(sorted(known), dtype=float).T
        return line(x, y, series, self.words(name) or "median")

    def graphs(
        self,
        key: str,
        axes: tuple[Axis, Axis],
        draw: Callable[[int, str, Levels], Iterable[Layer]],
        height: int = 260,
    ) -> tuple[Graph, ...]:
        """Return a graph for each panel; `draw` takes number, name and levels of each series."""
        drawn = [
            tuple(
                layer
                for series, (name, at) in enumerate(self.lines(levels))
                for layer in draw(series, name, at)
            )
            for levels in self.panels
        ]
        return tuple(
            Graph(f"{key}_{number}", self.title(levels), "", *axes, layers, height=height)
            for number, (levels, layers) in enumerate(zip(self.panels, drawn, strict=True))
        )


def _layout(
    sweep: SweepRecord, across: int | None, series: int | None, rest: Sequence[int]
) -> Layout:
    levels = product(*(range(sweep.shape[axis]) for axis in rest))
    every = [dict(zip(rest, each, strict=True)) for each in levels]
    kept = chosen(len(every))
    left_out = f" {len(kept)} of {len(every)} combinations are shown; the tables have all."
    panels = tuple(every[at] for at in kept)
    return Layout(sweep, across, series, tuple(rest), panels, left_out * (len(kept) < len(every)))


def chosen(count: int) -> list[int]:
    """Return up to `MOST_PANELS` of `count` places, evenly spread with both ends."""
    spread = np.linspace(0, count - 1, min(count, MOST_PANELS))
    return sorted({round(at) for at in spread})


def for_lines(sweep: SweepRecord) -> Layout | None:
    """Return lines along the quantity with most values, preferably not the compared one."""
    varied, shape = _varied(sweep), sweep.shape
    quantities = [axis for axis in varied if sweep.factors[axis].is_quantity]
    if not quantities:
        return None
    across = max(quantities, key=lambda axis: (axis != sweep.compare, shape[axis]))
    left = [axis for axis in varied if axis != across]
    series = sweep.compare
    if series not in left:
        series = min(left, key=lambda axis: shape[axis], default=None)
    return _layout(sweep, across, series, [axis for axis in left if axis != series])


def for_runs(sweep: SweepRecord) -> Layout:
    """Return single runs: colours by the compared or first factor, panels by others."""
    varied = _varied(sweep)
    series = sweep.compare if sweep.compare is not None else next(iter(varied), None)
    return _layout(sweep, None, series, [axis for axis in varied if axis != series])


def for_courses(sweep: SweepRecord, many_flows: bool) -> Layout:
    """Return a panel for each combination; conditions of a single flow share one by colour."""
    varied = _varied(sweep)
    conditions = [axis for axis in varied if sweep.factors[axis].name == CONDITION]
    series = None if many_flows else next(iter(conditions), None)
    return _layout(sweep, None, series, [axis for axis in varied if axis != series])


def _varied(sweep: SweepRecord) -> list[int]:
    return [axis for axis, count in enumerate(sweep.shape) if count > 1]
