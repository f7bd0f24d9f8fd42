"""Graphs of packets on their way: the ladder, one-way delays and the queue."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.graphs import layers as plots
from analysis.graphs.capture import FIN, SYN, CaptureDirection, Numbers
from analysis.table import ColumnTable, Whole


def rows_by_look(kinds: Whole) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the looks of the kinds of segments, in the order of `LOOKS`, each with its rows."""
    present = set(np.flatnonzero(np.bincount(kinds)).tolist())
    small = kinds.astype(np.uint8)
    codes = {name: [code for code in present if plots.KINDS[code] == name] for name in plots.LOOKS}
    return [(name, np.isin(small, some)) for name, some in codes.items() if some]


def safe_name(label: str) -> str:
    return re.sub(r"[^\w.-]+", "_", label).strip("._") or "capture"


def in_cells(layer: plots.Layer, columns: Whole, rows: int) -> plots.Layer:
    """Return one dot for those in the same column and at the same of `rows` heights."""
    low, high = float(layer.y.min()), float(layer.y.max())
    heights = ((layer.y - low) * (rows / ((high - low) or 1))).astype(np.int64)
    _, chosen = np.unique(columns * (rows + 1) + heights, return_index=True)
    return _rows(layer, np.sort(chosen), np.sort(chosen))


