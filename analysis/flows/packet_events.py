"""What happened in a capture, packet by packet: the list that Wireshark calls expert information.

A row an event, in the file's order, with the number of its packet. The kinds of the packets' frame
give retransmissions with their reason; the rest is told by the order of packets.
"""

from __future__ import annotations

import polars as pl

from analysis.flows.columns import KIND, RETRANSMISSIONS
from analysis.flows.reader import Reading

EVENTS = {
    "open": ("chat", "a SYN: the connection is asked for"),
    "accept": ("chat", "a SYN-ACK: the connection is accepted"),
    "close": ("chat", "a FIN: this direction ends"),
    "window_open": ("chat", "a window that was zero is open again"),
    "fast": ("note", "retransmission after duplicate ACKs"),
    "sack": ("note", "retransmission, for SACK reported later bytes"),
    "rto": ("note", "retransmission by the timer"),
    "tlp": ("note", "retransmission of the last segment, as tail loss probe"),
    "spurious": ("note", "retransmission that was needless: the first copy had arrived"),
    "other": ("note", "retransmission without a sign of its reason"),
    "syn": ("note", "SYN or SYN-ACK sent again: it or its answer was lost"),
    "fin": ("note", "FIN sent again"),
    "keepalive": ("note", "keep-alive: nothing new, to see if the other end is there"),
    "probe": ("note", "probe of a closed window"),
    "duplicate_ack": ("note", "duplicate ACK: data came, and not the next byte"),
    "copy": ("note", "copy of a packet: by a mirror port, or seen at the receiver"),
    "congestion": ("note", "marked by a router instead of dropped (CE)"),
    "gap": ("warning", "bytes before this segment are missing so far: lost, or overtaken"),
    "late": ("warning", "out of order: fills a gap; overtaken, or a repair of a loss before here"),
    "zero_window": ("warning", "zero window: the receiver can take no more"),
    "window_full": ("warning", "window full: the sender must wait for the receiver"),
    "unseen": ("warning", "acknowledges bytes that the capture lacks"),
    "reset": ("warning", "reset: the connection is broken off"),
}
"""Each event with its severity, as Wireshark grades them, and its meaning."""

_SYN, _FIN, _RST, _ACK = 2, 1, 4, 16
_CE = 3
_WAY = ["connection", "forward"]
_SHOWN = ["sequence", "acknowledgement", "payload", "window"]
_OF_KINDS = (*RETRANSMISSIONS, "syn", "fin", "keepalive", "probe", "copy", "late")


def events(reading: Reading) -> pl.DataFrame:
    """A row an event: `number` and `time` of its packet, `connection`, `forward`, `severity`,
    `event`, `since`, what the packet says, and `meaning`.

    `since` is the time in ns since a segment with this sequence number was last sent, for what was
    sent again, and `count` the place of a duplicate ACK among its like. Needs rows of packets.
    """
    assert reading.packets is not None
    rows = _seen(reading.packets)
    found = [
        rows.filter(condition).with_columns(event=pl.lit(name))
        for name, condition in _conditions().items()
    ]
    order = {name: at for at, name in enumerate(EVENTS)}
    return (
        pl.concat(found)
        .with_columns(
            severity=pl.col("event").replace_strict({name: EVENTS[name][0] for name in EVENTS}),
            meaning=pl.col("event").replace_strict({name: EVENTS[name][1] for name in EVENTS}),
            order=pl.col("event").replace_strict(order),
            since=pl.when(pl.col("event").is_in(_OF_KINDS)).then(pl.col("since")),
            count=pl.when(pl.col("event") == "duplicate_ack").then(pl.col("count")),
        )
        .sort("number", "order")
        .select(
            *("number", "time", *_WAY, "severity", "event", "since", "count"), *_SHOWN, "meaning"
        )
    )


def _flag(mask: int) -> pl.Expr:
    return pl.col("flags") & mask != 0


def _seen(packets: pl.DataFrame) -> pl.DataFrame:
    """Each packet with what was known when it came, of its own direction and of the other."""
    own, length = pl.col("sequence").cast(pl.Int64), pl.col("payload").cast(pl.Int64)
    ack = pl.col("acknowledgement").cast(pl.Int64)
    offered = _flag(_ACK) & ~_flag(_RST)
    rows = packets.with_columns(
        end=own + length + _flag(_SYN).cast(pl.Int64) + _flag(_FIN).cast(pl.Int64),
        edge=pl.when(offered).then(ack + pl.col("window").cast(pl.Int64)),
        offer=pl.when(offered & ~_flag(_SYN)).then(pl.col("window")),
        bare=(length == 0) & offered & ~_flag(_SYN) & ~_flag(_FIN),
        since=pl.col("time") - pl.col("time").shift().over(*_WAY, "sequence"),
    ).with_columns(
        before=pl.col("end").cum_max().shift().over(_WAY),
        last_ack=pl.col("acknowledgement").forward_fill().shift().over(_WAY),
        last_offer=pl.col("offer").forward_fill().shift().over(_WAY),
        peer_end=_of_the_other(pl.col("end").cum_max().over(_WAY)),
        peer_edge=_of_the_other(pl.col("edge")),
    )
    repeated = (
        pl.col("bare")
        & (pl.col("window") > 0)  # with a window of zero it answers a probe
        & (ack == pl.col("last_ack"))
        & (pl.col("peer_end") > ack)
        & ((pl.col("window") == pl.col("last_offer")) | (pl.col("sacks").list.len() > 0))
    ).fill_null(False)
    return rows.with_columns(repeated=repeated).with_columns(
        count=pl.col("repeated").cast(pl.UInt32).cum_sum().over(*_WAY, "acknowledgement")
    )


def _of_the_other(value: pl.Expr) -> pl.Expr:
    """The last value in a packet of the other direction."""
    forward = pl.col("forward")
    of_a = pl.when(forward).then(value).forward_fill().over("connection")
    of_b = pl.when(~forward).then(value).forward_fill().over("connection")
    return pl.when(forward).then(of_b).otherwise(of_a)


def _conditions() -> dict[str, pl.Expr]:
    """When each of EVENTS happens."""
    kind, data = pl.col("kind"), pl.col("payload") > 0
    first, syn_ack = kind == KIND["none"], _SYN | _ACK
    is_new = data & (kind == KIND["new"])
    sequence, ack = pl.col("sequence").cast(pl.Int64), pl.col("acknowledgement").cast(pl.Int64)
    closed, was_closed = pl.col("offer") == 0, pl.col("last_offer") == 0
    told = {
        "open": first & (pl.col("flags") & syn_ack == _SYN),
        "accept": first & (pl.col("flags") & syn_ack == syn_ack),
        "close": first & _flag(_FIN),
        "window_open": was_closed & (pl.col("offer") > 0),
        "duplicate_ack": pl.col("repeated"),
        "congestion": pl.col("ecn") == _CE,
        "gap": is_new & (sequence > pl.col("before")),
        "zero_window": closed & ~was_closed.fill_null(False),
        "window_full": is_new & (pl.col("end") >= pl.col("peer_edge")),
        "unseen": ~_flag(_RST) & (ack > pl.col("peer_end")) & (pl.col("peer_end") > 0),
        "reset": _flag(_RST),
    }
    return told | {name: kind == KIND[name] for name in _OF_KINDS}
