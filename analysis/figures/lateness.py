"""How late packets were, in places and in time.

The share of packets that were late by at least so many places, and by at least so long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import ScalarFormatter

from analysis.rendering.figure_style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    grid,
    png,
    settings,
)

_LINEAR = 300
"""Packets up to which a linear axis shows all."""
_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE)


@dataclass(frozen=True)
class LatenessCurve:
    """A condition's late packets (order.late), of `arrived` in all."""

    label: str
    late: pl.DataFrame
    arrived: float


def draw(curves: Sequence[LatenessCurve], threshold: float | None, waits: float | None) -> bytes:
    """A PNG of both shares.

    `threshold` is tcp_reordering in packets, `waits` the time in ms that RACK waits at first.
    """
    with settings():
        figure, ((places, times),) = grid(1, 2, 4.2, share=True)
        for curve, colour in zip(curves, _COLOURS, strict=False):
            _curve(places, curve.late["extent"], curve, colour)
            _curve(times, curve.late["extent_time"] / 1e6, curve, colour)
        _mark(places, threshold, "tcp_reordering")
        _mark(times, waits, "a quarter of the\nleast round trip")
        places.set_xlabel("late by at least so many packets")
        times.set_xlabel("late by at least so many ms")
        places.set_ylabel("share of packets (%)")
        if places.get_xlim()[1] > _LINEAR:
            places.set_xscale("log")
            places.xaxis.set_major_formatter(ScalarFormatter())
        places.set_ylim(bottom=0)
        places.set_title("Late by packets (extent)")
        times.set_title("Late by time")
        times.legend(loc="upper right", fontsize=10)
        return png(figure)


def _curve(axes: Axes, values: pl.Series, curve: LatenessCurve, colour: str) -> None:
    ordered = np.sort(values.to_numpy())
    shares = 100 * np.arange(len(ordered), 0, -1) / max(curve.arrived, 1)
    axes.step(ordered, shares, color=colour, label=curve.label)


def _mark(axes: Axes, at: float | None, name: str) -> None:
    """A threshold, if it lies among the values."""
    if at is not None and at <= axes.get_xlim()[1]:
        axes.axvline(at, color=GREY, linestyle="--", linewidth=1)
        axes.annotate(
            name,
            (at, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            color=GREY,
            fontsize=10,
        )
