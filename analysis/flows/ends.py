"""The captures of both ends of a path: connections joined, packets matched, clocks compared.

A packet's delay by two clocks is its true delay and the clocks' difference, which grows with time
if one of them runs faster. The least delays of a direction follow it: the line below all delays
that is nearest to them, an edge of their lower convex hull (Moon, Skelly and Towsley, Estimation
and Removal of Clock Skew from Network Delay Measurements, INFOCOM 1999). In the other direction
the line has the opposite slope. A queue that grows bends one of them only, so a drift is believed
if both agree.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from analysis.flows.matching import (
    FLOW,
    DirectionMatch,
    align_clocks,
    arrivals,
    delays,
    match,
    shifted,
)
from analysis.flows.reader import Reading
from analysis.table import ColumnTable, RowGroups, TableColumn, Truths, Whole

_BUCKETS = 2000
"""Of time: only the least delay in each can be on the hull, but for the drift within a bucket."""
_FEWEST = 10  # packets that must have arrived in each direction
_CLOCKS_ALIKE = 0.2
"""Both directions' slopes agree if they differ by at most this share of their mean."""
_NOTICED = 100_000  # nanoseconds that a drift must change delays by to matter
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClockDrift:
    """The far clock gains `skew` ns on the near one in each ns since `start`, by the near clock."""

    skew: float
    start: int
    duration: int  # From the first to the last packet, in ns

    @property
    def greatest(self) -> int:
        """By how much it changes the delays in the end, in ns."""
        return round(abs(self.skew) * self.duration)

    def out_of(self, way: DirectionMatch, is_forward: bool) -> DirectionMatch:
        """The way without the drift; of the back way the arrivals are by the near clock."""
        near = way.packets.whole("time" if is_forward else "arrived")
        gained = np.rint((near - self.start) * self.skew).astype(np.int64)
        return shifted(way, -gained if is_forward else gained)


def clock_drift(
    forward: Sequence[DirectionMatch], back: Sequence[DirectionMatch]
) -> ClockDrift | None:
    """The drift that both ways show, from the near capture and back; None if none matters."""
    points = [_delays(forward, "time"), _delays(back, "arrived")]
    if min(len(times) for times, _ in points) < _FEWEST:
        return None
    start = min(times[0] for times, _ in points)
    duration = max(times[-1] for times, _ in points) - start
    slopes = [_slope(times - start, delays) for times, delays in points]
    ahead, behind = slopes[0], -slopes[1]
    drift = ClockDrift((ahead + behind) / 2, int(start), int(duration))
    agree = abs(ahead - behind) <= _CLOCKS_ALIKE * abs(drift.skew)
    return drift if agree and drift.greatest >= _NOTICED else None


def _delays(ways: Sequence[DirectionMatch], near: str) -> tuple[npt.NDArray[np.int64], Numbers]:
    packets = [way.packets.rows(way.packets["arrived"].is_known) for way in ways]
    columns = ([table.whole(name) for table in packets] for name in (near, "delay"))
    times, delays = map(np.concatenate, columns)
    order = np.argsort(times, kind="stable")
    return times[order], delays[order].astype(np.float64)


def _slope(times: npt.NDArray[np.int64], delays: Numbers) -> float:
    """Of the line below all points whose distance to them is least in sum."""
    hull = _lower_hull(*_least(times, delays))
    middle = float(times.mean())
    for (before, low), (after, high) in pairwise(hull):
        if before <= middle <= after:
            return (high - low) / (after - before)
    return 0.0


