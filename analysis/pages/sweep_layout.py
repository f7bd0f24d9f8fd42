"""Factors of a sweep along axes, by colour and by panels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from analysis.measures.sweep_folder import CONDITION, SweepRecord, SweptFactor
from analysis.statistics.sweep_samples import Place

Levels = dict[int, int]
"""Value of some factors, both by number."""


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


def _layout(
    sweep: SweepRecord, across: int | None, series: int | None, rest: Sequence[int]
) -> Layout:
    every = [
        dict(zip(rest, levels, strict=True))
        for levels in product(*(range(sweep.shape[axis]) for axis in rest))
    ]
    kept = chosen(len(every))
    all_kept = len(kept) == len(every)
    left_out = (
        ""
        if all_kept
        else f" {len(kept)} of {len(every)} combinations are shown; the tables have all."
    )
    return Layout(sweep, across, series, tuple(rest), tuple(every[at] for at in kept), left_out)


def for_lines(sweep: SweepRecord) -> Layout | None:
    """Return lines along a quantity, preferably not the compared one; None without a quantity."""
    varied = _varied(sweep)
    across = _finest_quantity(sweep, [axis for axis in varied if axis != sweep.compare])
    if across is None:
        across = _finest_quantity(sweep, varied)
    if across is None:
        return None
    left = [axis for axis in varied if axis != across]
    series = (
        sweep.compare
        if sweep.compare in left
        else min(left, key=lambda axis: sweep.shape[axis], default=None)
    )
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


def _finest_quantity(sweep: SweepRecord, axes: Sequence[int]) -> int | None:
    """Return the quantity with the most values, the first of equals."""
    quantities = [axis for axis in axes if sweep.factors[axis].is_quantity]
    return max(quantities, key=lambda axis: sweep.shape[axis], default=None)


MOST_PANELS = 12


def chosen(count: int, most: int = MOST_PANELS) -> list[int]:
    """Return up to `most` of `count` places, evenly spread with both ends."""
    if not count:
        return []
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))})


def axis_name(factor: SweptFactor) -> str:
    meaning = factor.meaning.rstrip(".")
    return f"{factor.short}: {meaning[:1].lower()}{meaning[1:]}" if meaning else factor.short
