"""Bytes in flight, beside what limits them: the congestion window and the receive window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import BYTES, Graph, Layer, graph
from analysis.records.socket_samples import SocketSample

CAPTION = (
    "Bytes in flight are sent but neither acknowledged nor reported by SACK. If they stay below"
    " both windows, the application had nothing to send. The congestion window is counted in"
    " segments of the largest size that was seen."
)

AT_RECEIVER = (
    "This capture was taken at the receiver: what is still on its way there is not among these"
    " bytes. "
)


def draw(direction: CaptureDirection, samples: Sequence[SocketSample] = ()) -> Graph:
    """In flight after each segment sent; windows as stairs. `samples` are of the sending socket.

    Without a packet of the other direction nothing is known to have arrived, and there is
    nothing to draw.
    """
    caption = AT_RECEIVER + CAPTION if direction.at_receiver else CAPTION
    in_flight = (
        direction.sent.in_flight if len(direction.answers.time) else direction.sent.in_flight[:0]
    )
    segment = int((direction.sent.high - direction.sent.low).max(initial=0))
    at = np.array(
        [round(sample.time * 1e9) - direction.start for sample in samples], dtype=np.int64
    )
    has_threshold = np.array([sample.ssthresh is not None for sample in samples], dtype=np.bool_)
    thresholds = np.array([sample.ssthresh or 0 for sample in samples], dtype=np.float64)
    return graph(
        "in_flight",
        "Bytes in flight and windows",
        caption,
        BYTES,
        Layer("rwnd", "stairs", direction.answers.time, direction.answers.window),
        Layer(
            "in_flight",
            "stairs",
            direction.sent.time[: len(in_flight)],
            in_flight,
            fields={"record": direction.sent.number[: len(in_flight)]},
        ),
        Layer("ssthresh", "stairs", at[has_threshold], thresholds[has_threshold] * segment),
        Layer(
            "cwnd",
            "stairs",
            at,
            np.array([sample.cwnd for sample in samples], dtype=np.float64) * segment,
        ),
    )
