"""Elapsed times of repetitions: a dot for each, a bar for the average."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from analysis.rendering.figure_style import BLUE, GREY, VERMILLION, grid, png, settings


def draw(groups: Sequence[tuple[str, Sequence[float]]]) -> bytes:
    """A PNG; each group has a label and times in s, and `published` is grey."""
    with settings():
        figure, ((axes,),) = grid(1, 1, 3.6, share=False)
        for at, (label, times) in enumerate(groups):
            colour = GREY if label == "published" else BLUE
            around = [at + 0.02 * (number - (len(times) - 1) / 2) for number in range(len(times))]
            axes.plot(around, times, "o", color=colour, markersize=5, alpha=0.8)
            if times:
                axes.hlines([fmean(times)], at - 0.2, at + 0.2, color=VERMILLION, linewidth=3)
                axes.annotate(
                    f"{fmean(times):.4g} s",
                    (at + 0.22, fmean(times)),
                    va="center",
                    color=VERMILLION,
                )
        axes.set_xticks(range(len(groups)), [label for label, _ in groups])
        axes.set_xlim(-0.5, len(groups) - 0.5)
        axes.set_ylim(0, 1.15 * max((time for _, times in groups for time in times), default=1))
        axes.set_ylabel("seconds")
        return png(figure)
