"""What happened in a capture, packet by packet: what Wireshark calls expert information."""

from pathlib import Path

import numpy as np

from analysis.flows.columns import KIND, RETRANSMISSIONS, table_rows
from analysis.flows.reader import IcmpError, Reading
from analysis.table import ColumnTable, RowGroups, TableColumn, Truths, Whole

_TABLE = tuple(table_rows(Path(__file__).with_name("events.csv")))
EVENTS = {row["event"]: (row["severity"], row["meaning"]) for row in _TABLE}
"""Each event with its severity, as Wireshark grades them, and its meaning."""

_ICMP = "icmp"
_OF_SEGMENTS = [name for name in EVENTS if name != _ICMP]
_SYN, _FIN, _RST, _ACK = 2, 1, 4, 16
_CE = 3
_SHOWN = ("sequence", "acknowledgement", "payload", "window")
_OF_KINDS = (*RETRANSMISSIONS, "syn", "fin", "keepalive", "probe", "copy", "late")
_NEVER = 2**62  # more than any sequence number: what is not known is not exceeded


def events(reading: Reading) -> ColumnTable:
    """A row an event: `number` and `time` of its packet, `connection`, `forward`, `severity`,
    `event`, `since`, `count`, what the packet says, and `meaning`.

    `since` is the time in ns since a segment with this sequence number was last sent, for what was
    sent again, and `count` the place of a duplicate ACK among its like. Needs rows of packets.
    """
    packets = reading.packet_table
    assert packets is not None
    same = [packets[name].values for name in ("connection", "forward", "sequence")]
    sent, time = RowGroups(*same).previous, packets["time"].values
    packets = packets.having(since=TableColumn(time - time[sent], sent >= 0))
    is_copy = np.isin(packets["number"].values, reading.copies)
    seen, copies = _seen(packets.rows(~is_copy), reading), packets.rows(is_copy)
    happened = _conditions(seen)
    rows, codes = np.nonzero(np.column_stack([happened[name] for name in _OF_SEGMENTS]))
    copy = np.full(len(copies), _OF_SEGMENTS.index("copy"))
    found = [_told(seen.rows(rows), codes)]
    found += [_told(copies.having(count=0 * copy), copy)] if len(copies) else []
    quoting = [_reported(error) for error in reading.icmp if error["connection"] is not None]
    found += [ColumnTable.of_rows(quoting)] if quoting else []
    return ColumnTable.joined(found).sorted_by("number")


def _told(told: ColumnTable, codes: Whole) -> ColumnTable:
    names, severities, meanings = (
        np.array(words, np.object_)[codes]
        for words in (list(EVENTS), *zip(*EVENTS.values(), strict=True))
    )
    was_sent, since = np.isin(names, _OF_KINDS), told["since"]
    return told.select("number", "time", "connection", "forward").having(
        severity=severities,
        event=names,
        since=TableColumn(since.values, since.is_known & was_sent),
        count=TableColumn(told["count"].values, names == "duplicate_ack"),
        **told.select(*_SHOWN).columns,
        meaning=meanings,
    )


def _reported(error: IcmpError) -> dict[str, object]:
    severity, meaning = EVENTS[_ICMP]
    mtu = f", MTU {error['mtu']}" if error["mtu"] else ""
    return {
        "number": error["packet"],
        **{name: error[name] for name in ("time", "connection", "forward")},
        "severity": severity,
        "event": _ICMP,
        "since": None,
        "count": None,
        **dict.fromkeys(_SHOWN),
        "meaning": f"{meaning}: {error['error']}{mtu}, by {error['reporter']}",
    }


