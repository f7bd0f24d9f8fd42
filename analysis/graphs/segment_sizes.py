"""How much each segment carried."""

from __future__ import annotations

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import Axis, Graph, Layer, graph

CAPTION = (
    "Full segments lie on one line; small ones below it end a burst, or are what the application"
    " sent by itself."
)


def draw(direction: CaptureDirection) -> Graph:
    """A dot a segment, and the average so far. SYN and FIN count as one byte."""
    sizes = direction.sent.high - direction.sent.low
    average = np.cumsum(sizes) / np.arange(1, len(sizes) + 1)
    return graph(
        "segment_sizes",
        "Segment sizes",
        CAPTION,
        Axis("payload", "B", zero=True),
        Layer("size", "dots", direction.sent.time, sizes, fields={"record": direction.sent.number}),
        Layer("average", "line", direction.sent.time, average),
    )
