"""A law as a line with its tolerance, and what a run measured as dots."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.figures.panels import scale
from analysis.rendering.figure_style import BLUE, GREY, VERMILLION, grid, png, settings
from analysis.theory.law_graph import LawGraph, LawLine

_MANY = 30
"""Dots from which on they are small."""


def draw(graph: LawGraph) -> bytes:
    """A PNG with one pair of axes."""
    with settings():
        figure, ((axes,),) = grid(1, 1, 4.6, share=False, below=0.7)
        for line in graph.lines:
            _line(axes, line)
        if graph.tolerance:
            _band(axes, graph)
        small = len(graph.dots[0]) > _MANY  # then the line is seen on them
        axes.plot(
            *graph.dots,
            "o",
            color=VERMILLION,
            markersize=6 if small else 8,
            alpha=0.4 if small else 1,
            markeredgewidth=0,
            label="measured",
            zorder=1.5 if small else 3,
        )
        _axes(axes, graph)
        axes.legend(loc="best", fontsize=11)
        return png(figure)


def _line(axes: Axes, line: LawLine) -> None:
    color, style, width = (GREY, "--", 1.5) if line.other else (BLUE, "-", 2.0)
    axes.plot(line.across, line.up, style, color=color, linewidth=width, label=line.label)


def _band(axes: Axes, graph: LawGraph) -> None:
    """The tolerance around the first line."""
    across, up = graph.lines[0].across, np.array(graph.lines[0].up)
    low, high = up * (1 - graph.tolerance), up * (1 + graph.tolerance)
    label = f"\N{PLUS-MINUS SIGN} {100 * graph.tolerance:g} %"
    axes.fill_between(across, low, high, color=BLUE, alpha=0.15, linewidth=0, label=label)


def _axes(axes: Axes, graph: LawGraph) -> None:
    across, up = graph.labels
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    scale(axes, "x", "x" in graph.logarithmic)
    scale(axes, "y", "y" in graph.logarithmic)
    if "y" not in graph.logarithmic:
        axes.set_ylim(bottom=0)
    if all(value == int(value) for value in graph.dots[0]):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
