"""The quantities that reports name, with where each is read: iperf, the captures, the kernel's
counters.

The kernel's counters are explained in its Documentation/networking/snmp_counter.rst.
"""

from __future__ import annotations

from analysis.measures.trial_measures import PAUSE
from analysis.reporting.tables import ReportQuantity

CLIENT = "flow1.client.txt, last line"
SERVER = "flow1.server.txt, last line"


def at_receiver(name: str, unit: str, key: str, column: str, total: bool = False) -> ReportQuantity:
    """A column of the capture at the receiver, by the name that tcptrace gives it."""
    return ReportQuantity(
        name, unit, f"receiver.{key}", f"receiver's .pcap, tcptrace's {column}", total
    )


def counter(name: str, field: str) -> ReportQuantity:
    """A counter of the sender's network namespace: after the trial less before."""
    return ReportQuantity(name, "", f"nstat.{field}", f"counters.json, sender, {field}")


TRANSFER = (
    ReportQuantity("iperf client", "kbit/s", "client.rate", CLIENT),
    ReportQuantity("iperf client transfer", "KByte", "client.transfer", CLIENT, total=True),
    ReportQuantity("iperf client interval", "s", "client.interval", CLIENT, total=True),
    ReportQuantity("iperf server", "kbit/s", "server.rate", SERVER),
    at_receiver(
        "tcptrace total packets",
        "packets",
        "both.total_packets",
        "total packets, both directions",
        total=True,
    ),
    at_receiver("tcptrace packets a->b", "packets", "total_packets", "total packets", total=True),
    at_receiver(
        "tcptrace packets b->a", "packets", "back.total_packets", "total packets, b->a", total=True
    ),
    at_receiver(
        "tcptrace unique bytes sent a->b",
        "bytes",
        "unique_bytes_sent",
        "unique bytes sent",
        total=True,
    ),
    at_receiver(
        "tcptrace actual data bytes a->b",
        "bytes",
        "actual_data_bytes",
        "actual data bytes",
        total=True,
    ),
    at_receiver(
        "tcptrace rexmt data pkts a->b", "packets", "rexmt_data_pkts", "rexmt data pkts", total=True
    ),
    at_receiver(
        "tcptrace rexmt data bytes a->b",
        "bytes",
        "rexmt_data_bytes",
        "rexmt data bytes",
        total=True,
    ),
    at_receiver(
        "tcptrace outoforder pkts a->b", "packets", "outoforder_pkts", "outoforder pkts", total=True
    ),
    at_receiver("tcptrace max win adv b->a", "bytes", "back.max_win_adv", "max win adv, b->a"),
    at_receiver("tcptrace initial window a->b", "bytes", "initial_window_bytes", "initial window"),
    at_receiver(
        "tcptrace data xmit time a->b", "s", "data_xmit_time", "data xmit time", total=True
    ),
    at_receiver("tcptrace idletime max a->b", "ms", "idletime_max", "idletime max"),
    at_receiver("tcptrace throughput a->b", "byte/s", "throughput", "throughput"),
)
"""The rows of the published SACK experiment, by its own names (a->b is from the sender to the
receiver).
"""

_SERVERS = "the last lines of all flows' .server.txt"
FLOWS = (
    ReportQuantity(
        "Goodput of all flows together", "kbit/s", "flows.total", f"{_SERVERS}, their sum"
    ),
    ReportQuantity("Slowest flow", "kbit/s", "flows.least", _SERVERS),
    ReportQuantity("Fastest flow", "kbit/s", "flows.most", _SERVERS),
    ReportQuantity("Jain's fairness index of the flows", "", "flows.jain", _SERVERS),
)
THROUGHPUT = ReportQuantity("Throughput at the receiver", "kbit/s", "server.rate", SERVER)
RETRANSMISSIONS = counter("Retransmitted segments", "TcpRetransSegs")
SENT_AGAIN = ReportQuantity(
    "The same, counted in the sender's capture",
    "",
    "sender.rexmt_data_pkts",
    "sender's .pcap, tcptrace's rexmt data pkts",
)
NEEDLESS = ReportQuantity(
    "Needless copies: data that the receiver had already",
    "packets",
    "receiver.rexmt_data_pkts",
    "receiver's .pcap, tcptrace's rexmt data pkts",
)
UNIQUE = ReportQuantity(
    "Unique bytes",
    "bytes",
    "sender.unique_bytes_sent",
    "sender's .pcap, tcptrace's unique bytes sent",
)
ALL_BYTES = ReportQuantity(
    "Bytes sent, repeats included",
    "bytes",
    "sender.actual_data_bytes",
    "sender's .pcap, tcptrace's actual data bytes",
)
LOST = ReportQuantity(
    "Packets that the path lost towards the receiver",
    "",
    "path.lost",
    "qdiscs.json, netem drops less queue drops",
)
LOSS_SHARE = ReportQuantity(
    "Share of the packets that the path lost towards the receiver",
    "%",
    "path.share",
    "qdiscs.json, netem drops / (drops + packets)",
)
TIMEOUTS = counter("Retransmission time-outs", "TcpExtTCPTimeouts")
SPURIOUS = counter("Time-outs found to be needless (F-RTO)", "TcpExtTCPSpuriousRTOs")
_GAPS = f"gaps of {PAUSE:g} s or more between data segments in the sender's .pcap"
PAUSES = ReportQuantity("Pauses of the sender", "", "pauses.count", f"{_GAPS}, their number")
PAUSED = ReportQuantity("Time spent in pauses", "s", "pauses.total", f"{_GAPS}, their sum")
LONGEST = ReportQuantity("Longest pause", "s", "pauses.longest", f"{_GAPS}, the longest")
IDLE = ReportQuantity(
    "Longest idle time", "ms", "sender.idletime_max", "sender's .pcap, tcptrace's idletime max"
)
RENO = counter("Fast recoveries by counting duplicate ACKs", "TcpExtTCPRenoRecovery")
SACK = counter("Fast recoveries by SACK", "TcpExtTCPSackRecovery")
RENO_FAILED = counter(
    "Recoveries of the first kind that ended in a time-out", "TcpExtTCPRenoRecoveryFail"
)
SACK_FAILED = counter("Recoveries by SACK that ended in a time-out", "TcpExtTCPSackRecoveryFail")
FAST = counter("Segments sent again in fast recovery", "TcpExtTCPFastRetrans")
SLOW = counter("Segments sent again in slow start, after a time-out", "TcpExtTCPSlowStartRetrans")
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