def _seen(packets: ColumnTable, reading: Reading) -> ColumnTable:
    """Return each packet with what was known when it came; the unknown fits no condition."""
    connection, forward = packets["connection"].values, packets["forward"].values
    window = packets.whole("window")
    sequence, length = packets.whole("sequence"), packets.whole("payload")
    ack = packets.whole("acknowledgement", missing=-1)
    syn, fin, rst, acks = (_flag(packets, mask) for mask in (_SYN, _FIN, _RST, _ACK))
    way, both = RowGroups(connection, forward), RowGroups(connection)
    offers = acks & ~rst
    offer = np.where(offers & ~syn, window, -1)
    # Any number that a sender uses tells what it sent before; a reset may be forged.
    end = np.where(rst, -1, sequence + length + syn + fin)
    so_far = way.greatest_so_far(end)

    def earlier(values: Whole, known: Truths, missing: int) -> Whole:
        """The last known value in an earlier packet of the same direction."""
        return _taken(way.last(known)[way.previous], values, missing, way.previous >= 0)

    def of_the_other(values: Whole, known: Truths, missing: int) -> Whole:
        """The last known value in a packet of the other direction."""
        of_a, of_b = both.last(known & forward), both.last(known & ~forward)
        return _taken(np.where(forward, of_b, of_a), values, missing)

    every = np.ones(len(packets), np.bool_)
    last_offer, peer_end = earlier(offer, offer >= 0, -1), of_the_other(so_far, every, 0)
    acked = way.greatest_so_far(np.where(rst, -1, ack))
    acked_before = earlier(acked, every, -2)
    blocks = packets.lists("sacks")
    of_row = np.repeat(np.arange(len(packets)), blocks.lengths)
    is_above = blocks.values.astype(np.int64) > ack[of_row]
    reports_more = np.bincount(of_row, is_above, len(packets)) > 0
    repeated = (
        (length == 0)
        & (offers & ~syn & ~fin)
        & (window > 0)  # with a window of zero it answers a probe
        & (ack == acked_before)
        & ((peer_end > ack) | reports_more)
        & ((window == last_offer) | (blocks.lengths > 0))
    )
    table = reading.connection_table
    known = table["options_known_a2b"].values & table["options_known_b2a"].values
    is_scale_known = known[np.searchsorted(table["connection"].values, connection)]
    return packets.having(
        end=end,
        offer=offer,
        before=earlier(so_far, so_far >= 0, _NEVER),
        acked=acked,
        acked_before=acked_before,
        last_offer=last_offer,
        peer_end=peer_end,
        peer_acked=of_the_other(acked, every, -1),
        peer_edge=of_the_other(np.where(is_scale_known, ack + window, _NEVER), offers, _NEVER),
        repeated=repeated,
        count=RowGroups(connection, forward, ack).sums_so_far(repeated),
    )


def _taken(rows: Whole, values: Whole, missing: int, is_there: Truths | bool = True) -> Whole:
    return np.where((rows >= 0) & is_there, values[rows], missing)


def _flag(packets: ColumnTable, mask: int) -> Truths:
    return np.asarray(packets["flags"].values & mask != 0)


def _acknowledged_gaps(seen: ColumnTable, gap: Truths, late: Truths) -> Truths:
    """Return the packets that acknowledge the begin of a gap before it was filled."""
    told = np.zeros(len(seen), np.bool_)
    connection, forward = seen["connection"].values, seen["forward"].values
    sequence, acked = seen.whole("sequence"), seen["acked"].values
    begin = np.maximum(seen["before"].values, seen["peer_acked"].values)
    gap = gap & (sequence > begin)
    chosen = np.flatnonzero(np.isin(connection, connection[gap]))
    for rows in RowGroups(connection[chosen]).rows:
        ways = [chosen[rows[forward[chosen[rows]] == way]] for way in (True, False)]
        for data, acks in (ways, ways[::-1]):
            fills = {sequence[row]: row for row in data[late[data]][::-1]}
            gaps = data[gap[data]]
            places = np.searchsorted(acked[acks], begin[gaps], side="right")
            for row, place in zip(gaps, places, strict=True):
                filled = fills.get(begin[row], len(seen))
                if place < len(acks) and row < acks[place] < filled:
                    told[acks[place]] = True
    return told


def _conditions(seen: ColumnTable) -> dict[str, Truths]:
    kind, flags, ecn = (seen[name].values for name in ("kind", "flags", "ecn"))
    sequence, ack = seen.whole("sequence"), seen.whole("acknowledgement", missing=-1)
    names = ("end", "offer", "last_offer", "peer_end", "acked_before", "before")
    end, offer, last_offer, peer_end, acked_before, before = (seen[x].values for x in names)
    first, syn_ack, reset = kind == KIND["none"], _SYN | _ACK, _flag(seen, _RST)
    is_new = (seen["payload"].values > 0) & (kind == KIND["new"]) & ~reset
    gap = (is_new | first & ~_flag(seen, _SYN) & ~reset) & (sequence > before)
    # A probe of a closed window may have had the first byte.
    late = (kind == KIND["late"]) | is_new & (sequence < before - 1) & (before < _NEVER)
    beyond = (ack > np.maximum(peer_end, acked_before)) & (peer_end > 0)
    told = {
        "open": first & (flags & syn_ack == _SYN),
        "accept": first & (flags & syn_ack == syn_ack),
        "close": first & _flag(seen, _FIN),
        "window_open": (last_offer == 0) & (offer > 0),
        "duplicate_ack": seen["repeated"].values,
        "dsack": seen["dsack"].values & (seen["payload"].values == 0),
        "congestion": ecn == _CE,
        "gap": gap,
        "zero_window": (offer == 0) & (last_offer != 0),
        # More than the window allows shows that ACKs are missing.
        "window_full": is_new & (end == seen["peer_edge"].values),
        "unseen": ~reset & beyond | _acknowledged_gaps(seen, gap, late),
        "reset": reset,
    }
    kinds = {name: kind == KIND[name] for name in _OF_KINDS} | {"late": late}
    # What is left of them was sent again and seen at the receiver.
    is_needless = kinds.pop("copy") & (end <= seen["peer_acked"].values)
    kinds["other"] |= (kind == KIND["copy"]) & ~is_needless
    kinds["spurious"] |= is_needless
    return told | kinds | {"copy": np.zeros_like(reset)}