def _least(times: npt.NDArray[np.int64], delays: Numbers) -> tuple[Numbers, Numbers]:
    """The point with the least delay of each of many equal spans of time."""
    width = max((int(times[-1]) - int(times[0])) // _BUCKETS, 1)
    buckets = (times - times[0]) // width
    order = np.lexsort((delays, buckets))
    first = order[np.unique(buckets[order], return_index=True)[1]]
    return times[first].astype(np.float64), delays[first]


def _lower_hull(times: Numbers, delays: Numbers) -> list[tuple[float, float]]:
    """Andrew's monotone chain."""
    hull: list[tuple[float, float]] = []
    for point in zip(times.tolist(), delays.tolist(), strict=True):
        while len(hull) > 1:
            (time, delay), (last, low) = hull[-2:]
            if (last - time) * (point[1] - delay) > (low - delay) * (point[0] - time):
                break  # it turns left
            hull.pop()
        hull.append(point)
    return hull


_Key = tuple[tuple[tuple[str, int], ...], int]
_SAMPLE = 20_000
_NUMBERS = ("sequence", "acknowledgement")
_ALIKE = ("payload", "timestamp", "echo", "ip_id")  # columns of a packet next to its numbers
_IDENTITY = ("connection", "host_a", "host_b", "port_a", "port_b", "syns_a2b", "syns_b2a")


class CaptureTables(Protocol):
    """A capture's tables, as `flows.read` gives them."""

    @property
    def connection_table(self) -> ColumnTable: ...
    @property
    def packet_table(self) -> ColumnTable | None: ...


@dataclass(frozen=True)
class MatchedConnection:
    """A connection in both captures, without the clocks' `offset` (ns) and `drift` if asked for."""

    near: dict[str, Any]
    far: dict[str, Any]
    forward: DirectionMatch
    back: DirectionMatch
    offset: int = 0
    drift: ClockDrift | None = None


def match_readings(
    near: Reading, far: Reading, mss: int | None = None, aligned: bool = False
) -> tuple[MatchedConnection, ...]:
    """Match every connection that both captures have, in the near one's order.

    Both were read with their packets. `mss` (bytes) takes super-packets apart; `aligned` takes the
    clocks' offset and drift out. The delays of both directions together, in which the offset
    cancels, tell which end is that of the near capture.
    """
    common = _CommonConnections(near, far)
    sides = (*common.out, *common.back)
    parts, empty = [side.parts(FLOW) for side in sides], sides[0].rows(slice(0))
    matched = []
    for flow, rows in enumerate(common.rows):
        out, out_far, back_far, back = (part.get(flow, empty).without(FLOW) for part in parts)
        forward = match(out, out_far, far.file, mss)
        matched.append(MatchedConnection(*rows, forward, match(back_far, back, near.file, mss)))
    return tuple(_with_clocks(matched, aligned))


def _with_clocks(matched: list[MatchedConnection], aligned: bool) -> Iterator[MatchedConnection]:
    if not matched:
        return
    drift = clock_drift([each.forward for each in matched], [each.back for each in matched])
    for connection in matched:
        forward, back = connection.forward, connection.back
        if not aligned:
            yield replace(connection, drift=drift)
            continue
        if drift:
            forward, back = drift.out_of(forward, True), drift.out_of(back, False)
        forward, back, offset = align_clocks(forward, back)
        yield replace(connection, forward=forward, back=back, offset=offset, drift=drift)


def journeys(near: CaptureTables, far: CaptureTables) -> ColumnTable:
    """Every packet of the connections that both have, in order of time.

    Each is as the capture nearer to its sender has it, with `arrived` (ns; missing if the other
    lacks it) and `outward` (sent on the near side); one that the receiver's side alone has is left
    out. `connection` and `forward` are of `near`, `connection_far` and `forward_far` of `far`.
    """
    common = _CommonConnections(near, far)
    both = ColumnTable.joined([arrivals(*common.out), arrivals(*common.back)])
    outward = np.arange(len(both)) < len(common.out[0])
    flow = both[FLOW].values
    return (
        both.without(FLOW)
        .having(
            connection=common.numbers["connection"][flow],
            connection_far=common.numbers["connection_far"][flow],
            forward_far=both["forward"].values != common.numbers["turned"].values[flow],
            outward=outward,
        )
        .sorted_by("time")
    )


class _CommonConnections:
    """The connections that two captures have, numbered by `flow`, with all their packets.

    `rows` are the connections in both, and `numbers` a row for each flow, which is `turned` if the
    a of one capture is the b of the other. `out` is what the host at the near capture sent, as
    (near, far) have it; `back` what it received, as (far, near) do. `forward` is the near capture's
    in all of them, and so are the numbers if a SYN is missing.
    """

    def __init__(self, near: CaptureTables, far: CaptureTables) -> None:
        ends = [_by_ends(capture.connection_table) for capture in (near, far)]
        self.rows = [(row, ends[1][key]) for key, row in ends[0].items() if key in ends[1]]
        is_turned = [_end(one, "a") != _end(other, "a") for one, other in self.rows]
        self.numbers = ColumnTable.of(
            connection=np.array([one["connection"] for one, _ in self.rows], np.uint32),
            connection_far=np.array([other["connection"] for _, other in self.rows], np.uint32),
            turned=np.array(is_turned, np.bool_),
        )
        near_packets = _of_flows(near, self.numbers["connection"].values)
        far_packets = _of_flows(far, self.numbers["connection_far"].values)
        turned = self.numbers["turned"].values[far_packets[FLOW].values]
        far_packets = far_packets.having(forward=far_packets["forward"].values != turned)
        # Numbers count from the SYNs.
        whole = (all(row["syns_a2b"] and row["syns_b2a"] for row in rows) for rows in self.rows)
        unsure = [flow for flow, is_whole in enumerate(whole) if not is_whole]
        far_packets = _one_numbering(near_packets, far_packets, unsure)
        a_is_near = _a_is_near(near_packets, far_packets, len(self.rows))
        (near_out, near_back), (far_out, far_back) = (
            (packets.rows(out), packets.rows(~out))
            for packets in (near_packets, far_packets)
            for out in [packets["forward"].values == a_is_near[packets[FLOW].values]]
        )
        self.out, self.back = (near_out, far_out), (far_back, near_back)


def _by_ends(connections: ColumnTable) -> dict[_Key, dict[str, Any]]:
    """The connections by their two ends in any order, and by how many had the same before."""
    counts: Counter[object] = Counter()
    connections_by_ends: dict[_Key, dict[str, Any]] = {}
    for row in connections.select(*_IDENTITY).as_rows():
        ends = tuple(sorted((_end(row, "a"), _end(row, "b"))))
        connections_by_ends[ends, counts[ends]] = row
        counts[ends] += 1
    return connections_by_ends


def _end(row: dict[str, Any], side: str) -> tuple[str, int]:
    return row[f"host_{side}"], row[f"port_{side}"]


def _of_flows(capture: CaptureTables, connections: NDArray[Any]) -> ColumnTable:
    """The packets of these connections with the flow of each: the connection's place."""
    packets = capture.packet_table
    assert packets is not None
    numbers = packets["connection"].values
    flows = np.full(int(max(numbers.max(initial=0), connections.max(initial=0))) + 1, -1, np.int64)
    flows[connections] = np.arange(len(connections))
    flow = flows[numbers]
    is_common = flow >= 0
    some = packets if is_common.all() else packets.rows(is_common)
    return some.having(**{FLOW: flow[is_common].astype(np.uint32)})


def _a_is_near(near: ColumnTable, far: ColumnTable, flows: int) -> Truths:
    """Return for each flow whether its end a is at the near capture, which is the default.

    That end's packets come later to the far capture. The first packets decide; all are compared
    only if those have no packet in common.
    """
    both = [(packets, RowGroups(packets[FLOW].values).turns) for packets in (near, far)]
    for most in (_SAMPLE, max(len(near), len(far))):
        firsts = [packets.rows(turn < most) for packets, turn in both]
        sides = (
            [each.rows(each["forward"].values == way) for each in firsts] for way in (True, False)
        )
        later, later_back = (delays(*side) for side in sides)
        if later.keys() | later_back.keys() == set(near[FLOW].values.tolist()):
            break
    is_near = [later.get(flow, 0) >= later_back.get(flow, 0) for flow in range(flows)]
    return np.array(is_near, np.bool_)


def _one_numbering(near: ColumnTable, far: ColumnTable, flows: Sequence[int]) -> ColumnTable:
    """The far packets, those of `flows` with the near ones' numbers."""
    if not flows:
        return far
    numbers = {name: far.whole(name) for name in _NUMBERS}
    sides = [_ways(side) for side in (near, far)]
    for way in ((flow, forward) for flow in flows for forward in (True, False)):
        if way in sides[0] and way in sides[1]:
            rows = sides[1][way]
            for name, by in _differences(near.rows(sides[0][way]), far.rows(rows)):
                numbers[name][rows] += by
    return far.having(
        **{
            name: TableColumn(values.astype(np.uint64), far[name].is_known & (values >= 0))
            for name, values in numbers.items()
        }
    )


def _ways(packets: ColumnTable) -> dict[tuple[int, bool], Whole]:
    flow, forward = packets[FLOW].values, packets["forward"].values
    groups = RowGroups(flow, forward)
    return {(int(flow[rows[0]]), bool(forward[rows[0]])): rows for rows in groups.rows}


def _differences(near: ColumnTable, far: ColumnTable) -> Iterator[tuple[str, int]]:
    """The commonest difference of numbers between packets that are alike, and alone so."""
    both = ColumnTable.joined([side.select(*_NUMBERS, *_ALIKE) for side in (near, far)])
    groups = RowGroups(*(both.whole(name, missing=-1) for name in _ALIKE))
    of_near = groups.sums(np.arange(len(both)) < len(near))
    pair = groups.begins[(of_near == 1) & (groups.sizes == 2)]
    for name in _NUMBERS:
        left, right = both[name][groups.order[pair]], both[name][groups.order[pair + 1]]
        differences = (left.whole() - right.whole())[left.is_known & right.is_known]
        if len(differences):
            values, counts = np.unique(differences, return_counts=True)
            yield name, int(values[counts.argmax()])
