"""Throughput and goodput over time."""

from __future__ import annotations

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import Axis, Graph, Layer, graph

RATE = Axis("rate", "bit/s", 8e9, zero=True)
"""Steepness in bytes per ns, shown in bit/s."""
CAPTION = (
    "Rates are averages over short equal times, which become shorter as you zoom in, down to some"
    " ten segments. Throughput"
    " counts payload each time that it is sent; goodput counts each byte once, when it is"
    " acknowledged."
)


def draw(direction: CaptureDirection) -> Graph:
    """Both rates as growing sums, of which a picture draws the steepness."""
    sent = np.cumsum(direction.sent.high - direction.sent.low)
    return graph(
        "throughput",
        "Throughput and goodput",
        CAPTION,
        RATE,
        Layer("throughput", "rate", direction.sent.time, sent),
        goodput(direction, "goodput"),
    )


def goodput(direction: CaptureDirection, look: str, words: str = "") -> Layer:
    """The highest ACK so far."""
    return Layer(look, "rate", direction.answers.time, direction.answers.highest, words=words)