def merged(layer: plots.Layer, run: int) -> plots.Layer:
    """Return about one mark for `run`: strokes become one, of points the extremes stay."""
    if run <= 1 or plots.look_of(layer.look).every or not len(layer):
        return layer
    size = run if layer.shape in ("bars", "rate", "arrows") else 4 * run
    return in_groups(layer, np.arange(len(layer)) // size)


def in_groups(layer: plots.Layer, groups: Whole) -> plots.Layer:
    """Merge marks of one group into a stroke, or their extreme points; `groups` never falls."""
    (starts,) = np.nonzero(np.diff(groups, prepend=groups[:1] - 1))
    if layer.shape == "bars":
        return _strokes(layer, starts)
    if layer.shape == "arrows":
        return _rows(layer, starts, starts)
    if layer.shape == "rate":
        return _rows(layer, np.unique([*starts, len(layer) - 1]), starts)
    return _rows(layer, _extremes(layer.y, groups, starts), starts)


def _strokes(layer: plots.Layer, starts: Whole) -> plots.Layer:
    """Keep single bars upright; a run of several leans from the first time to the last.

    A stroke begins also at a step backwards and at a gap, so that none covers other bytes.
    """
    top = layer.y if layer.top is None else layer.top
    (apart,) = np.nonzero((np.diff(layer.y) < 0) | (layer.y[1:] > top[:-1]))
    starts = np.union1d(starts, apart + 1)
    ends = np.append(starts[1:], len(layer)) - 1
    return replace(
        layer,
        x=layer.x[starts],
        end=layer.x[ends],
        y=np.minimum.reduceat(layer.y, starts),
        top=np.maximum.reduceat(top, starts),
        fields={name: column[starts] for name, column in layer.fields.items()},
        run=int((ends - starts).max()) + 1,
    )


def _extremes(values: Numbers, groups: Whole, starts: Whole) -> Whole:
    """Return the rows of each group's first, lowest, highest and last value."""
    counts = np.diff(np.append(starts, len(values)))
    rows = [starts, starts + counts - 1]
    for best in (np.minimum, np.maximum):
        places = np.flatnonzero(values == np.repeat(best.reduceat(values, starts), counts))
        is_first = np.diff(groups[places], prepend=groups[0] - 1) != 0
        rows.append(places[is_first])
    return np.unique(np.concatenate(rows))


def _rows(layer: plots.Layer, rows: Whole, starts: Whole) -> plots.Layer:
    longest = int(np.diff(np.append(starts, len(layer))).max())
    return replace(layer.at(rows), run=longest)


A, HALFWAY, B = 2, 1, 0  # heights of the two ends and of the middle
BOTH = (
    "Time runs to the right. An arrow leaves when the packet passed one capture and ends when it"
    " passed the other."
)
HALF = (
    "Time runs to the right. Only one capture is known, so each arrow shows the half of its way"
    " that was seen, upright."
)


def draw_ladder(direction: CaptureDirection, packets: ColumnTable) -> plots.Graph:
    """Draw half arrows at the end where the capture was taken, from its packets."""
    height = B if direction.vantage == "b" else A
    times = packets.whole("time") - direction.start
    leaves = packets["forward"].values == (height == A)
    start, stop = np.where(leaves, height, HALFWAY), np.where(leaves, HALFWAY, height)
    layers = _layers(packets, times, times, start, stop)
    again = times[np.isin(packets.whole("kind"), list(plots.RETRANSMITTED))]
    return _graph(direction, HALF, layers, times, again)


def draw_trips(direction: CaptureDirection, trips: ColumnTable) -> plots.Graph:
    """Draw slanted arrows, from two captures; a packet of one alone ends in a cross halfway."""
    has_arrived = trips["arrived"].is_known
    arrived, lost = trips.rows(has_arrived), trips.rows(~has_arrived)
    start = np.where(arrived["forward"].values, A, B)
    left, came = (arrived.whole(name) - direction.start for name in ("time", "arrived"))
    at, way = lost.whole("time") - direction.start, np.where(lost["forward"].values, A, B)
    half = np.full(len(lost), HALFWAY)
    crosses = plots.Layer("lost", "arrows", at, way, half, at, {"record": lost.whole("number")})
    layers = [*_layers(arrived, left, came, start, A + B - start), crosses]
    return _graph(direction, BOTH, layers, trips.whole("time") - direction.start, at)


_BEFORE, _AFTER = 15, 25
"""Packets around the first loss, or without any the first packets, that a ladder opens with."""


def _graph(
    direction: CaptureDirection,
    caption: str,
    layers: list[plots.Layer],
    times: Whole,
    losses: Whole,
) -> plots.Graph:
    (a, b), ordered, opens = direction.ends, np.sort(times), None
    if len(ordered):
        first = int(np.searchsorted(ordered, losses.min())) if len(losses) else 0
        left = float(ordered[max(0, first - _BEFORE)])
        right = float(ordered[min(len(ordered) - 1, first + _AFTER)])
        opens = (left, right) if right > left else None
    ends = plots.Axis("", "", ticks=((A, a), (B, b)), range=(-0.3, 2.3))
    kept = tuple(layer for layer in layers if len(layer))
    title = "Ladder diagram"
    return plots.Graph("ladder", title, caption, plots.TIME, ends, kept, height=220, opens=opens)


def _layers(
    packets: ColumnTable, x: Whole, end: Whole, y: np.ndarray, top: np.ndarray
) -> list[plots.Layer]:
    """Return a layer for each look and way: a page stores their columns once for several graphs."""
    payload, kinds = packets.whole("payload"), packets.whole("kind")
    forward = packets["forward"].values
    takes = (payload > 0) | (packets["flags"].values & (SYN | FIN) > 0)
    bare = np.asarray(~takes & (kinds <= 1))
    columns = {
        "record": packets.whole("number"),
        "sequence": packets.whole("sequence"),
        "payload": payload,
        "ACK": packets.whole("acknowledgement"),
    }
    looks = [("ack_trip", bare), *((name, rows & ~bare) for name, rows in rows_by_look(kinds))]
    every = plots.Layer("", "arrows", x, y, top, end, columns)
    return [
        replace(every.at(rows & way), look=name)
        for name, rows in looks
        for way in (forward, ~forward)
    ]


def draw_queue(direction: CaptureDirection, trips: ColumnTable) -> tuple[plots.Graph, plots.Graph]:
    """Draw each packet's waiting time (ms) and the bytes that arrived meanwhile, of one way."""
    some = trips.rows(trips["arrived"].is_known)
    left, came = some.whole("time"), some.whole("arrived")
    waited = came - left - (came - left).min(initial=np.iinfo(np.int64).max)
    order = np.argsort(came, kind="stable")
    sums = np.concatenate(([0], np.cumsum(some.whole("payload")[order])))
    begins, ends = (
        np.searchsorted(came[order], each, side="left") for each in (came - waited, came)
    )
    ahead = np.asarray(sums[ends] - sums[np.minimum(begins, ends)])
    fields = {"record": some.whole("number")}
    times = left - direction.start
    return (
        plots.plain("queue_time", plots.Layer("waited", "line", times, waited, fields=fields)),
        plots.plain("queue_bytes", plots.Layer("queued", "line", times, ahead, fields=fields)),
    )
