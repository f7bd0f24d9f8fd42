"""Round-trip times: over time, and how they are distributed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import Axis, Graph, Layer, graph
from analysis.records.socket_samples import SocketSample

RTT = Axis("round-trip time", "ms", 1e-6, zero=True)
STEPS = 1000
"""Points of the distribution."""
CAPTION = (
    "From a segment to the ACK that covers it; retransmitted segments give none, since the ACK may"
    " be for either transmission."
)

AT_RECEIVER = (
    "No round trips: this capture was taken at the receiver, where an ACK follows its data at once."
    " The times are what the receiver waits before it acknowledges. "
)


def caption(direction: CaptureDirection, words: str) -> str:
    """`words`, preceded by what the times are if they are no round trips."""
    return AT_RECEIVER + words if direction.at_receiver else words


def draw(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """A dot for each sample at the time of the ACK.

    With `samples` also the socket's own smoothed value.
    """
    times, rtts, numbers = _measured(direction)
    at = np.array(
        [round(sample.time * 1e9) - direction.start for sample in samples], dtype=np.int64
    )
    smoothed = np.array([round(sample.rtt * 1e9) for sample in samples], dtype=np.int64)
    return graph(
        "rtt",
        "Round-trip time",
        caption(direction, CAPTION),
        RTT,
        Layer("rtt", "dots", times, rtts, fields={"record": numbers}),
        Layer("smoothed", "stairs", at, smoothed),
    )


def distribution(direction: CaptureDirection) -> Graph:
    """The cumulative distribution: y is the share of round trips that were at most x."""
    _, rtts, _ = _measured(direction)
    shares = np.linspace(0, 1, min(STEPS, len(rtts)) + 1) if len(rtts) else np.zeros(0)
    at = np.quantile(rtts, shares, method="inverted_cdf") if len(rtts) else shares
    layer = Layer("share", "stairs", at, shares)
    words = caption(
        direction,
        "Read upwards: at half height stands the median. A steep part is a time that many had.",
    )
    layers = (layer,) if len(layer) else ()
    share = Axis("share", "", zero=True)
    return Graph(
        "rtt_distribution",
        "Round-trip times, distribution",
        words,
        RTT,
        share,
        layers,
        over_time=False,
    )


def _measured(direction: CaptureDirection) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    some = direction.answers.rtt >= 0
    return direction.answers.time[some], direction.answers.rtt[some], direction.answers.number[some]
