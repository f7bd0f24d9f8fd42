"""The columns of rows.csv: what a sweep keeps of each condition and flow of a run."""

from __future__ import annotations

from dataclasses import dataclass

Row = dict[str, str | float | None]
"""`condition`, `flow` and the metrics; None if a metric could not be measured."""


@dataclass(frozen=True)
class Metric:
    """A column of the table: its title, its unit, and whether it belongs to the whole run."""

    name: str
    title: str
    unit: str
    of_run: bool = False


GOODPUT = Metric("goodput_kbit_s", "Goodput at the receiver", "kbit/s")
TRANSFER = Metric("transfer_kbyte", "Data received", "KByte")
SECONDS = Metric("seconds", "Time from the first to the last byte at the receiver", "s")
RETRANSMITTED_BYTES = Metric("retransmitted_percent", "Bytes retransmitted", "%")
RETRANSMITTED_SEGMENTS = Metric("retransmitted_segments", "Segments retransmitted", "")
RTT_MEDIAN = Metric("rtt_median_ms", "Smoothed round-trip time, median over time", "ms")
RTT_P95 = Metric("rtt_p95_ms", "Smoothed round-trip time, 95th percentile over time", "ms")
CWND_MEDIAN = Metric("cwnd_median_segments", "Congestion window, median over time", "segments")
SENDER_RATE = Metric("client_kbit_s", "Rate at the sender, as iperf's client says", "kbit/s")
SENDER_SECONDS = Metric("client_seconds", "Time from the first to the last byte at the sender", "s")
MEAN_SECOND = Metric("mean_second_kbit_s", "Mean of the seconds' rates at the sender", "kbit/s")
SLOWEST_SECOND = Metric("slowest_second_kbit_s", "Slowest second at the sender", "kbit/s")
FASTEST_SECOND = Metric("fastest_second_kbit_s", "Fastest second at the sender", "kbit/s")
UDP_LOST = Metric("udp_lost_percent", "Datagrams lost", "%")
UDP_JITTER = Metric("udp_jitter_ms", "Jitter of datagrams", "ms")
TOTAL_GOODPUT = Metric(
    "total_goodput_kbit_s", "Goodput of all flows together", "kbit/s", of_run=True
)
JAIN_INDEX = Metric("jain_index", "Jain's fairness index of the flows' goodput", "", of_run=True)
RETRANSMITTED_SHARE = Metric(
    "resent_percent", "Segments retransmitted, of all senders' segments", "%", of_run=True
)
TIMEOUTS = Metric("timeouts", "Retransmission time-outs of all senders", "", of_run=True)
LOST = Metric("lost_percent", "Packets lost at random on all links", "%", of_run=True)
QUEUE_DROPS = Metric("queue_drops", "Packets dropped by full queues", "", of_run=True)
REORDERINGS = Metric("reorderings", "Reorderings that the senders' TCP saw", "", of_run=True)
OUT_OF_ORDER = Metric("out_of_order", "Segments that came out of order", "", of_run=True)
DSACKS = Metric("dsacks", "Needless retransmissions (DSACK)", "", of_run=True)
HOST_DROPS = Metric("host_drops", "Packets dropped by hosts' own netem", "", of_run=True)

METRICS = (
    GOODPUT,
    TRANSFER,
    SECONDS,
    RETRANSMITTED_BYTES,
    RETRANSMITTED_SEGMENTS,
    RTT_MEDIAN,
    RTT_P95,
    CWND_MEDIAN,
    SENDER_RATE,
    SENDER_SECONDS,
    MEAN_SECOND,
    SLOWEST_SECOND,
    FASTEST_SECOND,
    UDP_LOST,
    UDP_JITTER,
    TOTAL_GOODPUT,
    JAIN_INDEX,
    RETRANSMITTED_SHARE,
    TIMEOUTS,
    LOST,
    QUEUE_DROPS,
    REORDERINGS,
    OUT_OF_ORDER,
    DSACKS,
    HOST_DROPS,
)
"""The metrics in the order of the columns.

iperf's KByte are 1024 bytes; its rates have three digits.
"""
