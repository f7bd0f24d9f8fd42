"""All repetitions at once: every seed is a dot, and a line joins the conditions that shared it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.figures.style import BLUE, GREY, VERMILLION, grid, png, settings


@dataclass(frozen=True)
class Comparison:
    """One quantity: its title and unit, and for every seed one value per condition."""

    title: str
    unit: str
    pairs: Sequence[Sequence[float]]


def draw(labels: Sequence[str], comparisons: Sequence[Comparison]) -> bytes:
    """A PNG with one column per comparison."""
    with settings():
        figure, rows = grid(1, len(comparisons), 4.2, share=False, below=0.4)
        for axes, comparison in zip(rows[0], comparisons, strict=True):
            _compare(axes, labels, comparison)
        return png(figure)


def _compare(axes: Axes, labels: Sequence[str], comparison: Comparison) -> None:
    places = range(len(labels))
    for pair in comparison.pairs:
        axes.plot(
            places,
            pair,
            "-o",
            color=BLUE,
            alpha=max(0.15, min(0.7, 10 / len(comparison.pairs))),
            linewidth=1,
            markersize=5,
        )
    middles = [median(values) for values in zip(*comparison.pairs, strict=True)]
    axes.hlines(middles, [at - 0.12 for at in places], [at + 0.12 for at in places], color=VERMILLION, linewidth=4)
    for at, middle in zip(places, middles, strict=True):
        axes.annotate(
            f"median {middle:.4g}",
            (at, middle),
            (0, 12),
            textcoords="offset points",
            ha="center",
            color=VERMILLION,
            fontweight="bold",
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1},
        )
    axes.set_xticks(list(places), list(labels))
    axes.set_xlim(-0.4, len(labels) - 0.6)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.1)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.set_ylabel(comparison.unit)
    axes.set_title(f"{comparison.title}, {len(comparison.pairs)} repetitions")
    axes.axhline(0, color=GREY, linewidth=0.8)
