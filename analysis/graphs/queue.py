"""The queue between two captures, from how long packets took from one to the other."""

from __future__ import annotations

import numpy as np

from analysis.graphs.capture import CaptureDirection
from analysis.graphs.layers import BYTES, Axis, Graph, Layer, graph
from analysis.tabular.column_table import ColumnTable, Whole

WAITED = (
    "One-way delay less the quickest packet's, so that a difference of the two clocks does not"
    " matter (their drift does). All connections that go this way are counted."
)
QUEUED = (
    "Payload that arrived while a packet waited: what stood before it, if there is one queue and it"
    " keeps the order."
)


def draw(direction: CaptureDirection, trips: ColumnTable) -> tuple[Graph, Graph]:
    """Waiting time (ms) and bytes ahead of each packet, at the time when it left the first capture.

    `trips` are all that went the way of this direction, as analysis.flows.both_ends.journeys has
    them.
    """
    some = trips.rows(trips["arrived"].is_known)
    left, came = some.whole("time"), some.whole("arrived")
    waited = came - left - (came - left).min(initial=np.iinfo(np.int64).max)
    ahead = _arrived_in(came, some.whole("payload"), waited)
    fields = {"record": some.whole("number")}
    times = left - direction.start
    return (
        graph(
            "queue_time",
            "Queue: time waited",
            WAITED,
            Axis("waited", "ms", 1e-6, zero=True),
            Layer("waited", "line", times, waited, fields=fields),
        ),
        graph(
            "queue_bytes",
            "Queue: bytes ahead",
            QUEUED,
            BYTES,
            Layer("queued", "line", times, ahead, fields=fields),
        ),
    )


def _arrived_in(came: Whole, payload: Whole, waited: Whole) -> Whole:
    """Bytes whose arrival lies in the `waited` ns before each packet's own."""
    order = np.argsort(came, kind="stable")
    times, sums = came[order], np.concatenate(([0], np.cumsum(payload[order])))
    before = np.searchsorted(times, came, side="left")
    return np.asarray(
        sums[before] - sums[np.minimum(np.searchsorted(times, came - waited, side="left"), before)]
    )
