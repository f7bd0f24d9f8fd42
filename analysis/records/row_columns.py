"""The columns of rows.parquet: what a sweep keeps of each condition and flow of a run."""

from __future__ import annotations

from dataclasses import dataclass

Row = dict[str, str | float | None]
"""`condition`, `flow` and the metrics; None where a metric could not be measured."""


@dataclass(frozen=True)
class Metric:
    """A column of the table: its title, unit, and whether it belongs to a flow or to the whole
    run.
    """

    name: str
    title: str
    unit: str
    of_run: bool = False


METRICS = (
    Metric("goodput_kbit_s", "Goodput at the receiver", "kbit/s"),
    Metric("transfer_kbyte", "Data received", "KByte"),
    Metric("seconds", "Time from the first to the last byte at the receiver", "s"),
    Metric("retransmitted_percent", "Bytes sent again", "%"),
    Metric("retransmitted_segments", "Segments sent again", ""),
    Metric("rtt_median_ms", "Smoothed round-trip time, median over time", "ms"),
    Metric("rtt_p95_ms", "Smoothed round-trip time, 95th percentile over time", "ms"),
    Metric("cwnd_median_segments", "Congestion window, median over time", "segments"),
    Metric("client_kbit_s", "Rate at the sender, as iperf's client says", "kbit/s"),
    Metric("client_seconds", "Time from the first to the last byte at the sender", "s"),
    Metric("mean_second_kbit_s", "Mean of the seconds' rates at the sender", "kbit/s"),
    Metric("slowest_second_kbit_s", "Slowest second at the sender", "kbit/s"),
    Metric("fastest_second_kbit_s", "Fastest second at the sender", "kbit/s"),
    Metric("udp_lost_percent", "Datagrams lost", "%"),
    Metric("udp_jitter_ms", "Jitter of datagrams", "ms"),
    Metric("total_goodput_kbit_s", "Goodput of all flows together", "kbit/s", of_run=True),
    Metric("jain_index", "Jain's fairness index of the flows' goodput", "", of_run=True),
    Metric("resent_percent", "Segments sent again, of all senders' segments", "%", of_run=True),
    Metric("timeouts", "Retransmission time-outs of all senders", "", of_run=True),
    Metric("lost_percent", "Packets lost at random on all links", "%", of_run=True),
    Metric("queue_drops", "Packets dropped by full queues", "", of_run=True),
    Metric("reorderings", "Reorderings that the senders' TCP saw", "", of_run=True),
    Metric("out_of_order", "Segments that came out of order", "", of_run=True),
    Metric("dsacks", "Segments sent again that had arrived (DSACK)", "", of_run=True),
    Metric("host_drops", "Packets dropped by hosts' own netem", "", of_run=True),
)
"""The metrics in the order of the columns. iperf's KByte are 1024 bytes; its rates have three
digits.
"""
