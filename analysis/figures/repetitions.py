"""All repetitions at once: every seed is a dot, and a line joins the conditions that shared it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.rendering.figure_style import BLUE, VERMILLION, grid, png, settings


@dataclass(frozen=True)
class RepeatedQuantity:
    """One quantity: its title and unit, and for every seed one value per condition."""

    title: str
    unit: str
    pairs: Sequence[Sequence[float]]


def draw(labels: Sequence[str], comparisons: Sequence[RepeatedQuantity]) -> bytes:
    """A PNG with one column per comparison."""
    with settings():
        figure, rows = grid(1, len(comparisons), 4.2, share=False, below=0.4)
        for axes, comparison in zip(rows[0], comparisons, strict=True):
            _compare(axes, labels, comparison)
        return png(figure)


def _compare(axes: Axes, labels: Sequence[str], comparison: RepeatedQuantity) -> None:
    places = range(len(labels))
    faint = max(0.15, min(0.7, 10 / len(comparison.pairs)))
    for pair in comparison.pairs:
        axes.plot(places, pair, "-o", color=BLUE, alpha=faint, linewidth=1, markersize=5)
    for at, values in enumerate(zip(*comparison.pairs, strict=True)):
        _median(axes, at, median(values))
    axes.set_xticks(list(places), list(labels))
    axes.set_xlim(-0.4, len(labels) - 0.6)
    highest = max(value for pair in comparison.pairs for value in pair)
    axes.set_ylim(0, 1.2 * highest if highest > 0 else 1)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.set_ylabel(comparison.unit)
    axes.set_title(f"{comparison.title}, {len(comparison.pairs)} repetitions")


def _median(axes: Axes, at: int, middle: float) -> None:
    box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1}
    axes.hlines([middle], at - 0.12, at + 0.12, color=VERMILLION, linewidth=4)
    text = f"median {middle:,.0f}" if middle >= 100 else f"median {middle:.3g}"
    axes.annotate(
        text,
        (at, middle),
        (0, 12),
        textcoords="offset points",
        ha="center",
        color=VERMILLION,
        fontweight="bold",
        bbox=box,
    )
