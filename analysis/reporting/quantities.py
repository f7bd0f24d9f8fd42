"""The quantities that reports name, each with what it is read from.

The kernel's counters are explained in its Documentation/networking/snmp_counter.rst.
"""

from __future__ import annotations

from analysis.measures import metric_keys
from analysis.measures.metric_keys import FLOWS as ALL_FLOWS
from analysis.measures.metric_keys import PAUSE, RECEIVER, SENDER, MetricKey
from analysis.records import row_columns
from analysis.reporting.tables import ReportQuantity

CLIENT = "flow1.client.txt, last line"
SERVER = "flow1.server.txt, last line"


def at_receiver(
    name: str, unit: str, key: MetricKey, column: str, total: bool = False
) -> ReportQuantity:
    """A column of the capture at the receiver, by the name that tcptrace gives it."""
    return ReportQuantity(name, unit, key, f"receiver's .pcap, tcptrace's {column}", total)


def counter(name: str, field: str) -> ReportQuantity:
    """A counter of the sender's network namespace: after the trial less before.

    Raises UnknownMetric if the lab kernel has no such counter.
    """
    return ReportQuantity(name, "", metric_keys.counter(field), f"counters.json, sender, {field}")


TRANSFER = (
    ReportQuantity("iperf client", "kbit/s", metric_keys.CLIENT_RATE, CLIENT),
    ReportQuantity(
        "iperf client transfer", "KByte", metric_keys.CLIENT_TRANSFER, CLIENT, total=True
    ),
    ReportQuantity("iperf client interval", "s", metric_keys.CLIENT_INTERVAL, CLIENT, total=True),
    ReportQuantity("iperf server", "kbit/s", metric_keys.SERVER_RATE, SERVER),
    at_receiver(
        "tcptrace total packets",
        "packets",
        RECEIVER.both_total_packets,
        "total packets, both directions",
        total=True,
    ),
    at_receiver(
        "tcptrace packets a->b", "packets", RECEIVER.total_packets, "total packets", total=True
    ),
    at_receiver(
        "tcptrace packets b->a",
        "packets",
        RECEIVER.back_total_packets,
        "total packets, b->a",
        total=True,
    ),
    at_receiver(
        "tcptrace unique bytes sent a->b",
        "bytes",
        RECEIVER.unique_bytes_sent,
        "unique bytes sent",
        total=True,
    ),
    at_receiver(
        "tcptrace actual data bytes a->b",
        "bytes",
        RECEIVER.actual_data_bytes,
        "actual data bytes",
        total=True,
    ),
    at_receiver(
        "tcptrace rexmt data pkts a->b",
        "packets",
        RECEIVER.rexmt_data_pkts,
        "rexmt data pkts",
        total=True,
    ),
    at_receiver(
        "tcptrace rexmt data bytes a->b",
        "bytes",
        RECEIVER.rexmt_data_bytes,
        "rexmt data bytes",
        total=True,
    ),
    at_receiver(
        "tcptrace outoforder pkts a->b",
        "packets",
        RECEIVER.outoforder_pkts,
        "outoforder pkts",
        total=True,
    ),
    at_receiver(
        "tcptrace max win adv b->a", "bytes", RECEIVER.back_max_win_adv, "max win adv, b->a"
    ),
    at_receiver(
        "tcptrace initial window a->b", "bytes", RECEIVER.initial_window_bytes, "initial window"
    ),
    at_receiver(
        "tcptrace data xmit time a->b", "s", RECEIVER.data_xmit_time, "data xmit time", total=True
    ),
    at_receiver("tcptrace idletime max a->b", "ms", RECEIVER.idletime_max, "idletime max"),
    at_receiver("tcptrace throughput a->b", "byte/s", RECEIVER.throughput, "throughput"),
)
"""The rows of the published SACK experiment by its own names; a->b is towards the receiver."""

