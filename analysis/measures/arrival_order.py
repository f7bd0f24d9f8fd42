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

from analysis.flows.both_ends import match_readings
from analysis.measures import metric_keys
from analysis.measures.metric_keys import MetricKey, SpreadKeys
from analysis.measures.trial_captures import End
from analysis.tabular.column_table import ColumnTable

DUPLICATES = 3
"""Duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2)."""


def order(sender: End, receiver: End) -> ColumnTable:
    """The data segments in the order of sending, as `matching.DirectionMatch.packets`.

    Without a common connection neither rows nor columns.
    """
    matches = match_readings(sender.alone, receiver.alone)
    return matches[0].forward.packets if matches else ColumnTable({})


def late(packets: ColumnTable) -> ColumnTable:
    """The reordered ones: `extent` in packets, `extent_time` in ns, `n_reordered` the largest n."""
    if not len(packets):
        return packets
    some = packets.select("extent", "extent_time", "n_reordered")
    return some.rows(some["extent"].values > 0)


def values_of(packets: ColumnTable) -> dict[MetricKey, float]:
    """The order: counts, shares in % of what arrived, extents in packets, times in ms."""
    delays = packets["delay"].known.tolist() if len(packets) else []
    if not delays:
        return {}
    reordered, arrived = late(packets), len(delays)
    many = int((reordered["n_reordered"].values >= DUPLICATES).sum())
    values: dict[MetricKey, float] = {
        metric_keys.ORDER_SENT: len(packets),
        metric_keys.ORDER_ARRIVED: arrived,
        metric_keys.ORDER_LOST: len(packets) - arrived,
        metric_keys.ORDER_LATE: len(reordered),
        metric_keys.ORDER_SHARE: 100 * len(reordered) / arrived,
        metric_keys.ORDER_SHARE_3: 100 * many / arrived,
        metric_keys.DELAY_LEAST: min(delays) / 1e6,
        metric_keys.DELAY_MOST: max(delays) / 1e6,
    }
    values |= _spread(metric_keys.ORDER_EXTENT, reordered["extent"].to_list())
    return values | _spread(
        metric_keys.ORDER_TIME, (reordered["extent_time"].values / 1e6).tolist()
    )


def _spread(keys: SpreadKeys, values: Sequence[float]) -> dict[MetricKey, float]:
    """Median, 95th percentile and greatest; nothing without values."""
    if not values:
        return {}
    high = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return {
        keys.median: median(values),
        keys.p95: min(high, max(values)),
        keys.most: max(values),
    }
