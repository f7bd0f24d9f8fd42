"""A direction as the lines that tcptrace draws, to hold them against tcptrace's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.flows.columns import KIND
from analysis.graphs.capture import CaptureDirection, Whole
from analysis.graphs.layers import RETRANSMITTED

AGAIN = sorted(RETRANSMITTED | {KIND["copy"]})
"""What tcptrace calls retransmitted: behind a loss it takes copies for it."""


Lines = NDArray[np.float64]
"""One row per line: x, y, x2, y2 in seconds and bytes since the connection's start."""


@dataclass(frozen=True)
class TimeSequence:
    """What a time-sequence graph shows, in seconds and bytes since the first packet.

    `start` is seconds since 1970. `data` are segments sent for the first time and `resent` those
    that tcptrace calls retransmitted; `acks` and `window` are the staircases of the cumulative ACK
    and of the highest byte that the receiver allows; `sacks` are reported blocks.
    """

    start: float
    data: Lines
    resent: Lines
    acks: Lines
    window: Lines
    sacks: Lines


def time_sequence(direction: CaptureDirection) -> TimeSequence:
    """The lines, in seconds and bytes since the connection's first packet in either direction.

    The SYN has none.
    """
    sent, answers = direction.sent, direction.answers
    first = min(int(times.min()) for times in (sent.time, answers.time) if len(times))
    again, payload = np.isin(sent.kind, AGAIN), (sent.high > sent.low) & (sent.low > 0)
    strokes = _strokes(sent.time - first, sent.low, sent.high)
    return TimeSequence(
        start=(direction.start + first) / 1e9,
        data=strokes[payload & ~again],
        resent=strokes[payload & again],
        acks=_stairs(answers.time - first, answers.highest),
        window=_stairs(answers.time - first, answers.edge),
        sacks=_strokes(
            direction.blocks.time - first, direction.blocks.left, direction.blocks.right
        )[~direction.blocks.duplicate],
    )


def rtts(direction: CaptureDirection) -> list[tuple[float, float]]:
    """Round trips as (seconds since 1970 at the ACK, ms)."""
    some = direction.answers.rtt >= 0
    times, trips = (
        (direction.answers.time[some] + direction.start) / 1e9,
        direction.answers.rtt[some] / 1e6,
    )
    return list(zip(times.tolist(), trips.tolist(), strict=True))


def _strokes(times: Whole, low: Whole, high: Whole) -> Lines:
    seconds = times / 1e9
    return np.column_stack((seconds, low, seconds, high)).astype(np.float64)


def _stairs(times: Whole, heights: Whole) -> Lines:
    """A flat line to each point and, if its height is another, an upright one."""
    seconds: NDArray[np.float64] = times / 1e9
    flat = np.column_stack((seconds[:-1], heights[:-1], seconds[1:], heights[:-1]))
    upright = np.column_stack((seconds[1:], heights[:-1], seconds[1:], heights[1:]))
    both = np.stack((flat, upright), axis=1).reshape(-1, 4)
    moves = (both[:, 0] != both[:, 2]) | (both[:, 1] != both[:, 3])
    return np.asarray(both[moves], dtype=np.float64)
