"""In which order packets arrived, from captures at both ends, in the terms of RFC 4737.

A packet is a segment as it was sent once: a retransmission is another packet. The sender's
capture numbers packets in the order of sending; one is reordered if a later one arrived before
it (section 3). Its extent is by how many places it came too late, its late time how long after
the first of those that overtook it (sections 4.2 and 4.3). It is n-reordered if the n packets
that arrived right before it were all sent after it (section 5): without other losses each of
these gave a duplicate acknowledgement, so TCP's threshold of 3 takes a 3-reordered packet for
lost. analysis.flows.matching knows the packets again and measures this.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

import polars as pl

from analysis.flows.both_ends import match_readings
from analysis.measures.trial_captures import End

DUPLICATES = 3
"""Duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2)."""


def order(sender: End, receiver: End) -> pl.DataFrame:
    """The data segments in the order of sending, as `matching.Way.packets`; no row without a common
    connection.
    """
    found = match_readings(sender.alone, receiver.alone)
    return found[0].forward.packets if found else pl.DataFrame()


def late(packets: pl.DataFrame) -> pl.DataFrame:
    """The reordered ones: `extent` in packets, `extent_time` in ns, and `n_reordered`, the largest
    n.
    """
    if not packets.height:
        return packets
    return packets.filter(pl.col("extent") > 0).select("extent", "extent_time", "n_reordered")


def values_of(packets: pl.DataFrame) -> dict[str, float]:
    """The order by key: counts, `share` and `share_3` (% of what arrived), extents in packets,
    times in ms.
    """
    delays = packets["delay"].drop_nulls().to_list() if packets.height else []
    if not delays:
        return {}
    found, arrived = late(packets), len(delays)
    values = {
        "order.sent": packets.height,
        "order.arrived": arrived,
        "order.lost": packets.height - arrived,
        "order.late": found.height,
        "order.share": 100 * found.height / arrived,
        "order.share_3": 100 * int((found["n_reordered"] >= DUPLICATES).sum()) / arrived,
        "order.delay_least": min(delays) / 1e6,
        "order.delay_most": max(delays) / 1e6,
    }
    times = (found["extent_time"] / 1e6).to_list()
    return (
        values | _spread("order.extent", found["extent"].to_list()) | _spread("order.time", times)
    )


def _spread(key: str, values: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile and greatest; nothing without values."""
    if not values:
        return {}
    high = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return {
        f"{key}_median": median(values),
        f"{key}_p95": min(high, max(values)),
        f"{key}_most": max(values),
    }
