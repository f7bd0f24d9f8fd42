"""The time-sequence graph, as tcptrace draws it.

Above is the whole connection, below the seconds with most retransmissions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.graphs.tcptrace_lines import Lines, TimeSequence
from analysis.rendering.figure_style import (
    BLUE,
    GREEN,
    GREY,
    MOST_COLUMNS,
    ORANGE,
    PURPLE,
    VERMILLION,
    grid,
    png,
    settings,
)

CLOSE_UP = 0.1
"""The share of the longest connection that the lower row shows."""
MOST_DOTS = 10_000
"""Marks of one kind in one picture, beyond which only every second, third, ... is drawn."""
_KIB = 1024


@dataclass(frozen=True)
class EnlargedPart:
    """One condition's graph and the seconds `start` to `end` of it that are enlarged."""

    label: str
    sequence: TimeSequence
    start: float
    end: float

    def near(self, lines: Lines) -> Lines:
        """Those of `lines` that are at least partly in the enlarged seconds."""
        return lines[(lines[:, 2] >= self.start) & (lines[:, 0] <= self.end)]


def draw(sequences: Sequence[tuple[str, TimeSequence]], pause: float) -> bytes:
    """A PNG: one column per condition (label, graph), all on the same scale.

    `pause` seconds of silence are marked.
    """
    chosen = sequences[:MOST_COLUMNS]
    latest = max(_latest(sequence) for _, sequence in chosen) or 1.0
    shown = [
        EnlargedPart(label, sequence, *busiest(sequence, CLOSE_UP * latest))
        for label, sequence in chosen
    ]
    with settings():
        figure, (overviews, near) = grid(2, len(shown), 4.6, share=False, below=1.3)
        for axes, close, part in zip(overviews, near, shown, strict=True):
            _whole(axes, part, latest)
            _close_up(close, part, pause)
        _same_scale(overviews)
        _same_height(near, shown)
        overviews[0].set_ylabel("KiB since the connection began")
        near[0].set_ylabel("KiB since the connection began")
        figure.legend(handles=_legend(pause), loc="lower center", ncols=3)
        return png(figure)


def busiest(sequence: TimeSequence, length: float) -> tuple[float, float]:
    """The `length` seconds with most retransmissions; the first ones if there are none."""
    times = np.sort(sequence.resent[:, 0])
    counts = np.searchsorted(times, times + length * 0.9, side="right") - np.arange(len(times))
    start = max(0.0, float(times[counts.argmax()]) - length * 0.1) if len(times) else 0.0
    return start, start + length


def _whole(axes: Axes, part: EnlargedPart, latest: float) -> None:
    sequence = part.sequence
    _points(axes, sequence.data, BLUE, 1.5)
    _stairs(axes, sequence.acks, GREEN, 1.0)
    _stairs(axes, sequence.window, ORANGE, 1.2)
    _points(axes, sequence.resent, VERMILLION, 5)
    axes.axvspan(part.start, part.end, color=GREY, alpha=0.15, linewidth=0)
    axes.set_xlim(0, latest)
    received, ended = _greatest(sequence.acks, 3), _greatest(sequence.acks, 2)
    axes.set_title(
        f"{part.label}: {received / _KIB:.0f} KiB in {ended:.1f} s; {len(sequence.resent)}"
        " retransmissions"
    )
    axes.set_xlabel("seconds since the connection began (grey: enlarged below)")


def _close_up(axes: Axes, part: EnlargedPart, pause: float) -> None:
    data, resent, sacks = (
        part.near(lines)
        for lines in (part.sequence.data, part.sequence.resent, part.sequence.sacks)
    )
    for start, end in _pauses(part.sequence, pause):
        axes.axvspan(start, end, color=ORANGE, alpha=0.18, linewidth=0)
    for lines, colour, width in (
        (sacks, PURPLE, 3.0),
        (data, BLUE, 1.6),
        (resent, VERMILLION, 2.2),
    ):
        _lines(axes, lines, colour, width)
    _ends(axes, data, BLUE)
    _ends(axes, resent, VERMILLION)
    _stairs(axes, part.near(part.sequence.acks), GREEN, 2.0)
    _stairs(axes, part.near(part.sequence.window), ORANGE, 2.0)
    axes.set_xlim(part.start, part.end)
    _letters(axes, resent, "R", VERMILLION, at=3, above=True)
    _letters(axes, sacks, "S", PURPLE, at=1, above=False)
    axes.set_title(f"{part.label}: the {part.end - part.start:.1f} s with most retransmissions")
    axes.set_xlabel("seconds since the connection began")


