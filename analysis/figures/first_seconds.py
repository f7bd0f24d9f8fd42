"""The first seconds of transfers: published rates dashed, ours solid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.rendering.figure_style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILLION,
    grid,
    png,
    settings,
)

_OURS = (BLUE, VERMILLION, GREEN, ORANGE)
_THEIRS = (GREY, PURPLE)


@dataclass(frozen=True)
class RateLine:
    """A label and the rate of each second in Mbit/s."""

    label: str
    rates: Sequence[float]


def draw(published: Sequence[RateLine], ours: Sequence[RateLine]) -> bytes:
    """A PNG with one pair of axes."""
    with settings():
        figure, ((axes,),) = grid(1, 1, 4.2, share=False)
        for kind, lines, colours, style in (
            ("ours", ours, _OURS, "-"),
            ("published", published, _THEIRS, "--"),
        ):
            for number, line in enumerate(lines):
                seconds = [second + 1 for second in range(len(line.rates))]
                axes.plot(
                    seconds,
                    line.rates,
                    style,
                    marker="o",
                    color=colours[number % len(colours)],
                    label=f"{kind}, {line.label}",
                )
        axes.set_xlabel("second")
        axes.set_ylabel("Mbit/s")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left", fontsize=10)
        return png(figure)
