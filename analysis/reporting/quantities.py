"""Quantities of the table of metrics that reports name."""

from analysis.measures.metrics import metric
from analysis.reporting.tables import ReportQuantity


def quantity(
    key: str, name: str = "", unit: str | None = None, scale: float = 1.0
) -> ReportQuantity:
    """Return the quantity of a metric, by the metric's title and unit unless others are given.

    `scale` converts the metric to `unit`. Raises UnknownMetric.
    """
    each = metric(key)
    source = each.source.replace("FLOW", "flow1")
    return ReportQuantity(
        name or each.title, each.unit if unit is None else unit, each, source, each.total, scale
    )


TRANSFER = (
    quantity("client.rate"),
    quantity("client.transfer"),
    quantity("client.interval"),
    quantity("server.rate", "iperf server"),
    *(
        quantity(f"receiver.{column}")
        for column in (
            "both.total_packets",
            "total_packets",
            "back.total_packets",
            "unique_bytes_sent",
            "actual_data_bytes",
            "rexmt_data_pkts",
            "rexmt_data_bytes",
            "outoforder_pkts",
            "back.max_win_adv",
            "initial_window_bytes",
            "data_xmit_time",
            "idletime_max",
            "throughput",
        )
    ),
)
"""The rows of the published SACK experiment by its own names; a->b is towards the receiver."""

FLOWS = tuple(quantity(f"flows.{name}") for name in ("total", "least", "most", "jain"))
THROUGHPUT = quantity("server.rate")
ROUND_TRIPS = (
    TRIP := quantity("trips.typical"),
    LEAST_TRIP := quantity("trips.least"),
    WAITING := quantity("trips.above_least"),
)
CAUSES = (
    DROPPED_AT_RANDOM := quantity("drops.random", unit=""),
    DROPPED_FULL := quantity("drops.full_queue", unit=""),
    DROPPED_MANAGED := quantity("drops.active_queue_management", unit=""),
    DROPPED_IN_HOSTS := quantity("drops.hosts", unit=""),
)
DATAGRAMS_LOST, JITTER = quantity("metric.udp_lost_percent"), quantity("metric.udp_jitter_ms")
RESENT, ALL_TIMEOUTS = quantity("metric.resent_percent"), quantity("metric.timeouts")
SENT_AGAIN = quantity("sender.rexmt_data_pkts", "The same, counted in the sender's capture", "")
NEEDLESS = quantity(
    "receiver.rexmt_data_pkts", "Needless copies: data that the receiver had already"
)
UNIQUE = quantity("sender.unique_bytes_sent", "Unique bytes")
ALL_BYTES = quantity("sender.actual_data_bytes", "Bytes sent, repeats included")
LOST, LOSS_SHARE = quantity("path.lost", unit=""), quantity("path.share")
DROP_SHARE = quantity("path.drop_share")
PAUSES, PAUSED, LONGEST = (quantity(f"pauses.{name}") for name in ("count", "total", "longest"))
IDLE = quantity("sender.idletime_max", "Longest idle time")
KERNEL = (
    RETRANSMISSIONS := quantity("nstat.TcpRetransSegs", "Retransmitted segments"),
    TIMEOUTS := quantity("nstat.TcpExtTCPTimeouts", "Retransmission time-outs"),
    SPURIOUS := quantity("nstat.TcpExtTCPSpuriousRTOs", "Time-outs found to be needless (F-RTO)"),
    RENO := quantity("nstat.TcpExtTCPRenoRecovery", "Fast recoveries by counting duplicate ACKs"),
    SACK := quantity("nstat.TcpExtTCPSackRecovery", "Fast recoveries by SACK"),
    RENO_FAILED := quantity(
        "nstat.TcpExtTCPRenoRecoveryFail", "Recoveries of the first kind that ended in a time-out"
    ),
    SACK_FAILED := quantity(
        "nstat.TcpExtTCPSackRecoveryFail", "Recoveries by SACK that ended in a time-out"
    ),
    FAST := quantity("nstat.TcpExtTCPFastRetrans", "Retransmissions in fast recovery"),
    SLOW := quantity(
        "nstat.TcpExtTCPSlowStartRetrans", "Retransmissions in slow start, after a time-out"
    ),
    LOST_AGAIN := quantity(
        "nstat.TcpExtTCPLostRetransmit",
        "Retransmissions that were lost again, as the kernel noticed",
    ),
    PROBES := quantity("nstat.TcpExtTCPLossProbes", "Tail loss probes"),
)
"""The kernel's counters of TCP's recovery."""
