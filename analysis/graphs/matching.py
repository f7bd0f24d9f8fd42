"""The same packet in two captures: when it left one place and when it came to the other.

Packets are the same if connection, direction, sequence, acknowledgement, payload, flags, IP identification and
timestamp are; of several such the first is matched with the first. Addresses must be the same in both files (no NAT).
"""

from __future__ import annotations

from typing import cast

import polars as pl

from analysis.graphs.capture import Capture

ENDS = ("host_a", "port_a", "host_b", "port_b")
SAME = ("ends", "forward", "sequence", "acknowledgement", "payload", "flags", "ip_id", "timestamp", "turn")


def trips(one: Capture, two: Capture) -> pl.DataFrame:
    """All packets of connections that both saw: `connection` (`connection_two` in `two`), departure, arrival (ns), ...

    Either time is null where only the other capture has the packet. Departure is at the capture nearer to the sender.
    """
    near, far = _identified(one), _identified(two)
    known = near.select("ends").unique()
    far = far.join(known, on="ends", how="semi")
    near = near.join(far.select("ends").unique(), on="ends", how="semi")
    both = near.join(far, on=list(SAME), how="full", nulls_equal=True, coalesce=True, suffix="_two")
    names = [frame.select("ends", "connection").unique("ends") for frame in (near, far)]
    both = both.drop("connection", "connection_two").join(names[0], on="ends").join(names[1], on="ends", suffix="_two")
    return _in_order_of_travel(both).sort("departure", "arrival", nulls_last=True)


def _identified(capture: Capture) -> pl.DataFrame:
    """The packets with names for connection and packet that do not depend on the capture."""
    ends = capture.connections.select("connection", ends=pl.concat_str(*ENDS, separator=" ", ignore_nulls=True))
    ends = ends.sort("connection").with_columns(ends=pl.format("{} {}", "ends", pl.int_range(pl.len()).over("ends")))
    packets = capture.packets.select("connection", "time", "number", "kind", *SAME[1:-1])
    named = packets.join(ends.cast({"connection": packets.schema["connection"]}), on="connection")
    return named.with_columns(turn=pl.int_range(pl.len()).over(["ends", *SAME[1:-1]]))


def _in_order_of_travel(both: pl.DataFrame) -> pl.DataFrame:
    """Names the two times; kind and number are those of the capture at the departure, which knows retransmissions.

    A difference of the clocks cancels out in the sum of both directions' medians."""
    later = pl.col("time_two") - pl.col("time")
    ahead, back = (both.filter(pl.col("forward") == way).select(later.median()).item() or 0.0 for way in (True, False))
    first_is_near_a = cast(float, ahead) - cast(float, back) >= 0
    from_one = pl.col("forward") == first_is_near_a
    facts = {
        name: pl.when(from_one).then(pl.coalesce(name, f"{name}_two")).otherwise(pl.coalesce(f"{name}_two", name))
        for name in ("kind", "number")
    }
    return both.with_columns(
        **facts,
        departure=pl.when(from_one).then("time").otherwise("time_two"),
        arrival=pl.when(from_one).then("time_two").otherwise("time"),
    ).drop("time", "time_two")
