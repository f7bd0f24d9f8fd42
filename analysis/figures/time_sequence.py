"""The time-sequence graph, as tcptrace draws it: above the whole connection, below the seconds with most repairs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from analysis.figures.style import BLUE, GREEN, GREY, MOST_COLUMNS, ORANGE, PURPLE, VERMILLION, grid, png, settings
from analysis.xplot import Line, TimeSequence

CLOSE_UP = 3.0
"""Seconds shown in the lower row: about forty round trips of the published path."""
_KIB = 1024


def draw(sequences: Sequence[tuple[str, TimeSequence]]) -> bytes:
    """A PNG: one column per condition (label, graph), all on the same scale."""
    shown = sequences[:MOST_COLUMNS]
    with settings():
        figure, (whole, near) = grid(2, len(shown), 4.6, share=False)
        latest = max(line[2] for _, sequence in shown for line in sequence.acks or sequence.data)
        for axes, close, (label, sequence) in zip(whole, near, shown, strict=True):
            _whole(axes, label, sequence, latest)
            _close_up(close, label, sequence)
        _same_scale(whole)
        _same_height(near, [sequence for _, sequence in shown])
        whole[0].set_ylabel("KiB since the connection began")
        near[0].set_ylabel("KiB since the connection began")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=3)
        return png(figure)


def _whole(axes: Axes, label: str, sequence: TimeSequence, latest: float) -> None:
    _points(axes, sequence.data, BLUE, 1.5)
    _stairs(axes, sequence.acks, GREEN, 1.0)
    _stairs(axes, sequence.window, ORANGE, 1.2)
    _points(axes, sequence.resent, VERMILLION, 5)
    start, _ = busiest(sequence)
    axes.axvspan(start, start + CLOSE_UP, color=GREY, alpha=0.15, linewidth=0)
    axes.set_xlim(0, latest)
    axes.set_ylim(bottom=0)
    axes.set_title(f"{label}: {_received(sequence):.0f} KiB in {_ended(sequence):.1f} s; {len(sequence.resent)} segments sent again")
    axes.set_xlabel("seconds since the connection began (grey: enlarged below)")


def _close_up(axes: Axes, label: str, sequence: TimeSequence) -> None:
    start, end = busiest(sequence)
    for lines, colour, width in ((sequence.sacks, PURPLE, 3.0), (sequence.data, BLUE, 1.6), (sequence.resent, VERMILLION, 2.2)):
        _vertical(axes, _within(lines, start, end), colour, width)
    _ends(axes, _within(sequence.data, start, end), BLUE)
    _ends(axes, _within(sequence.resent, start, end), VERMILLION)
    _stairs(axes, _within(sequence.acks, start, end), GREEN, 2.0)
    _stairs(axes, _within(sequence.window, start, end), ORANGE, 2.0)
    _letters(axes, _within(sequence.resent, start, end), "R", VERMILLION)
    _letters(axes, _within(sequence.sacks, start, end), "S", PURPLE)
    axes.set_xlim(start, end)
    axes.set_title(f"{label}: the {CLOSE_UP:.0f} s with most segments sent again")
    axes.set_xlabel("seconds since the connection began")


def busiest(sequence: TimeSequence) -> tuple[float, float]:
    """The seconds from and to which most segments were sent again; the connection's first where none was."""
    times = sorted(line[0] for line in sequence.resent)
    counts = [bisect_right(times, time + CLOSE_UP * 0.9) - at for at, time in enumerate(times)]
    first = times[counts.index(max(counts))] - CLOSE_UP * 0.1 if times else 0.0
    start = max(0.0, first)
    return start, start + CLOSE_UP


def _same_scale(whole: list[Axes]) -> None:
    highest = max(axes.get_ylim()[1] for axes in whole)
    for axes in whole:
        axes.set_ylim(0, highest)


def _same_height(near: list[Axes], sequences: Sequence[TimeSequence]) -> None:
    """Every close-up shows the same number of KiB, so that steepness can be compared; the origin differs."""
    ranges = [_extent(sequence) for sequence in sequences]
    height = max(high - low for low, high in ranges) * 1.12
    for axes, (low, high) in zip(near, ranges, strict=True):
        axes.set_ylim((low + high - height) / 2, (low + high + height) / 2)


def _extent(sequence: TimeSequence) -> tuple[float, float]:
    lines = [line for drawn in (sequence.data, sequence.resent) for line in _within(drawn, *busiest(sequence))]
    heights = [height / _KIB for line in lines for height in (line[1], line[3])]
    return (min(heights), max(heights)) if heights else (0.0, 1.0)


def _within(lines: tuple[Line, ...], start: float, end: float) -> tuple[Line, ...]:
    return tuple(line for line in lines if line[2] >= start and line[0] <= end)


def _points(axes: Axes, lines: tuple[Line, ...], colour: str, size: float) -> None:
    axes.plot([line[0] for line in lines], [line[3] / _KIB for line in lines], ".", color=colour, markersize=size)


def _vertical(axes: Axes, lines: tuple[Line, ...], colour: str, width: float) -> None:
    axes.add_collection(LineCollection(_kib(lines), colors=colour, linewidths=width), autolim=False)


def _stairs(axes: Axes, lines: tuple[Line, ...], colour: str, width: float) -> None:
    axes.add_collection(LineCollection(_kib(lines), colors=colour, linewidths=width), autolim=False)


def _kib(lines: tuple[Line, ...]) -> list[list[tuple[float, float]]]:
    return [[(x, y / _KIB), (x2, y2 / _KIB)] for x, y, x2, y2 in lines]


def _ends(axes: Axes, lines: tuple[Line, ...], colour: str) -> None:
    for at, marker in ((1, "v"), (3, "^")):
        axes.plot([line[0] for line in lines], [line[at] / _KIB for line in lines], marker, color=colour, markersize=4)


def _letters(axes: Axes, lines: tuple[Line, ...], letter: str, colour: str) -> None:
    for line in lines:
        axes.annotate(letter, (line[2], line[3] / _KIB), (0, 3), textcoords="offset points", ha="center", va="bottom",
                      color=colour, fontsize=9, fontweight="bold", clip_on=True, annotation_clip=True)  # fmt: skip


def _received(sequence: TimeSequence) -> float:
    return max((line[3] for line in sequence.acks), default=0.0) / _KIB


def _ended(sequence: TimeSequence) -> float:
    return max((line[2] for line in sequence.acks), default=0.0)


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=BLUE, marker="^", label="segment sent for the first time"),
        Line2D([], [], color=VERMILLION, marker="^", label="R: segment sent again (retransmission)"),
        Line2D([], [], color=GREEN, linewidth=2, label="acknowledged: all bytes below have arrived"),
        Line2D([], [], color=PURPLE, linewidth=3, label="S: block reported by SACK, arrived above a gap"),
        Line2D([], [], color=ORANGE, linewidth=2, label="limit of the receive window"),
    ]
