"""Throughput and goodput over time."""

from __future__ import annotations

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import Axis, Graph, Layer, graph

RATE = Axis("rate", "bit/s", 8e9, zero=True)
"""Steepness in bytes per ns, shown in bit/s."""
CAPTION = (
    "Rates are averages over short equal times, which become shorter as you zoom in. Throughput"
    " counts payload each time that it is sent; goodput counts each byte once, when it is"
    " acknowledged."
)


def draw(one: CaptureDirection) -> Graph:
    """Both as growing sums; who draws them takes the steepness."""
    sent = np.cumsum(one.sent.high - one.sent.low)
    return graph(
        "throughput",
        "Throughput and goodput",
        CAPTION,
        RATE,
        Layer("throughput", "rate", one.sent.time, sent),
        goodput(one, "goodput"),
    )


def goodput(one: CaptureDirection, look: str, words: str = "") -> Layer:
    """The highest ACK so far."""
    return Layer(look, "rate", one.answers.time, one.answers.highest, words=words)
