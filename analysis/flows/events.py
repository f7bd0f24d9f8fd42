"""What happened in a capture, packet by packet: the list that Wireshark calls expert information.

A row an event, in the file's order, with the number of its packet. The kinds of the packets' frame
give retransmissions with their reason; the rest is told by the order of packets.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis.flows.columns import KIND, RETRANSMISSIONS, table_rows
from analysis.flows.icmp import IcmpError
from analysis.flows.reader import Reading
from analysis.tabular.row_groups import RowGroups
from analysis.tabular.table import ColumnTable, TableColumn, Truths, Whole

EVENTS = {
    row["event"]: (row["severity"], row["meaning"])
    for row in table_rows(Path(__file__).with_name("events.csv"))
}
"""Each event with its severity, as Wireshark grades them, and its meaning."""

_ICMP = "icmp"
_OF_SEGMENTS = [name for name in EVENTS if name != _ICMP]
_SYN, _FIN, _RST, _ACK = 2, 1, 4, 16
_CE = 3
_SHOWN = ("sequence", "acknowledgement", "payload", "window")
_OF_KINDS = (*RETRANSMISSIONS, "syn", "fin", "keepalive", "probe", "copy", "late")
_NEVER = 2**62
"""More than any sequence number: what is not known is not exceeded."""


def events(reading: Reading) -> ColumnTable:
    """A row an event: `number` and `time` of its packet, `connection`, `forward`, `severity`,
    `event`, `since`, `count`, what the packet says, and `meaning`.

    `since` is the time in ns since a segment with this sequence number was last sent, for what was
    sent again, and `count` the place of a duplicate ACK among its like. Needs rows of packets.
    """
    assert reading.packet_table is not None
    seen = _seen(reading.packet_table)
    happened = _conditions(seen)
    rows, codes = np.nonzero(np.column_stack([happened[name] for name in _OF_SEGMENTS]))
    names, severities, meanings = (
        np.array(words, np.object_)[codes]
        for words in (list(EVENTS), *zip(*EVENTS.values(), strict=True))
    )
    told = seen.rows(rows)
    was_sent = np.isin(codes, [_OF_SEGMENTS.index(name) for name in _OF_KINDS])
    since, count = told["since"], told["count"].values
    table = told.select("number", "time", "connection", "forward").having(
        severity=severities,
        event=names,
        since=TableColumn(since.values, since.is_known & was_sent),
        count=TableColumn(count, names == "duplicate_ack"),
        **told.select(*_SHOWN).columns,
        meaning=meanings,
    )
    quoting = [_reported(error) for error in reading.icmp if error["connection"] is not None]
    both = ColumnTable.joined([table, ColumnTable.of_rows(quoting)]) if quoting else table
    return both.sorted_by("number")


def _reported(error: IcmpError) -> dict[str, object]:
    """Return the event of an error of ICMP that quotes a connection."""
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


def _seen(packets: ColumnTable) -> ColumnTable:
    """Each packet with what was known when it came, of its own direction and of the other.

    Numbers that are not known are such that no condition takes them.
    """
    connection, forward = packets["connection"].values, packets["forward"].values
    time, window = packets["time"].values, packets.whole("window")
    sequence, length = packets.whole("sequence"), packets.whole("payload")
    ack, has_ack = packets.whole("acknowledgement", missing=-1), packets["acknowledgement"].is_known
    syn, fin, rst, acks = (_flag(packets, mask) for mask in (_SYN, _FIN, _RST, _ACK))
    way, both = RowGroups(connection, forward), RowGroups(connection)
    sent_before = RowGroups(connection, forward, sequence).previous
    offers = acks & ~rst
    offer = np.where(offers & ~syn, window, -1)
    end = sequence + length + syn + fin
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
    repeated = (
        (length == 0)
        & (offers & ~syn & ~fin)
        & (window > 0)  # with a window of zero it answers a probe
        & (ack == earlier(ack, has_ack, -2))
        & (peer_end > ack)
        & ((window == last_offer) | (packets.lists("sacks").lengths > 0))
    )
    return packets.having(
        end=end,
        offer=offer,
        since=TableColumn(time - time[sent_before], sent_before >= 0),
        before=earlier(so_far, every, _NEVER),
        last_offer=last_offer,
        peer_end=peer_end,
        peer_edge=of_the_other(ack + window, offers, _NEVER),
        repeated=repeated,
        count=RowGroups(connection, forward, ack).sums_so_far(repeated),
    )


def _taken(
    rows: Whole, values: Whole, missing: int, is_there: Truths | bool = True
) -> NDArray[np.int64]:
    """The values of these rows; `missing` for the row -1."""
    return np.where((rows >= 0) & is_there, values[rows], missing)


def _flag(packets: ColumnTable, mask: int) -> Truths:
    return np.asarray(packets["flags"].values & mask != 0)


def _conditions(seen: ColumnTable) -> dict[str, Truths]:
    """For each event of segments the packets with which it happens."""
    kind, flags, ecn = (seen[name].values for name in ("kind", "flags", "ecn"))
    sequence, ack = seen.whole("sequence"), seen.whole("acknowledgement", missing=-1)
    end, offer, last_offer, peer_end = (
        seen[name].values for name in ("end", "offer", "last_offer", "peer_end")
    )
    first, syn_ack = kind == KIND["none"], _SYN | _ACK
    is_new = (seen["payload"].values > 0) & (kind == KIND["new"])
    told = {
        "open": first & (flags & syn_ack == _SYN),
        "accept": first & (flags & syn_ack == syn_ack),
        "close": first & _flag(seen, _FIN),
        "window_open": (last_offer == 0) & (offer > 0),
        "duplicate_ack": seen["repeated"].values,
        "congestion": ecn == _CE,
        "gap": is_new & (sequence > seen["before"].values),
        "zero_window": (offer == 0) & (last_offer != 0),
        "window_full": is_new & (end >= seen["peer_edge"].values),
        "unseen": ~_flag(seen, _RST) & (ack > peer_end) & (peer_end > 0),
        "reset": _flag(seen, _RST),
    }
    return told | {name: kind == KIND[name] for name in _OF_KINDS}