_SERVERS = "the last lines of all flows' .server.txt"
FLOWS = (
    ReportQuantity(
        "Goodput of all flows together", "kbit/s", ALL_FLOWS.total, f"{_SERVERS}, their sum"
    ),
    ReportQuantity("Slowest flow", "kbit/s", ALL_FLOWS.least, _SERVERS),
    ReportQuantity("Fastest flow", "kbit/s", ALL_FLOWS.most, _SERVERS),
    ReportQuantity("Jain's fairness index of the flows", "", ALL_FLOWS.jain, _SERVERS),
)
THROUGHPUT = ReportQuantity("Throughput at the receiver", "kbit/s", metric_keys.SERVER_RATE, SERVER)
_SOCKETS = "sockets.jsonl of all senders"
TRIP = ReportQuantity(
    "Round trip, median", "ms", metric_keys.TRIP_TYPICAL, f"{_SOCKETS}, rtt as TCP smooths it"
)
LEAST_TRIP = ReportQuantity("Least round trip", "ms", metric_keys.TRIP_LEAST, f"{_SOCKETS}, minrtt")
WAITING = ReportQuantity(
    "Queueing delay: round trip above the least, median",
    "ms",
    metric_keys.TRIP_ABOVE,
    f"{_SOCKETS}, rtt less minrtt",
)
ROUND_TRIPS = (TRIP, LEAST_TRIP, WAITING)
_DROPS = "qdiscs.json, all ports"
DROPPED_AT_RANDOM = ReportQuantity(
    "Packets lost at random", "", metric_keys.DROPS_RANDOM, f"{_DROPS}, netem"
)
DROPPED_FULL = ReportQuantity(
    "Packets dropped by a full queue", "", metric_keys.DROPS_FULL, f"{_DROPS}, queue"
)
DROPPED_MANAGED = ReportQuantity(
    "Packets dropped by a queue before it was full",
    "",
    metric_keys.DROPS_MANAGED,
    f"{_DROPS}, active queue management",
)
DROPPED_IN_HOSTS = ReportQuantity(
    "Packets dropped in hosts", "", metric_keys.DROPS_HOSTS, "counters.json, all hosts"
)
CAUSES = (DROPPED_AT_RANDOM, DROPPED_FULL, DROPPED_MANAGED, DROPPED_IN_HOSTS)
DATAGRAMS_LOST = ReportQuantity(
    "Datagrams lost", "%", metric_keys.of_metric(row_columns.UDP_LOST), SERVER
)
JITTER = ReportQuantity(
    "Jitter of datagrams", "ms", metric_keys.of_metric(row_columns.UDP_JITTER), SERVER
)
RESENT = ReportQuantity(
    "Segments retransmitted, of all senders' segments",
    "%",
    metric_keys.of_metric(row_columns.RETRANSMITTED_SHARE),
    "counters.json, all senders",
)
ALL_TIMEOUTS = ReportQuantity(
    "Retransmission time-outs of all senders",
    "",
    metric_keys.of_metric(row_columns.TIMEOUTS),
    "counters.json, all senders",
)
RETRANSMISSIONS = counter("Retransmitted segments", "TcpRetransSegs")
SENT_AGAIN = ReportQuantity(
    "The same, counted in the sender's capture",
    "",
    SENDER.rexmt_data_pkts,
    "sender's .pcap, tcptrace's rexmt data pkts",
)
NEEDLESS = ReportQuantity(
    "Needless copies: data that the receiver had already",
    "packets",
    RECEIVER.rexmt_data_pkts,
    "receiver's .pcap, tcptrace's rexmt data pkts",
)
UNIQUE = ReportQuantity(
    "Unique bytes",
    "bytes",
    SENDER.unique_bytes_sent,
    "sender's .pcap, tcptrace's unique bytes sent",
)
ALL_BYTES = ReportQuantity(
    "Bytes sent, repeats included",
    "bytes",
    SENDER.actual_data_bytes,
    "sender's .pcap, tcptrace's actual data bytes",
)
LOST = ReportQuantity(
    "Packets that the path lost towards the receiver",
    "",
    metric_keys.PATH_LOST,
    "qdiscs.json, netem drops less queue drops",
)
LOSS_SHARE = ReportQuantity(
    "Share of the packets that the path lost towards the receiver",
    "%",
    metric_keys.PATH_SHARE,
    "qdiscs.json, netem drops / (drops + packets)",
)
TIMEOUTS = counter("Retransmission time-outs", "TcpExtTCPTimeouts")
SPURIOUS = counter("Time-outs found to be needless (F-RTO)", "TcpExtTCPSpuriousRTOs")
_GAPS = f"gaps of {PAUSE:g} s or more between data segments in the sender's .pcap"
PAUSES = ReportQuantity(
    "Pauses of the sender", "", metric_keys.PAUSE_COUNT, f"{_GAPS}, their number"
)
PAUSED = ReportQuantity("Time spent in pauses", "s", metric_keys.PAUSE_TOTAL, f"{_GAPS}, their sum")
LONGEST = ReportQuantity("Longest pause", "s", metric_keys.PAUSE_LONGEST, f"{_GAPS}, the longest")
IDLE = ReportQuantity(
    "Longest idle time", "ms", SENDER.idletime_max, "sender's .pcap, tcptrace's idletime max"
)
RENO = counter("Fast recoveries by counting duplicate ACKs", "TcpExtTCPRenoRecovery")
SACK = counter("Fast recoveries by SACK", "TcpExtTCPSackRecovery")
RENO_FAILED = counter(
    "Recoveries of the first kind that ended in a time-out", "TcpExtTCPRenoRecoveryFail"
)
SACK_FAILED = counter("Recoveries by SACK that ended in a time-out", "TcpExtTCPSackRecoveryFail")
FAST = counter("Retransmissions in fast recovery", "TcpExtTCPFastRetrans")
SLOW = counter("Retransmissions in slow start, after a time-out", "TcpExtTCPSlowStartRetrans")
LOST_AGAIN = counter(
    "Retransmissions that were lost again, as the kernel noticed", "TcpExtTCPLostRetransmit"
)
PROBES = counter("Tail loss probes", "TcpExtTCPLossProbes")

KERNEL = (
    RETRANSMISSIONS,
    TIMEOUTS,
    SPURIOUS,
    RENO,
    SACK,
    RENO_FAILED,
    SACK_FAILED,
    FAST,
    SLOW,
    LOST_AGAIN,
    PROBES,
)
