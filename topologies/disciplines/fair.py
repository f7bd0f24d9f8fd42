"""Disciplines that give each flow its turn, or small flows the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topologies.disciplines.base import Discipline, Settings
from topologies.disciplines.parameters import (
    CE_THRESHOLD,
    QUANTUM,
    Choice,
    Setting,
    flag,
    words_of,
)
from topologies.units import Count, Duration, Packets, Rate, Size

_USUAL, _LEAST = 100, 10  # packets of a flow in fq
_MORE = 790  # bytes of memory that a packet of TCP takes beyond its frame (skb->truesize)


class Fq(Discipline):
    """Fair queues, without pacing: on a path there are no sockets to pace by."""

    name, title, trial = "fq", "fq: fair queues", "fq"
    since, is_fair, marks = "3.12", True, ("ce_mark",)
    # fq_fastpath_check (sch_fq.c) lets them pass while it has no others.
    excess, excess_reason = 8, "that fq lets pass"
    parameters = (
        Setting("flow_limit", Packets, "Packets of one flow.", "1", "1000000"),
        QUANTUM,
        Setting("initial_quantum", Size, "Bytes of a new flow's first turn.", "256B", "1MiB"),
        Setting("maxrate", Rate, "Most that a flow gets.", "1kbit", "30gbit"),
        Setting("buckets", Count, "Size of the hash table, a power of two.", "1", "262144"),
        Setting("orphan_mask", Count, "Hash of flows, 2^n - 1, on a router.", "1", "262143"),
        Setting("refill_delay", Duration, "Rest after which a flow is new.", "1us", "10s"),
        CE_THRESHOLD,
        Choice(
            "pacing",
            "Packets wait for the rate that their socket asks for.",
            (("on", "pacing", True), ("off", "nopacing", False)),
        ),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        # A full fq drops what arrives, whichever flow it is of: a flow that may fill the queue
        # keeps all others out. 100 is the default (tc-fq(8)); 10 are an initial window.
        of_flow = min(queue, max(_LEAST, min(_USUAL, queue // 10)))
        return self._with(f"limit {queue} flow_limit {of_flow} nopacing", given)

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"pacing": True, **options}  # tc prints it only if it is off


class Cake(Discipline):
    """cake, which counts memory (buffer_used in sch_cake.c): that of full frames of TCP."""

    name, title, trial = "cake", "cake: fair, and short waits", "cake"
    since, is_fair, in_bytes = "4.19", True, True
    excess, excess_reason = 1, "as cake counts memory"
    marks = ("ecn_mark",)
    early_drops = ("drops",)  # tc does not count drops of a full queue apart
    parameters = (
        Setting("bandwidth", Rate, "Rate of cake's shaper.", "8kbit", "30gbit"),
        Setting(
            "overhead",
            Size,
            "Bytes that the shaper adds to each IP packet.",
            "0B",
            "256B",
            needs="bandwidth",
        ),
        Setting(
            "mpu", Size, "Least size of a packet for the shaper.", "1B", "256B", needs="bandwidth"
        ),
        words_of("atm", "Cells that the shaper counts.", "atm", "ptm", "noatm", needs="bandwidth"),
        flag("ingress", "The shaper counts dropped packets too.", "egress", needs="bandwidth"),
        flag("split-gso", "Large buffers are cut into packets.", "no-split-gso", "split_gso"),
        Setting(
            "rtt",
            Duration,
            "Longest round trip that is expected.",
            "1us",
            "3600s",
            keywords=(
                *(("datacentre", "100us"), ("lan", "1ms"), ("metro", "10ms")),
                *(("regional", "30ms"), ("internet", "100ms"), ("oceanic", "300ms")),
                *(("satellite", "1s"), ("interplanetary", "3600s")),
            ),
        ),
        words_of(
            "diffserv",
            "Classes of traffic, by the packets' DSCP.",
            *("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
        ),
        words_of(
            "flowmode",
            "What gets its turn: flows, hosts, or both.",
            *("flowblind", "srchost", "dsthost", "hosts", "flows"),
            *("dual-srchost", "dual-dsthost", "triple-isolate"),
        ),
        Choice(
            "ack-filter",
            "Acknowledgements that later ones replace are dropped.",
            (
                ("on", "ack-filter", "enabled"),
                ("aggressive", "ack-filter-aggressive", "aggressive"),
                ("off", "no-ack-filter", "disabled"),
            ),
        ),
        flag("wash", "DSCPs are cleared."),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"unlimited memlimit {queue * (frame + _MORE)}", given)

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("memlimit", 0)) // (frame + _MORE)


class Hhf(Discipline):
    """Heavy-hitter filter: flows that send much wait behind all others."""

    name, title, trial, since = "hhf", "hhf: small flows first", "hhf", "3.14"
    parameters = (
        QUANTUM,
        Setting("hh_limit", Count, "Most heavy hitters at a time.", "1", "65536"),
        Setting("reset_timeout", Duration, "Time after which counts begin again.", "1ms", "60s"),
        Setting(
            "admit_bytes", Size, "Bytes in that time from which a flow is heavy.", "1B", "1GiB"
        ),
        Setting("evict_timeout", Duration, "Rest after which a flow is not heavy.", "1ms", "60s"),
        Setting("non_hh_weight", Count, "Weight of the other flows.", "1", "100"),
    )
