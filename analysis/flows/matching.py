"""Two captures of one flow, packet by packet: losses, delays and reordering on the way.

A packet is recognised by what the network leaves alone: its bytes (`sequence`, `payload`),
`acknowledgement`, both timestamps and `ip_id`. Retransmissions carry the same bytes, but a new
IP-ID or timestamp. If a sender gives neither (IPv6 without timestamps), equal packets are told
apart by when they can have been sent. So are packets whose timestamps a capture has cut off.

Clocks are taken as they are. In the lab both ends read one clock; elsewhere ask for `align_clocks`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from analysis.flows.displacement import reordering
from topologies.errors import TcplabError

FLOW = "flow"
"""The column of the flows in `arrivals` and `delays`: packets of two flows never match."""
_KEY = (FLOW, "sequence", "payload", "acknowledgement", "timestamp", "echo", "ip_id", "mark")
_SYN_RST, _SYN, _FIN = 0x06, 0x02, 0x01
_ADDED = (FLOW, "mark", "place")


class CaptureSpan(Protocol):
    """When a capture began and ended (ns): it cannot have missed what passed outside."""

    @property
    def first(self) -> int | None: ...
    @property
    def last(self) -> int | None: ...


@dataclass(frozen=True)
class DirectionMatch:
    """One direction of a flow, at both ends.

    `packets` has a row for each packet that was sent, in that order: the sender's columns, and
    `arrival` UInt64? (its record in the receiver's file), `arrived` Int64? (ns), `delay` Int64?
    (ns, one way), `lost` Bool? (null if the receiver's capture had not begun or had ended),
    `copies` UInt32 (further arrivals), `needless` Bool (the same bytes had been sent before and
    that packet arrived), `extent` UInt32 (packets), `extent_time` Int64 (ns), `extent_bytes`
    UInt64, `n_reordered` UInt32: how far it was overtaken (RFC 4737; 0 for in order). `unsent`
    are the receiver's rows that the sender's capture does not have.
    """

    packets: pl.DataFrame
    unsent: pl.DataFrame


@dataclass(frozen=True)
class PathSummary:
    """A way in figures: packets, bytes of payload, and one-way delays in ns.

    The delays are None if nothing arrived.
    """

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
    sent: pl.DataFrame, arrived: pl.DataFrame, span: CaptureSpan, mss: int | None = None
) -> DirectionMatch:
    """Matches the packets of one direction of one connection.

    The frames are as `read(..., packets=True).packets` has them. `sent` are the rows at the sender,
    `arrived` those at the receiver, whose capture covers `span`. With `mss` (bytes) super-packets
    of either side (GSO, GRO) are first taken apart into segments of that size.
    """
    one_flow = pl.lit(0, pl.UInt32).alias(FLOW)
    left, right = (
        _marked((_segments(frame, mss) if mss else frame).with_columns(one_flow))
        for frame in (sent, arrived)
    )
    pairs = _paired(left, right)
    rows = _judged(_met(left, pairs).with_columns(delay=pl.col("arrived") - pl.col("time")), span)
    unsent = right.join(pairs, left_on="place", right_on="arrival_place", how="anti")
    return DirectionMatch(
        _with_reordering(rows).drop(*_ADDED, "arrival_place"), unsent.drop(_ADDED)
    )


def arrivals(sent: pl.DataFrame, arrived: pl.DataFrame) -> pl.DataFrame:
    """The packets of one direction of many flows (column `flow`), in the order of the file.

    They are as they were sent, with `arrival` (the record in the other file) and `arrived` (ns),
    null if it is not there, and `copies`.
    """
    left, right = _marked(sent), _marked(arrived)
    return _met(left, _paired(left, right)).drop("mark", "place", "arrival_place")


def _met(sent: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The sent packets with the first arrival of each, and the count of further ones."""
    first = pairs.group_by("place", maintain_order=True).agg(
        pl.first("arrival_place", "arrival", "arrived"), copies=pl.len() - 1
    )
    return (
        sent.join(first, on="place", how="left")
        .sort("place")
        .with_columns(pl.col("copies").fill_null(0))
    )


def summary(way: DirectionMatch) -> PathSummary:
    """The figures of `way`."""
    packets, delays = way.packets, way.packets["delay"].drop_nulls()
    lost = packets.filter(pl.col("lost"))
    return PathSummary(
        len(packets),
        len(lost),
        int(lost["payload"].sum()),
        packets["lost"].null_count(),
        int(packets["copies"].sum()),
        len(way.unsent),
        int(packets["needless"].sum()),
        int((packets["extent"] > 0).sum()),
        _whole(packets["extent"].max()) or 0,
        *(_whole(value) for value in (delays.min(), delays.median(), delays.max())),
    )


def align_clocks(
    forward: DirectionMatch, back: DirectionMatch
) -> tuple[DirectionMatch, DirectionMatch, int]:
    """Both ways without the clocks' offset, and the offset (ns, receiver's less sender's).

    The least delays of both ways are taken to be equal, as NTP does (RFC 5905, section 8): half of
    a difference of the paths goes into the offset. A drift must have been taken out before. Raises
    TcplabError if a way had no arrival.
    """
    least = [_whole(way.packets["delay"].min()) for way in (forward, back)]
    if least[0] is None or least[1] is None:
        raise TcplabError("The clocks cannot be aligned: in one direction no packet was matched.")
    offset = (least[0] - least[1]) // 2
    return _shifted(forward, -offset), _shifted(back, offset), offset


def delays(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """How many ns (`later`, median) after `first` the packets of each `flow` passed `second`.

    A flow without common packets has no row.
    """
    left, right = _marked(first), _marked(second)
    pairs = _paired(left, right).join(left.select("place", "time", FLOW), on="place")
    return pairs.group_by(FLOW).agg(later=(pl.col("arrived") - pl.col("time")).median())


def _shifted(way: DirectionMatch, by: int) -> DirectionMatch:
    return replace(
        way, packets=way.packets.with_columns(pl.col("arrived") + by, pl.col("delay") + by)
    )


def _whole(value: object) -> int | None:
    return round(value) if isinstance(value, int | float) else None


def _marked(packets: pl.DataFrame) -> pl.DataFrame:
    """Adds `place` (order in the file) and `mark` (the flags SYN and RST, and a lone FIN)."""
    lone_fin = pl.when(pl.col("payload") == 0).then(_FIN).otherwise(0)
    mark = pl.col("flags") & (lone_fin + _SYN_RST).cast(pl.UInt16)
    return packets.with_columns(mark=mark, place=pl.int_range(pl.len(), dtype=pl.Int64))


def _segments(packets: pl.DataFrame, mss: int) -> pl.DataFrame:
    """Super-packets as the segments that cross the wire. Segmentation counts the IP-ID up."""
    count = pl.max_horizontal(1, (pl.col("payload") + mss - 1) // mss)
    index = pl.int_ranges(0, count.cast(pl.Int64), dtype=pl.Int64)
    parts = packets.with_columns(part=index, whole=pl.col("payload").cast(pl.Int64)).explode("part")
    return parts.with_columns(
        (pl.col("sequence").cast(pl.Int64) + pl.col("part") * mss)
        .cast(pl.UInt64)
        .alias("sequence"),
        pl.min_horizontal(pl.col("whole") - pl.col("part") * mss, mss)
        .cast(pl.UInt32)
        .alias("payload"),
        ((pl.col("ip_id").cast(pl.Int64) + pl.col("part")) % 2**16).cast(pl.UInt16).alias("ip_id"),
    ).drop("part", "whole")


def _paired(sent: pl.DataFrame, arrived: pl.DataFrame) -> pl.DataFrame:
    """(`place` of the sent packet, `arrival_place`, `arrival`, `arrived`) in order of arrival.

    As many arrivals as sent packets of one kind: the first is the first. More of a packet that
    was sent once: copies.
    """
    columns = (*_KEY, "time", "place", "number")
    both = _counted(
        _without_cut_stamps(
            pl.concat([sent.select(*columns, there=False), arrived.select(*columns, there=True)])
        )
    )
    left = both.filter(~pl.col("there")).select("key", "turn", "place", sent="time")
    right = both.filter("there").select(
        "key", "turn", "of", "come", arrival_place="place", arrival="number", arrived="time"
    )
    once, even = pl.col("of") == 1, pl.col("of") == pl.col("come")
    clear = right.filter(once | even).with_columns(turn=pl.when(once).then(0).otherwise("turn"))
    pairs = clear.join(left, on=["key", "turn"])
    delay = (pairs["arrived"] - pairs["sent"]).median()
    nearest = _nearest(left, right.filter(~(once | even) & (pl.col("of") > 1)), _whole(delay) or 0)
    wanted = ("place", "arrival_place", "arrival", "arrived")
    return pl.concat([pairs.select(wanted), nearest.select(wanted)]).sort("arrival_place")


def _without_cut_stamps(both: pl.DataFrame) -> pl.DataFrame:
    """Without timestamps that only one capture has, because the other one's packets are shorter.

    In a SYN they stand last of the options, in other packets first, so a SYN's are left out always.
    """
    not_syn = pl.col("mark") & _SYN == 0
    has_them = pl.col("timestamp").is_not_null() & not_syn
    kept = [(has_them & (pl.col("there") == there)).any().over(FLOW) for there in (False, True)]
    names = ("timestamp", "echo")
    return both.with_columns(pl.when(not_syn, *kept).then(name).alias(name) for name in names)


def _counted(both: pl.DataFrame) -> pl.DataFrame:
    """Adds `key` and `turn`, and at each end how many packets of the key there are.

    `key` is one number for equal packets; `of` of them were sent and `come` came; `turn` is the
    packet's turn among them at its end.
    """
    keyed = both.with_row_index("row").with_columns(key=pl.first("row").over(_KEY))
    keyed = keyed.with_columns(
        of=(~pl.col("there")).sum().over("key"), come=pl.col("there").sum().over("key")
    )
    alone = (pl.col("of") <= 1) & (pl.col("come") <= 1)
    turn = pl.int_range(pl.len()).over("key", "there")  # costs most, and nearly all are alone
    alike = [
        keyed.filter(alone).with_columns(turn=pl.lit(0, pl.Int64)),
        keyed.filter(~alone).with_columns(turn=turn),
    ]
    return pl.concat(alike)


def _nearest(sent: pl.DataFrame, arrived: pl.DataFrame, delay: int) -> pl.DataFrame:
    """Pairs each arrival with the equal packet that was sent nearest to the usual delay before."""
    expected = arrived.with_columns(at=pl.col("arrived") - delay)
    offered = sent.join(expected.select("key").unique(), on="key", how="semi").select(
        "key", "place", "sent", at="sent"
    )
    queries = expected.drop("turn", "of", "come")
    line = pl.concat([offered, queries], how="diagonal").sort("key", "at")
    line = line.with_columns(
        *(
            pl.col(name).forward_fill().over("key").alias(f"{name}_before")
            for name in ("place", "sent")
        ),
        *(
            pl.col(name).backward_fill().over("key").alias(f"{name}_after")
            for name in ("place", "sent")
        ),
    )
    later = (pl.col("sent_after") - pl.col("at") < pl.col("at") - pl.col("sent_before")).fill_null(
        pl.col("sent_before").is_null()
    )
    place = pl.when(later).then("place_after").otherwise("place_before")
    return line.filter(pl.col("arrived").is_not_null()).with_columns(place=place)


def _judged(rows: pl.DataFrame, span: CaptureSpan) -> pl.DataFrame:
    """With `lost` and `needless`."""
    least = rows["delay"].min() or 0
    due = pl.col("time") + least
    covered = (
        due.is_between(span.first, span.last, "none") if span.first is not None else pl.lit(False)
    )
    came = pl.col("arrived").is_not_null()
    before = came.cast(pl.Int64).cum_sum().over("sequence", "payload") - came.cast(pl.Int64)
    lost = pl.when(came).then(False).when(covered).then(True).otherwise(None)
    return rows.with_columns(lost=lost, needless=(pl.col("payload") > 0) & (before > 0))


def _with_reordering(rows: pl.DataFrame) -> pl.DataFrame:
    arrivals = rows.filter(pl.col("arrived").is_not_null()).sort("arrival_place")
    columns = [arrivals[name].cast(pl.Int64).to_numpy() for name in ("place", "arrived", "payload")]
    displacement = reordering(*(np.ascontiguousarray(column) for column in columns))
    names = {
        "extent": displacement.packets,
        "extent_time": displacement.time,
        "extent_bytes": displacement.octets,
        "n_reordered": displacement.n,
    }
    types = {
        "extent": pl.UInt32,
        "extent_time": pl.Int64,
        "extent_bytes": pl.UInt64,
        "n_reordered": pl.UInt32,
    }
    values = pl.DataFrame({"place": arrivals["place"], **names}).with_columns(
        pl.col(name).cast(kind) for name, kind in types.items()
    )
    filled = rows.join(values, on="place", how="left", maintain_order="left")
    return filled.with_columns(pl.col(name).fill_null(0) for name in names)
