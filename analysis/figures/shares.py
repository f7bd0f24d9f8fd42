"""What every flow got: a bar for each, and the share that all would have if they were alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.measures.flow_measures import FlowMeasures
from analysis.rendering.figure_style import BLUE, GREY, MOST_COLUMNS, ORANGE, grid, png, settings

_NAMED = 12
"""Bars that can carry a name."""


@dataclass(frozen=True)
class SharesPanel:
    """A title, and for each flow its name, its goodput in Mbit/s, and whether it is UDP."""

    title: str
    bars: Sequence[tuple[str, float, bool]]


def of_flows(label: str, flows: Sequence[FlowMeasures]) -> SharesPanel:
    """The flows of a condition, UDP before TCP and the fastest first."""
    bars = [
        (flow.flow.name, flow.goodput / 1000, flow.flow.protocol == "udp")
        for flow in flows
        if flow.goodput is not None
    ]
    return SharesPanel(label, sorted(bars, key=lambda bar: (not bar[2], -bar[1])))


def draw(panels: Sequence[SharesPanel]) -> bytes:
    """A PNG with one pair of axes for each condition, all with the same scale."""
    shown = panels[:MOST_COLUMNS]
    with settings():
        figure, (row,) = grid(1, len(shown), 3.6, share=True)
        for axes, panel in zip(row, shown, strict=True):
            _bars(axes, panel)
        row[0].set_ylabel("Mbit/s at the receiver")
        row[0].set_ylim(bottom=0)
        return png(figure)


def _bars(axes: Axes, panel: SharesPanel) -> None:
    places = range(1, len(panel.bars) + 1)
    rates = [rate for _, rate, _ in panel.bars]
    axes.bar(places, rates, color=[ORANGE if udp else BLUE for *_, udp in panel.bars])
    if rates:
        share = sum(rates) / len(rates)
        axes.axhline(share, color=GREY, linestyle="--", linewidth=1.5)
        axes.annotate(
            f"alike: {share:.3g}",
            (1, share),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            color=GREY,
        )
    axes.grid(axis="x", visible=False)
    if len(panel.bars) <= _NAMED:
        axes.set_xticks(
            list(places),
            [name for name, *_ in panel.bars],
            rotation=30 if len(panel.bars) > 6 else 0,
        )
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_xlabel("flow, the fastest first")
    axes.set_title(panel.title)
