"""Rates and congestion windows of all flows over time: one column per condition, one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.measures.flow_measures import FlowMeasures
from analysis.rendering.figure_style import (
    BLUE,
    GREEN,
    GREY,
    MOST_COLUMNS,
    ORANGE,
    VERMILLION,
    grid,
    png,
    settings,
)


@dataclass(frozen=True)
class ConditionPanel:
    """A condition's label and its flows."""

    label: str
    flows: Sequence[FlowMeasures]


def draw(panels: Sequence[ConditionPanel], link: float | None) -> bytes:
    """A PNG with a row of rates and one of windows; `link` is the link's rate in kbit/s."""
    shown = panels[:MOST_COLUMNS]
    with settings():
        figure, rows = grid(2, len(shown), 3.3, share=True)
        for column, panel in enumerate(shown):
            _rates(rows[0][column], panel, link)
            _windows(rows[1][column], panel)
            rows[1][column].set_xlabel("seconds since the connections began")
        for row, unit in zip(rows, ("Mbit/s", "segments"), strict=True):
            row[0].set_ylabel(unit)
            row[0].set_ylim(0, row[0].get_ylim()[1] * 1.08)
            for axes in row:
                axes.set_xlim(0, _latest(shown))
        return png(figure)


def per_second(flow: FlowMeasures, seconds: int) -> NDArray[np.float64]:
    """What the client sent in each of the first `seconds`, in Mbit/s.

    A longer last interval counts for all its seconds.
    """
    rates = np.zeros(seconds)
    for line in flow.intervals:
        rates[round(line.start) : max(round(line.end), round(line.start) + 1)] = line.rate / 1000
    return rates


def _latest(panels: Sequence[ConditionPanel]) -> int:
    return max(
        (
            round(flow.intervals[-1].end)
            for panel in panels
            for flow in panel.flows
            if flow.intervals
        ),
        default=1,
    )


def _rates(axes: Axes, panel: ConditionPanel, link: float | None) -> None:
    seconds = _latest([panel])
    edges = np.arange(seconds + 1)
    below = np.zeros(seconds)
    for number, flow in enumerate(panel.flows):
        above = below + per_second(flow, seconds)
        axes.stairs(
            above,
            edges,
            baseline=below,
            fill=True,
            color=(GREEN, BLUE)[number % 2],
            alpha=0.5,
            linewidth=0,
        )
        below = above
    axes.stairs(below, edges, color=GREEN, linewidth=1.5)
    if link:
        axes.axhline(link / 1000, color=GREY, linestyle="--", linewidth=1)
        axes.text(
            0.99,
            link / 1000,
            "the link's rate ",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="bottom",
            color=GREY,
        )
    axes.set_title(f"{panel.label}: rate in each second")


def _windows(axes: Axes, panel: ConditionPanel) -> None:
    many = len(panel.flows) > 1
    for flow in panel.flows:
        times = [sample.time - flow.samples[0].time for sample in flow.samples]
        windows = [sample.cwnd for sample in flow.samples]
        axes.step(
            times, windows, where="post", color=VERMILLION, alpha=0.35 if many else 1.0, linewidth=1
        )
    first = panel.flows[0].samples if panel.flows else ()
    if first and not many:
        thresholds = [
            float("nan") if sample.ssthresh is None else sample.ssthresh for sample in first
        ]
        axes.step(
            [sample.time - first[0].time for sample in first],
            thresholds,
            where="post",
            color=ORANGE,
            linestyle=":",
            linewidth=2,
        )
    axes.set_title(f"{panel.label}: congestion window{'s' if many else ''}")