def _latest(sequence: TimeSequence) -> float:
    """Seconds from the first packet to the last segment or ACK."""
    return max(_greatest(lines, 2) for lines in (sequence.data, sequence.resent, sequence.acks))


def _greatest(lines: Lines, column: int) -> float:
    return float(lines[:, column].max(initial=0.0))


def _pauses(sequence: TimeSequence, pause: float) -> list[tuple[float, float]]:
    """From when to when the sender sent no data for at least `pause` seconds."""
    times = np.sort(np.concatenate((sequence.data[:, 0], sequence.resent[:, 0])))
    (before,) = np.nonzero(np.diff(times) >= pause)
    return [(float(times[at]), float(times[at + 1])) for at in before]


def _same_scale(overviews: list[Axes]) -> None:
    highest = max(axes.get_ylim()[1] for axes in overviews)
    for axes in overviews:
        axes.set_ylim(0, highest)


def _same_height(near: list[Axes], shown: list[EnlargedPart]) -> None:
    """Gives every close-up the same number of KiB, so that steepness can be compared.

    The origins differ.
    """
    ranges = [_extent(part) for part in shown]
    height = max(high - low for low, high in ranges) * 1.15
    for axes, (low, high) in zip(near, ranges, strict=True):
        axes.set_ylim((low + high - height) / 2, (low + high + height) / 2)


def _extent(part: EnlargedPart) -> tuple[float, float]:
    heights = np.concatenate(
        [part.near(lines)[:, 1::2].ravel() for lines in (part.sequence.data, part.sequence.resent)]
    )
    return (
        (float(heights.min()) / _KIB, float(heights.max()) / _KIB) if len(heights) else (0.0, 1.0)
    )


def _points(axes: Axes, lines: Lines, colour: str, size: float) -> None:
    """A dot per line, thinned if there are many more than a picture has columns."""
    some = lines[:: max(1, len(lines) // MOST_DOTS)]
    axes.plot(some[:, 2], some[:, 3] / _KIB, ".", color=colour, markersize=size)


def _lines(axes: Axes, lines: Lines, colour: str, width: float) -> None:
    some = lines[:: max(1, len(lines) // MOST_DOTS)] / (1, _KIB, 1, _KIB)
    axes.add_collection(
        LineCollection(list(some.reshape(-1, 2, 2)), colors=colour, linewidths=width), autolim=False
    )


def _stairs(axes: Axes, lines: Lines, colour: str, width: float) -> None:
    """One path for the whole staircase.

    In tcptrace's, each line begins at the end of the one before.
    """
    x = np.concatenate((lines[:1, 0], lines[:, 2]))
    y = np.concatenate((lines[:1, 1], lines[:, 3])) / _KIB
    axes.add_line(Line2D(x, y, color=colour, linewidth=width))


def _ends(axes: Axes, lines: Lines, colour: str) -> None:
    some = lines[:: max(1, len(lines) // MOST_DOTS)]
    for at, marker in ((1, "v"), (3, "^")):
        axes.plot(some[:, 0], some[:, at] / _KIB, marker, color=colour, markersize=4)


def _letters(axes: Axes, lines: Lines, letter: str, colour: str, at: int, above: bool) -> None:
    """`letter` at the lines' coordinate `at`, unless it would cover the letter before."""
    start, end = axes.get_xlim()
    last = -1e9
    for line in lines[lines[:, 2].argsort()].tolist():
        if line[2] - last < (end - start) / 40:
            continue
        last = line[2]
        offset, side = ((0, 3), "bottom") if above else ((0, -3), "top")
        axes.annotate(
            letter,
            (last, line[at] / _KIB),
            offset,
            textcoords="offset points",
            ha="center",
            va=side,
            color=colour,
            fontsize=9,
            fontweight="bold",
            clip_on=True,
        )


def _legend(pause: float) -> list[Line2D | Patch]:
    return [
        Line2D([], [], color=BLUE, marker="^", label="segment sent for the first time"),
        Line2D([], [], color=VERMILLION, marker="^", label="R: segment retransmitted"),
        Line2D(
            [], [], color=GREEN, linewidth=2, label="acknowledged: all bytes below have arrived"
        ),
        Line2D(
            [],
            [],
            color=PURPLE,
            linewidth=3,
            label="S: block reported by SACK, arrived above a gap",
        ),
        Line2D([], [], color=ORANGE, linewidth=2, label="limit of the receive window"),
        Patch(color=ORANGE, alpha=0.18, label=f"nothing sent for {pause:g} s or more"),
    ]
