"""Causes of lost packets: chance, a full queue, queue management, or a host.

Losses that none of these counts has are unasked, such as those of the kernel's backlog behind a
cable (netdev_max_backlog).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial

HOST_DROPS = (
    "IpInDiscards",
    "IpOutDiscards",
    "UdpRcvbufErrors",
    "UdpSndbufErrors",
    "UdpMemErrors",
    "TcpInCsumErrors",
    "TcpExtListenDrops",
    "TcpExtOfoPruned",
    "TcpExtPFMemallocDrop",
    "TcpExtRcvPruned",
    "TcpExtTCPBacklogDrop",
    "TcpExtTCPMinTTLDrop",
    "TcpExtTCPOFODrop",
    "TcpExtTCPRcvQDrop",
    "TcpExtTCPReqQFullDrop",
    "TcpExtTCPWqueueTooBig",
    "TcpExtTCPZeroWindowDrop",
)
"""Counters of packets that a host's own kernel dropped (Documentation/networking/snmp_counter)."""
_SENT = ("TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams", "IcmpOutMsgs")
_ARRIVED, _TWICE = "IpInReceives", "TcpExtTCPSynRetrans"

Counts = Mapping[str, float]


@dataclass(frozen=True)
class DropCauses:
    """The packets of a trial that did not arrive, by cause; `sent` are all that hosts sent.

    `hosts` has the counters of HOST_DROPS that grew, as (host, counter). `unasked` is None if it
    cannot be counted.
    """

    sent: float
    random: float
    full_queue: float
    managed: float
    hosts: Mapping[tuple[str, str], float]
    unasked: float | None


def drop_causes(run: RunRecord, trial: Trial) -> DropCauses | None:
    """Count the causes in qdiscs.json and counters.json; None if one lacks the counts."""
    problems = Problems()  # the reader of the trial notes them
    qdiscs, counters = trial.files.qdiscs(problems), trial.files.counters(problems)
    grown = {host: counters.growth(host) for host in counters.after}
    ports = [qdiscs.port_loss(port) for port in qdiscs.after]
    if not grown or not any(port.passed for port in ports) or not run.counts_segments:
        return None
    random, dropped = sum(port.lost for port in ports), sum(port.dropped for port in ports)
    managed = sum(map(qdiscs.managed_drops, qdiscs.after))
    hosts = {
        (host, name): count
        for host, counts in grown.items()
        for name in HOST_DROPS
        if (count := _dropped_by_host(counts, name)) > 0
    }
    sent = sum(_sum(counts, _SENT) for counts in grown.values())
    unasked = _unasked(list(grown.values()), sent - random - dropped - _reordered(trial))
    return DropCauses(sent, random, dropped - managed, managed, hosts, unasked)


def _dropped_by_host(counts: Counts, name: str) -> float:
    """Return the packets that a host dropped.

    A call that an ICMP error refuses counts as a discard, without a packet (__ip_append_data in
    net/ipv4/ip_output.c): iperf's server of UDP repeats reports for a client that has ended.
    """
    refused = counts.get("IcmpInDestUnreachs", 0.0) if name == "IpOutDiscards" else 0.0
    return counts.get(name, 0.0) - refused


def _reordered(trial: Trial) -> float:
    """Packets dropped by hosts that were asked to reorder."""
    hosts = trial.files.reordering()
    return sum(map(hosts.host_drops, hosts.after)) if hosts else 0.0


def _sum(counts: Counts, names: tuple[str, ...]) -> float:
    return sum(counts.get(name, 0.0) for name in names)


def _unasked(grown: list[Counts], due: float) -> float | None:
    """The `due` packets that no host received; below 0 if hosts received more than were due.

    Linux counts a SYN-ACK that is sent again twice, so as many may seem to be missing. None if a
    kernel does not count, or if it cut packets up.
    """
    if not all(_ARRIVED in counts for counts in grown) or any(
        counts.get("IpFragCreates", 0) for counts in grown
    ):
        return None
    missing = due - sum(counts[_ARRIVED] for counts in grown)
    doubtful = sum(counts.get(_TWICE, 0.0) for counts in grown)
    return max(0.0, missing - doubtful) if missing >= 0 else missing
