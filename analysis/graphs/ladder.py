"""Graphs of packets on their way: the ladder, one-way delays and the queue."""

import numpy as np
from numpy.typing import NDArray

from analysis.graphs.capture import FIN, SYN, CaptureDirection
from analysis.graphs.layers import BYTES, TIME, Axis, Graph, Layer, graph
from analysis.graphs.mark_rows import rows_by_look
from analysis.tabular.table import ColumnTable, Whole

A, HALFWAY, B = 2, 1, 0
"""Heights of the two ends and of the middle."""
BOTH = (
    "Time runs to the right. An arrow leaves when the packet passed one capture and ends when it"
    " passed the other."
)
HALF = (
    "Time runs to the right. Only one capture is known, so each arrow shows the half of its way"
    " that was seen, upright."
)


def draw_ladder(direction: CaptureDirection, packets: ColumnTable) -> Graph:
    """Draw half arrows at the end where the capture was taken, from its packets."""
    height = B if direction.vantage == "b" else A
    times = packets.whole("time") - direction.start
    leaves = packets["forward"].values == (height == A)
    start, stop = np.where(leaves, height, HALFWAY), np.where(leaves, HALFWAY, height)
    return _graph(direction, HALF, _layers(packets, times, times, start, stop))


def draw_trips(direction: CaptureDirection, trips: ColumnTable) -> Graph:
    """Draw slanted arrows, from two captures; a packet of one alone ends in a cross halfway."""
    has_arrived = trips["arrived"].is_known
    arrived = trips.rows(has_arrived)
    start = np.where(arrived["forward"].values, A, B)
    left, came = (arrived.whole(name) - direction.start for name in ("time", "arrived"))
    lost = trips.rows(~has_arrived)
    at, way = lost.whole("time") - direction.start, np.where(lost["forward"].values, A, B)
    half = np.full(len(lost), HALFWAY)
    layers = [
        *_layers(arrived, left, came, start, A + B - start),
        Layer("lost", "arrows", at, way, half, at, {"record": lost.whole("number")}),
    ]
    return _graph(direction, BOTH, layers)


def _graph(direction: CaptureDirection, caption: str, layers: list[Layer]) -> Graph:
    a, b = direction.ends
    ends = Axis("", "", ticks=((A, a), (B, b)), range=(-0.3, 2.3))
    return Graph(
        "ladder",
        "Ladder diagram",
        caption,
        TIME,
        ends,
        tuple(layer for layer in layers if len(layer)),
        height=220,
    )


def _layers(
    packets: ColumnTable, x: Whole, end: Whole, y: np.ndarray, top: np.ndarray
) -> list[Layer]:
    """Return a layer for each look and way: a page stores their columns once for several graphs."""
    kinds, forward, bare = packets.whole("kind"), packets["forward"].values, _is_bare(packets)
    fields = {
        "record": "number",
        "sequence": "sequence",
        "payload": "payload",
        "ACK": "acknowledgement",
    }
    columns = {name: packets.whole(column) for name, column in fields.items()}
    return [
        Layer(
            name,
            "arrows",
            x[some],
            y[some],
            top[some],
            end[some],
            {field: column[some] for field, column in columns.items()},
        )
        for name, rows in [
            ("ack_trip", bare),
            *((name, rows & ~bare) for name, rows in rows_by_look(kinds)),
        ]
        for some in (rows & forward, rows & ~forward)
    ]


def _is_bare(packets: ColumnTable) -> NDArray[np.bool_]:
    """Return which packets are pure ACKs."""
    takes = (packets["payload"].values > 0) | (packets["flags"].values & (SYN | FIN) > 0)
    return np.asarray(~takes & (packets["kind"].values <= 1))


WAITED = (
    "One-way delay less the quickest packet's, so that a difference of the two clocks does not"
    " matter (their drift does). All connections that go this way are counted."
)
QUEUED = (
    "Payload that arrived while a packet waited: what stood before it, if there is one queue and it"
    " keeps the order."
)


def draw_queue(direction: CaptureDirection, trips: ColumnTable) -> tuple[Graph, Graph]:
    """Draw the waiting time (ms) of each packet and the bytes ahead, when it left.

    `trips` are all packets of this direction's way, from analysis.flows.ends.journeys.
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
    """Return the bytes whose arrival lies in the `waited` ns before each packet's."""
    order = np.argsort(came, kind="stable")
    times, sums = came[order], np.concatenate(([0], np.cumsum(payload[order])))
    before = np.searchsorted(times, came, side="left")
    return np.asarray(
        sums[before] - sums[np.minimum(np.searchsorted(times, came - waited, side="left"), before)]
    )
