"""The graph of W. Richard Stevens (TCP/IP Illustrated, volume 1).

It shows the first byte of each segment over time.
"""

from __future__ import annotations

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import SEQUENCE, Graph, Layer, graph
from analysis.graphs.segments_over_time import by_kind

CAPTION = "A point is one segment at its first byte. The line steps back at each retransmission."


def draw(direction: CaptureDirection) -> Graph:
    """One line through all segments in the order sent, and marks on retransmissions."""
    again = [layer for layer in by_kind(direction.sent, "dots") if layer.look != "data"]
    order = Layer(
        "order",
        "line",
        direction.sent.time,
        direction.sent.low,
        fields={"record": direction.sent.number},
    )
    return graph("stevens", "Stevens graph", CAPTION, SEQUENCE, order, *again, height=340)
