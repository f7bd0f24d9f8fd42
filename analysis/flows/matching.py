"""Two captures of one flow, packet by packet: losses, delays and reordering on the way.

A packet is recognised by what the network leaves alone: its bytes (`sequence`, `payload`),
`acknowledgement`, both timestamps and `ip_id`. Retransmissions carry the same bytes, but a new
IP-ID or timestamp. If a sender gives neither (IPv6 without timestamps), equal packets are told
apart by when they can have been sent. So are packets whose timestamps a capture has cut off.

Clocks are taken as they are. In the lab both ends read one clock; elsewhere ask for `align_clocks`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.flows.reader import FileFacts
from analysis.table import ColumnTable, RowGroups, TableColumn, Truths, Whole
from topologies.errors import TcplabError

FLOW = "flow"
"""The column of the flows in `arrivals` and `delays`: packets of two flows never match."""
_MAY_LACK = ("acknowledgement", "timestamp", "echo", "ip_id")
"""What a packet may not have, of what it is recognised by."""
_SYN_RST, _SYN, _FIN = 0x06, 0x02, 0x01


@dataclass(frozen=True)
class DirectionMatch:
    """One direction of a flow, at both ends.

    `packets` has the sent packets in their order, with `arrival` (its record in the receiver's
    file), `arrived` (ns), `delay` (ns, one way), `lost` (missing outside the receiver's capture),
    `copies` (further arrivals), `needless` (the same bytes had arrived), and the columns of
    `reordering`. `unsent` are the receiver's rows that the sender's capture does not have.
    """

    packets: ColumnTable
    unsent: ColumnTable


@dataclass(frozen=True)
class PathSummary:
    """A way in figures: packets, bytes of payload, delays in ns (None without an arrival)."""

    sent: int
    lost: int
    lost_bytes: int
    undecided: int
    copies: int
    unsent: int
    needless: int
    reordered: int
    largest_extent: int
    delay_least: int | None
    delay_median: int | None
    delay_greatest: int | None


def match(
    sent: ColumnTable, arrived: ColumnTable, span: FileFacts, mss: int | None = None
) -> DirectionMatch:
    """Matches the packets of one direction of one connection.

    The tables are as `read(..., packets=True).packet_table` has them. `sent` are the rows at the
    sender, `arrived` those at the receiver, whose capture covers `span`. With `mss` (bytes)
    super-packets of either side (GSO, GRO) are first taken apart into segments of that size.
    """
    left, right = (_segments(table, mss) if mss else table for table in (sent, arrived))
    one_flow = [each.having(**{FLOW: np.zeros(len(each), np.uint32)}) for each in (left, right)]
    origin = _origins(*one_flow)
    rows = _met(left, right, origin)
    delay = TableColumn(rows["arrived"].whole() - rows.whole("time"), rows["arrived"].valid)
    rows = _judged(rows.having(delay=delay), span)
    return DirectionMatch(_with_reordering(rows, origin), right.rows(origin < 0))


def arrivals(sent: ColumnTable, arrived: ColumnTable) -> ColumnTable:
    """The sent packets of many flows, with `arrival` (record) and `arrived` (ns), and `copies`."""
    return _met(sent, arrived, _origins(sent, arrived))


def _met(sent: ColumnTable, arrived: ColumnTable, origin: Whole) -> ColumnTable:
    pairs = np.flatnonzero(origin >= 0)
    came, first, counts = np.unique(origin[pairs], return_index=True, return_counts=True)
    arrival, copies = np.zeros(len(sent), np.int64), np.zeros(len(sent), np.uint32)
    arrival[came], copies[came] = pairs[first], counts - 1
    has_arrived = np.zeros(len(sent), np.bool_)
    has_arrived[came] = True
    columns = {}
    for name, column in (("arrival", "number"), ("arrived", "time")):
        values = arrived[column].values
        there = values[arrival] if len(values) else np.zeros(len(arrival), values.dtype)
        columns[name] = TableColumn(there, has_arrived)
    return sent.having(**columns, copies=copies)


def summary(way: DirectionMatch) -> PathSummary:
    packets, delays, lost = way.packets, way.packets["delay"].known, way.packets["lost"]
    is_lost = lost.filled(False)
    return PathSummary(
        len(packets),
        int(is_lost.sum()),
        int(packets.whole("payload")[is_lost].sum()),
        int((~lost.is_known).sum()),
        int(packets.whole("copies").sum()),
        len(way.unsent),
        int(packets["needless"].values.sum()),
        int((packets["extent"].values > 0).sum()),
        int(packets.whole("extent").max(initial=0)),
        *((int(delays.min()), _median(delays), int(delays.max())) if len(delays) else [None] * 3),
    )


def align_clocks(
    forward: DirectionMatch, back: DirectionMatch
) -> tuple[DirectionMatch, DirectionMatch, int]:
    """Both ways without the clocks' offset, and the offset (ns, receiver's less sender's).

    The least delays of both ways are taken to be equal, as NTP does (RFC 5905, section 8): half of
    a difference of the paths goes into the offset. A drift must have been taken out before. Raises
    TcplabError if a way had no arrival.
    """
    ahead, behind = (way.packets["delay"].known for way in (forward, back))
    if not len(ahead) or not len(behind):
        raise TcplabError("The clocks cannot be aligned: in one direction no packet was matched.")
    offset = (int(ahead.min()) - int(behind.min())) // 2
    return shifted(forward, -offset), shifted(back, offset), offset


def shifted(way: DirectionMatch, by: Whole | int) -> DirectionMatch:
    """The way with all arrivals, or each, by so many ns later."""
    packets = way.packets
    later = {
        name: TableColumn(packets.whole(name) + by, packets[name].valid)
        for name in ("arrived", "delay")
    }
    return replace(way, packets=packets.having(**later))


def delays(first: ColumnTable, second: ColumnTable) -> dict[int, float]:
    """Return by flow the median time in ns from `first` to `second`, of packets in both."""
    origin = _origins(first, second)
    pairs = np.flatnonzero(origin >= 0)
    later = second.whole("time")[pairs] - first.whole("time")[origin[pairs]]
    flows = second[FLOW].values[pairs]
    return {int(flows[rows[0]]): float(np.median(later[rows])) for rows in RowGroups(flows).rows}


def _median(delays: NDArray[Any]) -> int:
    return round(float(np.median(delays)))


def _segments(packets: ColumnTable, mss: int) -> ColumnTable:
    """Super-packets as the segments that cross the wire. Segmentation counts the IP-ID up."""
    counts = np.maximum(1, -(-packets.whole("payload") // mss))
    parts = packets.rows(np.repeat(np.arange(len(packets)), counts))
    part = np.arange(len(parts)) - np.repeat(np.cumsum(counts) - counts, counts)
    ip_id = (parts.whole("ip_id") + part) % 2**16
    return parts.having(
        sequence=(parts.whole("sequence") + part * mss).astype(np.uint64),
        payload=np.minimum(parts.whole("payload") - part * mss, mss).astype(np.uint32),
        ip_id=TableColumn(ip_id.astype(np.uint16), parts["ip_id"].valid),
    )


def _origins(sent: ColumnTable, arrived: ColumnTable) -> Whole:
    """For each arrival the row of the packet as it was sent; -1 for none.

    As many arrivals as sent packets of one kind: the first is the first. More of a packet that
    was sent once: copies. Any other arrival is of the packet of its kind that was sent nearest to
    the usual delay before.
    """
    groups = RowGroups(*_keys(sent, arrived))
    is_sent = np.arange(len(sent) + len(arrived)) < len(sent)
    of, came = groups.sums(is_sent), groups.sums(~is_sent)
    kind = groups.numbers[len(sent) :]
    once, even = of[kind] == 1, (of == came)[kind]
    # In a group those that were sent come first, and both are in the order of their files.
    turn = np.where(once, 0, groups.turns[len(sent) :] - of[kind])
    clear = np.flatnonzero(once | even)
    origin = np.full(len(arrived), -1, np.int64)
    origin[clear] = groups.order[groups.begins[kind[clear]] + turn[clear]]
    others = np.flatnonzero(~(once | even) & (of[kind] > 1))
    if len(others):
        left, came_at = sent.whole("time"), arrived.whole("time")
        delays = came_at[clear] - left[origin[clear]]
        due = came_at[others] - (_median(delays) if len(delays) else 0)
        origin[others] = _nearest(groups.numbers[: len(sent)], left, kind[others], due)
    return origin


def _keys(sent: ColumnTable, arrived: ColumnTable) -> tuple[NDArray[np.uint64], ...]:
    """Return the marks of all packets sent, then of all that arrived, in few numbers."""
    names = (FLOW, "sequence", "payload", "flags", *_MAY_LACK)
    both = ColumnTable.joined([table.select(*names) for table in (sent, arrived)])
    lone_fin = np.where(both["payload"].values == 0, _FIN, 0)
    mark = both.whole("flags") & (lone_fin | _SYN_RST)
    has_stamps = _in_both(both, mark & _SYN == 0, len(sent))
    known = {name: both[name].is_known for name in _MAY_LACK}
    known |= {name: known[name] & has_stamps for name in ("timestamp", "echo")}
    numbers = {name: np.where(known[name], both[name].values, 0) for name in _MAY_LACK}
    lacks = sum((~known[name]).astype(np.int64) << at for at, name in enumerate(_MAY_LACK))
    return (
        both["sequence"].values,
        numbers["acknowledgement"],
        _packed(both[FLOW].values, both["payload"].values),
        _packed(numbers["timestamp"], numbers["echo"]),
        _packed(numbers["ip_id"], mark << len(_MAY_LACK) | lacks),
    )


def _packed(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.uint64]:
    return high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)


def _in_both(both: ColumnTable, not_syn: Truths, sent: int) -> Truths:
    """Return whether a packet's timestamps count: if its flow has some in both captures.

    One of them may have cut them off. In a SYN they stand last of the options, in other packets
    first, so a SYN's are left out always.
    """
    has_them, flow = both["timestamp"].is_known & not_syn, both[FLOW].values
    near, far = (flow[rows][has_them[rows]] for rows in (slice(sent), slice(sent, None)))
    return np.asarray(not_syn & np.isin(flow, near) & np.isin(flow, far))


def _nearest(kinds: Whole, left: Whole, wanted: Whole, due: Whole) -> Whole:
    """For each arrival of a `wanted` kind the packet `left` nearest to when it was due."""
    offered = np.flatnonzero(np.isin(kinds, wanted))
    kind, time = np.concatenate((kinds[offered], wanted)), np.concatenate((left[offered], due))
    line = np.lexsort((time, kind))
    kind, time, places = kind[line], time[line], np.arange(len(line))
    is_offer = line < len(offered)
    before = np.maximum.accumulate(np.where(is_offer, places, 0))
    after = np.minimum.accumulate(np.where(is_offer, places, len(line) - 1)[::-1])[::-1]
    has_before, has_after = (is_offer[place] & (kind[place] == kind) for place in (before, after))
    is_later = has_after & (~has_before | (time[after] - time < time - time[before]))
    nearest = np.empty(len(line), np.int64)
    nearest[line] = line[np.where(is_later, after, before)]
    return np.asarray(offered[nearest[len(offered) :]])


def _judged(rows: ColumnTable, span: FileFacts) -> ColumnTable:
    delay, came = rows["delay"].known, rows["arrived"].is_known
    due = rows.whole("time") + (delay.min() if len(delay) else 0)
    covered = np.zeros(len(rows), np.bool_)
    if span.first is not None and span.last is not None:
        covered = (due > span.first) & (due < span.last)
    alike = RowGroups(rows["sequence"].values, rows["payload"].values)
    came_before = alike.sums_so_far(came) - came > 0
    needless = (rows["payload"].values > 0) & came_before
    return rows.having(lost=TableColumn(~came, came | covered), needless=needless)


def _with_reordering(rows: ColumnTable, origin: Whole) -> ColumnTable:
    came = origin[origin >= 0]
    places = came[np.sort(np.unique(came, return_index=True)[1])]
    columns = {}
    for name, values in reordering(places, rows.whole("arrived")[places]).items():
        columns[name] = np.zeros(len(rows), values.dtype)
        columns[name][places] = values
    return rows.having(**columns)


def reordering(sent: Whole, arrived: Whole) -> dict[str, NDArray[Any]]:
    """Return how far packets were overtaken (RFC 4737), given in order of arrival; 0 for in order.

    `sent` is each one's place among the sent (all different), `arrived` its time in ns. A lost
    packet leaves a gap in the places, which is no reordering. `extent` UInt32 (4.2) is the number
    of places since the first arrival that was sent later, `extent_time` Int64 the ns since then
    (4.3). `n_reordered` UInt32 is the number of packets just before it that were all sent later
    (5.4): TCP takes 3 and more for a loss.
    """
    places = np.arange(len(sent))
    # The greatest place so far never falls, so the first arrival that was sent later is found by
    # bisection.
    greatest = np.maximum.accumulate(sent)
    first_later = np.minimum(np.searchsorted(greatest, sent, side="right"), places)
    late = first_later < places
    return {
        "extent": (places - first_later).astype(np.uint32),
        "extent_time": np.where(late, arrived - arrived[first_later], 0),
        "n_reordered": _overtaken_in_a_row(sent, late).astype(np.uint32),
    }


def _overtaken_in_a_row(sent: Whole, late: Truths) -> Whole:
    """Looks back one place at a time, for packets that have not met one sent before them."""
    counts = np.zeros(len(sent), np.int64)
    open_places, back = np.flatnonzero(late), 1
    while len(open_places):
        earlier = open_places - back
        was_later = sent[np.maximum(earlier, 0)] > sent[open_places]
        open_places = open_places[(earlier >= 0) & was_later]
        counts[open_places] += 1
        back += 1
    return counts
