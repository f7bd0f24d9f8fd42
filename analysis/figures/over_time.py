"""Throughput, round-trip time and congestion window over time.

One column per condition, the same scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.graphs.tcptrace_lines import TimeSequence
from analysis.records.socket_samples import SocketSample
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

Numbers = NDArray[np.float64]
BIN = 1.0
"""Seconds over which acknowledged bytes are counted for one step of the throughput."""
_IN_SIGHT = 5
"""The link's rate is drawn up to so many times the fastest second.

Beyond, it would leave nothing else to see.
"""


@dataclass(frozen=True)
class ConditionCourse:
    """One condition's course over time.

    The graph, RTT samples (s since 1970, ms), socket samples, and the link's rate in kbit/s.
    """

    label: str
    sequence: TimeSequence | None
    rtts: Sequence[tuple[float, float]]
    samples: Sequence[SocketSample]
    link: float | None

    @property
    def start(self) -> float:
        """Seconds since 1970 at the first packet, or at the first sample without a capture."""
        return (
            self.sequence.start if self.sequence else self.samples[0].time if self.samples else 0.0
        )


def draw(courses: Sequence[ConditionCourse]) -> bytes:
    """A PNG with three rows."""
    shown = courses[:MOST_COLUMNS]
    with settings():
        figure, rows = grid(3, len(shown), 2.9, share=True)
        latest = max(_latest(course) for course in shown)
        for column, course in enumerate(shown):
            _throughput(rows[0][column], course)
            _rtt(rows[1][column], course)
            _windows(rows[2][column], course)
            rows[2][column].set_xlabel("seconds since the connection began")
        for row, unit in zip(rows, ("kbit/s", "ms", "segments"), strict=True):
            row[0].set_ylabel(unit)
            row[0].set_ylim(
                0, row[0].get_ylim()[1] * 1.08
            )  # shared by the row, so after all of it is drawn
            for axes in row:
                axes.set_xlim(0, latest)
        return png(figure)


def per_bin(course: ConditionCourse) -> list[float]:
    """Newly acknowledged kbit/s in each `BIN` since the start.

    The last bin may be short and counts as whole.
    """
    times, octets = _growth(course)
    bins = np.maximum(times / BIN, 0).astype(np.int64)
    return [float(sum_) * 8 / 1000 / BIN for sum_ in np.bincount(bins, weights=octets)]


def _growth(course: ConditionCourse) -> tuple[Numbers, Numbers]:
    """Times and numbers of newly acknowledged bytes.

    From the capture's ACK line, or else from the socket samples.
    """
    if course.sequence:
        return course.sequence.acks[:, 2], np.maximum(
            course.sequence.acks[:, 3] - course.sequence.acks[:, 1], 0
        )
    times = np.array(
        [sample.time - course.start for sample in course.samples[1:]], dtype=np.float64
    )
    return times, np.diff(
        np.array([sample.bytes_acked for sample in course.samples], dtype=np.float64)
    )


def _latest(course: ConditionCourse) -> float:
    last_ack = course.sequence.acks[-1:, 2].tolist() if course.sequence else []
    return (
        max(
            [*(sample.time - course.start for sample in course.samples[-1:]), *last_ack],
            default=0.0,
        )
        or 1.0
    )


def _throughput(axes: Axes, course: ConditionCourse) -> None:
    rates = per_bin(course)
    mean = sum(rates) * BIN / _latest(course) if rates else 0.0
    axes.stairs(
        rates, [BIN * edge for edge in range(len(rates) + 1)], color=GREEN, fill=True, alpha=0.55
    )
    axes.hlines(mean, 0, _latest(course), color=GREEN, linewidth=2)
    if course.link and course.link < _IN_SIGHT * max(rates, default=0.0):
        axes.axhline(course.link, color=GREY, linestyle="--", linewidth=1)
        axes.text(
            0.99,
            course.link,
            "the link's rate ",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="top",
            color=GREY,
        )
    axes.set_title(f"{course.label}: throughput in each second, mean {mean:.0f} kbit/s")


def _rtt(axes: Axes, course: ConditionCourse) -> None:
    """Single round trips from the capture, or else the socket's smoothed one."""
    if course.rtts:
        times, trips = zip(*course.rtts, strict=True)
        axes.plot([time - course.start for time in times], trips, ".", color=BLUE, markersize=5)
        axes.set_title(f"{course.label}: round-trip times")
        return
    smoothed = [
        (sample.time - course.start, 1000 * sample.rtt)
        for sample in course.samples
        if sample.rtt > 0
    ]
    axes.step(
        [time for time, _ in smoothed], [trip for _, trip in smoothed], where="post", color=BLUE
    )
    axes.set_title(f"{course.label}: smoothed round-trip time")


def _windows(axes: Axes, course: ConditionCourse) -> None:
    times = [sample.time - course.start for sample in course.samples]
    axes.step(
        times,
        [sample.cwnd for sample in course.samples],
        where="post",
        color=VERMILLION,
        label="congestion window",
    )
    thresholds = [
        float("nan") if sample.ssthresh is None else sample.ssthresh for sample in course.samples
    ]
    axes.step(
        times,
        thresholds,
        where="post",
        color=ORANGE,
        linestyle=":",
        linewidth=2,
        label="slow-start threshold",
    )
    axes.set_title(f"{course.label}: congestion window")
    axes.legend(loc="upper right", ncols=2, fontsize=10)
