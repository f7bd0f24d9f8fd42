"""The graph of W. Richard Stevens (TCP/IP Illustrated, volume 1): the first byte of each segment
over time.
"""

from __future__ import annotations

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import SEQUENCE, Graph, Layer, graph
from analysis.graphs.segments_over_time import by_kind

CAPTION = (
    "A point is one segment at its first byte. The line steps back wherever something is sent"
    " again."
)


def draw(one: CaptureDirection) -> Graph:
    """One line through all segments in the order sent, and marks on those that were sent again."""
    again = [layer for layer in by_kind(one.sent, "dots") if layer.look != "data"]
    order = Layer("order", "line", one.sent.time, one.sent.low, fields={"record": one.sent.number})
    return graph("stevens", "Stevens graph", CAPTION, SEQUENCE, order, *again)
