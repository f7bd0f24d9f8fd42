"""Data of pages: graphs in compact columns, and the stage of packets at both ends."""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, Self
from weakref import ref

import numpy as np

from analysis.flows.columns import KINDS
from analysis.flows.matching import FLOW, arrivals
from analysis.graphs.capture import FIN, SYN, Numbers
from analysis.graphs.ladder import merged
from analysis.graphs.layers import LOOKS, RETRANSMITTED, SERIES, Graph, GraphGroup, Layer
from analysis.records.output import SocketSample
from analysis.table import ColumnTable, Whole
from topologies.spec import TopologySpec

DIGITS = 6  # decimal digits that are kept of the greatest of numbers that are not whole
_FEW, _MOST_DIGITS = 1000, 15
"""Of so few numbers the digits are of the least, as on logarithmic axes; a script has 15."""


class PageColumns:
    """The columns of a page. Equal columns are stored once, since many graphs share their times."""

    def __init__(self) -> None:
        self.stored: list[dict[str, Any]] = []
        self._places: dict[tuple[float, bytes], int] = {}

    def put(self, numbers: Numbers, step: int = 1) -> int:
        """Return the place of `numbers`, as multiples of `step`; six digits of others are kept."""
        kept: float = step
        if numbers.dtype.kind == "f":
            numbers = np.minimum(numbers, numbers[np.isfinite(numbers)].max(initial=0.0))
            kept = _fine(np.abs(numbers[numbers != 0]))
            integers = np.rint(numbers / kept).astype(np.int64)
        else:
            integers = numbers.astype(np.int64, copy=False)
            integers = integers if step == 1 else (integers + step // 2) // step
        key = (kept, blake2b(np.ascontiguousarray(integers).data).digest())
        if key not in self._places:
            self._places[key] = len(self.stored)
            self.stored.append({"length": len(integers), "step": kept, **_packed(integers)})
        return self._places[key]


def _fine(sizes: Numbers) -> float:
    """Return the power of ten to which numbers of these sizes, above 0, are rounded."""
    if not len(sizes):
        return 10.0**-DIGITS
    greatest = int(np.ceil(np.log10(sizes.max())))
    least = greatest if len(sizes) > _FEW else int(np.ceil(np.log10(sizes.min())))
    return float(10.0 ** max(least - DIGITS, greatest - _MOST_DIGITS))


def _packed(integers: Whole) -> dict[str, Any]:
    differences = np.diff(integers, prepend=0)
    # The sign goes to the lowest bit.
    unsigned = ((differences << 1) ^ (differences >> 63)).astype("<u8")
    width = max(1, -(-int(unsigned.max(initial=0)).bit_length() // 8))
    planes = unsigned.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
    return {"width": width, "data": base64.b64encode(zlib.compress(planes, 4)).decode("ascii")}


_WHOLE = ("line", "stairs", "rate", "band", "level", "moments", "boxes")
"""Shapes that are stored whole."""


def as_script(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def latest(graphs: Iterable[Graph]) -> float:
    """Return the latest time of graphs over time, in ns."""
    layers = [layer for graph in graphs if graph.over_time for layer in graph.layers]
    ends = [layer.x if layer.end is None else layer.end for layer in layers if len(layer)]
    return max((float(np.max(end)) for end in ends), default=0.0)


MOST_MARKS = 60_000  # marks of a report or a sweep, beyond which neighbours are stored as one


def board_data(groups: Sequence[GraphGroup]) -> str:
    """Return the groups' graphs with one time axis, as the script that templates/board.html has."""
    graphs = [graph for group in groups for graph in group.graphs]
    marks = sum(len(layer) for graph in graphs for layer in graph.layers)
    stored = StoredGraphs(run=max(1, -(-marks // MOST_MARKS)))
    for graph in graphs:
        stored.put(graph)
    return as_script({**stored.data, "span": [0, latest(graphs)]})


class StoredGraphs:
    """The graphs of a page: times (ns) rounded to `step`, `run` neighbouring marks as one."""

    def __init__(self, step: int = 1, run: int = 1) -> None:
        self._columns, self._graphs = PageColumns(), list[dict[str, Any]]()
        self._step, self._run = step, run
        self._places: dict[int, tuple[ref[Graph], int]] = {}

    @property
    def data(self) -> dict[str, Any]:
        return {
            "looks": {name: asdict(look) for name, look in LOOKS.items()},
            "series": SERIES,
            "graphs": self._graphs,
            "columns": self._columns.stored,
        }

    def put(self, graph: Graph) -> int:
        """Return the graph's place in `graphs`."""
        known, place = self._places.get(id(graph), (None, 0))
        if known is None or known() is not graph:  # it is new, or has the id of one that is gone
            place = len(self._graphs)
            self._places[id(graph)] = ref(graph), place
            names = ("key", "title", "caption", "height", "opens")
            self._graphs.append(
                {name: getattr(graph, name) for name in names}
                | {"x": asdict(graph.x), "y": asdict(graph.y), "overTime": graph.over_time}
                | {"layers": [self._layer(layer, graph) for layer in graph.layers]}
            )
        return place

    def _layer(self, layer: Layer, graph: Graph) -> dict[str, Any]:
        is_thinned = graph.over_time and layer.shape not in _WHOLE
        short = merged(layer, self._run) if is_thinned else layer
        put = self._columns.put
        # Times in whole ns are rounded to the page's step; bytes are not.
        across, up = (self._step if axis.unit in ("s", "ms") else 1 for axis in (graph.x, graph.y))
        columns = {"x": (short.x, across), "y": (short.y, up)}
        columns |= {} if short.top is None else {"top": (short.top, up)}
        columns |= {} if short.end is None else {"end": (short.end, across)}
        return {
            "look": short.look if isinstance(short.look, str) else asdict(short.look),
            "shape": layer.shape,
            "words": layer.words,
            "series": layer.series,
            "notes": layer.notes or None,
            "run": short.run,
            "marks": len(short),
            "columns": {name: put(column, step) for name, (column, step) in columns.items()},
            "fields": [[name, put(column)] for name, column in short.fields.items()],
        }


MOST_PACKETS = 20_000
"""Packets of a condition, both ways, that the stage has: half are the first, others near losses."""
_CE = 3  # the mark of congestion in the IP header (RFC 3168)
CALL_FLOW = 1  # the flow of datagrams
FRAME_HEADERS = 66  # bytes of a segment's frame before its payload, as the page's model counts them
Columns = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class StageShape:
    """The way of the data: its nodes, delay (s), rate (bit/s; 0 is unknown) and a FIFO of packets.

    `loss` says if the delay line loses packets; `drawn` is the longest queue of the same scale.
    """

    nodes: tuple[str, ...]
    delay: float = 0.0
    rate: float = 0.0
    queue: int = 0
    loss: bool = False
    words: tuple[str, ...] = ()
    drawn: int = 0


def shape_of(
    network: TopologySpec | None, sender: str, receiver: str, drawn: int = 0
) -> StageShape:
    """Return the shape of a way; one pipe without a queue if it is more than a delay and a FIFO."""
    if network is None:
        return StageShape((sender, receiver))
    way = network.path(sender, receiver)
    nodes = (sender, *(port.peer for port in way))
    channels = [port.channel for port in way if port.channel]
    words = tuple(f"{each.bandwidth}, {each.delay}, queue {each.queue}" for each in channels)
    if len(channels) != 1 or channels[0].variation.base or channels[0].discipline != "fifo":
        return StageShape(nodes, words=words)
    (only,) = channels
    facts = only.delay.seconds, float(only.bandwidth.base), int(only.queue.base)
    return StageShape(nodes, *facts, bool(only.loss.base), words, drawn)


def sent_columns(trips: ColumnTable, far: ColumnTable) -> Columns:
    """Return the segments; an `arrived` of -1 is lost, `marked` ones had ECN's mark in `far`."""
    flags = trips["flags"].values & (SYN | FIN)
    rows = trips.rows((trips["payload"].values > 0) | (flags > 0))
    records = far["number"].values[far["ecn"].values == _CE]
    return {
        "sent": rows["time"].values,
        "arrived": _arrived(rows),
        "sequence": rows.whole("sequence"),
        "length": rows.whole("payload"),
        "kind": rows.whole("kind"),
        "flow": rows[FLOW].values.astype(np.int64),
        "marked": np.isin(rows.whole("arrival", -1), records).astype(np.int64),
    }


def ack_columns(trips: ColumnTable) -> tuple[Columns, Columns]:
    """Return ACKs with the window they offer, and SACK blocks: the ACK's place, and the edges."""
    rows = trips.rows(trips["acknowledgement"].is_known)
    sacks = rows.lists("sacks")
    edges = sacks.values.astype(np.int64).reshape(-1, 2)
    acks = {
        "sent": rows["time"].values,
        "arrived": _arrived(rows),
        "acknowledgement": rows.whole("acknowledgement"),
        "window": rows.whole("window"),
        "flow": rows[FLOW].values.astype(np.int64),
    }
    of = np.repeat(np.arange(len(rows)), sacks.lengths // 2)
    return acks, {"ack": of, "left": edges[:, 0], "right": edges[:, 1]}


def _arrived(rows: ColumnTable) -> np.ndarray[Any, Any]:
    column = rows["arrived"]
    return np.where(column.is_known, column.values, -1)


@dataclass(frozen=True)
class KeptTimes:
    """Times, in the unit of packets' times, whose packets the stage has; empty if it has all."""

    spans: tuple[tuple[float, float], ...] = ()
    last: float = 0

    @classmethod
    def of(cls, data: ColumnTable, acks: ColumnTable) -> Self:
        """Return the beginning, and a round trip or two around each loss until there are enough."""
        times = np.sort(np.concatenate([data["time"].values, acks["time"].values]))
        if len(times) <= MOST_PACKETS:
            return cls()
        arrived, sent = _arrived(data), data["time"].values
        trip = 2 * (arrived - sent).max(initial=0).item()
        is_trouble = (arrived < 0) | np.isin(data.whole("kind"), list(RETRANSMITTED))
        spans = [(times[0].item(), times[MOST_PACKETS // 2].item())]
        left = MOST_PACKETS - MOST_PACKETS // 2
        for at in np.sort(sent[is_trouble]).tolist():
            begin, end = max(at - 2 * trip, spans[-1][1]), at + trip
            left -= int(np.searchsorted(times, end) - np.searchsorted(times, begin))
            if left < 0:
                break
            if end > begin:
                joined = spans.pop()[0] if begin == spans[-1][1] else begin
                spans.append((joined, end))
        return cls(tuple(spans), times[-1].item())

    def rows(self, trips: ColumnTable) -> ColumnTable:
        if not self.spans:
            return trips
        begins, ends = np.array(self.spans).T
        times = trips["time"].values
        span = np.searchsorted(begins, times, side="right") - 1
        return trips.rows((span >= 0) & (times <= ends[np.maximum(span, 0)]))

    def stored(self, start: int) -> dict[str, Any]:
        """Return the times in seconds since `start`, for the stage's script."""
        if not self.spans:
            return {}
        spans = [[(end - start) / 1e9 for end in span] for span in self.spans]
        return {"kept": spans, "last": (self.last - start) / 1e9}


@dataclass(frozen=True)
class StagedTrial:
    """A condition's first flow from sender to receiver: `sent` and `acks`, in ns since 1970."""

    label: str
    shape: StageShape
    sent: Columns
    acks: Columns
    blocks: Columns
    samples: Columns
    start: int
    kept: KeptTimes
    facts: dict[str, Any]

    @classmethod
    def of(
        cls,
        label: str,
        shape: StageShape,
        ends: tuple[ColumnTable, ColumnTable],
        forward: bool,
        samples: Sequence[SocketSample] = (),
        calls: Columns | None = None,
    ) -> Self:
        """Return the packets that the captures at both `ends` have.

        `calls` are datagrams that share the way: sent, arrived (-1: never; ns), length of the
        frame.
        """
        times = ends[0]["time"].values
        start = int(times.min()) if len(times) else 0
        segment = int(ends[0]["payload"].values.max(initial=0))
        near, far = map(_one_flow, ends)
        data, acks = (
            arrivals(*(each.rows(each["forward"].values == way) for each in tables))
            for tables, way in (((near, far), forward), ((far, near), not forward))
        )
        kept = KeptTimes.of(data, acks)
        sent = sent_columns(kept.rows(data), far)
        facts: dict[str, Any] = {"flows": ["sender"]}
        if samples:
            facts = {"flows": [min(each.congestion_control for each in samples)]}
        if calls:
            facts["callFlow"] = CALL_FLOW
            start = min(start, int(calls["sent"].min()))
            sent = _with_calls(sent, calls)
        columns = sent, *ack_columns(kept.rows(acks)), _sampled(samples, segment)
        return cls(label, shape, *columns, start, kept, facts)

    def stored(self, columns: PageColumns) -> dict[str, Any]:
        tables = {
            "data": self.sent,
            "acks": self.acks,
            "blocks": self.blocks,
            "samples": self.samples,
        }
        stored = {
            name: {key: columns.put(_since(key, each, self.start)) for key, each in table.items()}
            for name, table in tables.items()
        }
        about = {"label": self.label, "shape": asdict(self.shape), **self.facts}
        return {**about, **self.kept.stored(self.start), **stored}


def _since(name: str, values: np.ndarray[Any, Any], start: int) -> np.ndarray[Any, Any]:
    """Return times in microseconds since the start; what never arrived stays -1."""
    is_time = name in ("sent", "arrived", "time")
    return np.where(values < 0, -1, (values - start + 500) // 1000) if is_time else values


def stage_data(trials: Iterable[StagedTrial]) -> str:
    columns = PageColumns()
    stages = [trial.stored(columns) for trial in trials]
    kinds = [{"name": name, "meaning": meaning} for name, meaning in KINDS]
    return as_script({"stages": stages, "columns": columns.stored, "kinds": kinds})


def stage_of_trips(
    label: str, trips: ColumnTable, far: ColumnTable, forward: bool, start: int
) -> str:
    """Return the stage of a connection in two captures, whose network is not known."""
    one_flow = _one_flow(trips)
    is_data = one_flow["forward"].values == forward
    data, acks = one_flow.rows(is_data), one_flow.rows(~is_data)
    kept = KeptTimes.of(data, acks)
    sent = sent_columns(kept.rows(data), far)
    shape = StageShape(("sender", "receiver"), words=("a network that the captures do not show",))
    columns = sent, *ack_columns(kept.rows(acks)), _sampled((), 0)
    return stage_data([StagedTrial(label, shape, *columns, start, kept, {})])


def _with_calls(sent: Columns, calls: Columns) -> Columns:
    zeros = np.zeros(len(calls["sent"]), np.int64)
    more = dict.fromkeys(sent, zeros) | calls
    more |= {"length": calls["length"] - FRAME_HEADERS, "flow": zeros + CALL_FLOW}
    order = np.argsort(np.concatenate([sent["sent"], more["sent"]]), kind="stable")
    return {name: np.concatenate([sent[name], more[name]])[order] for name in sent}


def _one_flow(table: ColumnTable) -> ColumnTable:
    return table.having(**{FLOW: np.zeros(len(table), np.uint32)})


def _sampled(samples: Sequence[SocketSample], segment: int) -> Columns:
    """Return windows and thresholds in bytes; a threshold is 0 before slow start has ended."""
    rows = [(round(1e9 * each.time), each.cwnd, each.ssthresh or 0) for each in samples]
    times, windows, thresholds = np.array(rows, np.int64).reshape(-1, 3).T
    return {"time": times, "window": segment * windows, "threshold": segment * thresholds}
