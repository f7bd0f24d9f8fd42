"""The figures of two kernels beside each other: the second divided by the first, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from analysis.rendering import figure_style
from analysis.rendering.colours import BLUE, GREY, VERMILLION

_COLOURS = {"larger": VERMILLION, "smaller": BLUE}
_STEPS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100)
_LINE, _HEAD, _FOOT = 0.3, 0.5, 0.7  # inches


@dataclass(frozen=True)
class RatioMark:
    """A line: how many times the first kernel's value the second's is, with its interval."""

    label: str
    ratio: float
    low: float
    high: float
    verdict: str


def draw(marks: Sequence[RatioMark], axis: str) -> bytes:
    """A line for each mark, the first at the top, as a PNG file."""
    with figure_style.settings():
        height = _HEAD + _LINE * len(marks) + _FOOT
        figure = Figure(figsize=(15, height), dpi=100)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.56, _FOOT / height, 0.42, 1 - (_HEAD + _FOOT) / height))
        for place, mark in enumerate(reversed(marks)):
            colour = _COLOURS.get(mark.verdict, GREY)
            axes.plot([mark.low, mark.high], [place, place], color=colour, linewidth=2.5)
            axes.plot([mark.ratio], [place], "o", color=colour, markersize=7)
        axes.axvline(1, color="black", linewidth=1)
        axes.set_yticks(range(len(marks)), [mark.label for mark in reversed(marks)], fontsize=10)
        axes.set_ylim(-0.7, len(marks) - 0.3)
        _scale(axes, marks)
        axes.set_xlabel(axis)
        return figure_style.png(figure)


def _scale(axes: Axes, marks: Sequence[RatioMark]) -> None:
    """Logarithmic and as wide to both sides, so that twice and half look alike."""
    furthest = max(max(mark.high, 1 / mark.low) for mark in marks)
    end = next((step for step in _STEPS if step >= furthest), furthest)
    ticks = [step for step in _STEPS if step <= end][-4:]
    axes.set_xscale("log")
    axes.set_xlim(1 / end**1.05, end**1.05)
    axes.set_xticks([*(1 / step for step in reversed(ticks)), 1, *ticks])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
