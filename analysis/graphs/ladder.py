"""The ladder diagram, lying: both ends as lines, every packet as an arrow from one to the other."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.graphs.capture import FIN, SYN, CaptureDirection, Whole, whole
from analysis.graphs.layers import TIME, Axis, Graph, Layer
from analysis.graphs.mark_rows import rows_by_look

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


def draw(direction: CaptureDirection, packets: pl.DataFrame) -> Graph:
    """From one capture's packets of this connection: half arrows at the end of the capture."""
    height = B if direction.vantage == "b" else A
    times = whole(packets["time"]) - direction.start
    leaves = packets["forward"].to_numpy() == (height == A)
    start, stop = np.where(leaves, height, HALFWAY), np.where(leaves, HALFWAY, height)
    return _graph(direction, HALF, _layers(packets, times, times, start, stop))


def draw_trips(direction: CaptureDirection, trips: pl.DataFrame) -> Graph:
    """From two captures: slanted arrows.

    A packet that only one capture has ends in a cross halfway.
    """
    arrived = trips.filter(pl.col("arrived").is_not_null())
    start = np.where(arrived["forward"].to_numpy(), A, B)
    left, came = (whole(arrived[name]) - direction.start for name in ("time", "arrived"))
    lost = trips.filter(pl.col("arrived").is_null())
    at, way = whole(lost["time"]) - direction.start, np.where(lost["forward"].to_numpy(), A, B)
    half = np.full(len(lost), HALFWAY)
    layers = [
        *_layers(arrived, left, came, start, A + B - start),
        Layer("lost", "arrows", at, way, half, at, {"record": whole(lost["number"])}),
    ]
    return _graph(direction, BOTH, layers)


def _graph(direction: CaptureDirection, caption: str, layers: list[Layer]) -> Graph:
    a, b = (
        (direction.source, direction.target)
        if direction.forward
        else (direction.target, direction.source)
    )
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
    packets: pl.DataFrame, x: Whole, end: Whole, y: np.ndarray, top: np.ndarray
) -> list[Layer]:
    """A layer for each look and way.

    They are apart, so that their columns are those of other graphs, which a page shares.
    """
    kinds, forward, bare = whole(packets["kind"]), packets["forward"].to_numpy(), _is_bare(packets)
    fields = {
        "record": "number",
        "sequence": "sequence",
        "payload": "payload",
        "ACK": "acknowledgement",
    }
    columns = {name: whole(packets[column].fill_null(0)) for name, column in fields.items()}
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


def _is_bare(packets: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether it is an ACK and nothing else."""
    taking = (pl.col("payload") > 0) | (pl.col("flags") & (SYN | FIN) > 0) | (pl.col("kind") > 1)
    return packets.select(~taking).to_series().to_numpy()
