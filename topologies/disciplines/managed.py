"""Disciplines that drop or mark by the time of waiting, and those that give each flow its turn."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from topologies.disciplines.base import (
    CE_THRESHOLD,
    ECN,
    FLOWS,
    INTERVAL,
    MEMORY,
    QUANTUM,
    TARGET,
    Choice,
    Discipline,
    Setting,
    Settings,
    flag,
    words_of,
)
from topologies.errors import UsageError
from topologies.units import Count, Duration, Frequency, Packets, Rate, Share, Size

_Gain = partial(Setting, lowest="0.004Hz", highest="1000Hz", scale=1e6 / 256)
"""A parameter in 256ths of a hertz."""
_Percentage = partial(Setting, kind=Share, highest="100%", scale=1e8)
_OfShaper = partial(Setting, lowest="0B", highest="256B", needs="bandwidth")
_TUPDATE = Setting(
    "tupdate", Duration, "Time between two updates of the probability.", "1ms", "1s", step="1ms"
)


class Codel(Discipline):
    name, title, trial = "codel", "codel: short waits", "codel"
    since, early_drops = "3.5", ("drops", "drop_overlimit")
    marks = ("ecn_mark", "ce_mark")
    parameters = (TARGET, INTERVAL, ECN, CE_THRESHOLD)
    usual = " ecn"


class FqCodel(Discipline):
    name, title, trial = "fq_codel", "fq_codel: fair, and short waits", "fq_codel"
    since, is_fair = "3.5", True
    early_drops, marks = ("drops", "drop_overlimit"), ("ecn_mark", "ce_mark")
    parameters = (
        *Codel.parameters,
        *(FLOWS, QUANTUM, MEMORY),
        Choice(
            "ce_threshold_selector",
            "Packets that ce_threshold marks, by value and mask: L4S, or all.",
            (("0x1/0x3", "ce_threshold_selector 0x1/0x3", 1),),
            needs="ce_threshold",
        ),
        Setting("drop_batch", Packets, "Packets that a full queue drops at once.", "1", "1000"),
    )


class Pie(Discipline):
    name, title, trial = "pie", "pie: drops early by the wait", "pie"
    since, early_drops, marks = "3.14", ("drops", "overlimit"), ("ecn_mark",)
    parameters = (
        TARGET,
        _TUPDATE,
        Setting("alpha", Count, "Weight of the distance to the target.", "0", "32"),
        Setting("beta", Count, "Weight of the delay's change.", "0", "32"),
        ECN,
        flag("bytemode", "Large packets are dropped more often."),
        flag(
            "dq_rate_estimator",
            "The delay is that of the queue at the rate of departures, not of time stamps.",
            off="no_dq_rate_estimator",
        ),
    )
    usual = " ecn"


class FqPie(Discipline):
    name, title, trial = "fq_pie", "fq_pie: fair, drops early by the wait", "fq_pie"
    since, is_fair = "5.6", True
    early_drops, marks = ("dropped",), ("ecn_mark",)
    parameters = (
        *Pie.parameters,
        *(FLOWS, QUANTUM, MEMORY),
        _Percentage("ecn_prob", meaning="Above this probability packets are dropped.", lowest="1%"),
    )
    usual = " ecn"


def _numbered(name: str, meaning: str, *values: tuple[str, int]) -> Choice:
    """Return a parameter whose values are numbers in netlink."""
    return Choice(name, meaning, tuple((word, word, number) for word, number in values))


# TCA_DUALPI2_LIMIT and so on (include/uapi/linux/pkt_sched.h); the first nine have 32 bits.
_ATTRIBUTES = """
limit memory_limit target tupdate alpha beta step_packets step_thresh min_qlen_step
coupling_factor overload drop classic_protection ecn
"""


class Dualpi2(Discipline):
    """The coupled dual queue of L4S (RFC 9332). Flows with ECT(1) have a queue that marks early."""

    name, title, trial = "dualpi2", "dualpi2: two queues for L4S", "dualpi2"
    since = "6.17"
    early_drops, marks = ("drops", "overlimits"), ("ecn_mark",)
    marks_again = ("step_marks",)  # do_step_aqm (sch_dualpi2.c) marks what the coupling has marked
    parameters = (
        TARGET,
        _TUPDATE,
        _Gain("alpha", Frequency, "Gain of the distance to the target."),
        _Gain("beta", Frequency, "Gain of the delay's change."),
        Setting("coupling_factor", Count, "Square-root law against linear one.", "1", "255"),
        Setting("step_thresh", Duration, "Wait from which L4S packets are marked.", "1us", "1s"),
        Setting("step_packets", Packets, "L4S packets from which more are marked.", "1", "1000000"),
        Setting("min_qlen_step", Packets, "Shortest queue with that step.", "0", "1000000"),
        _Percentage("classic_protection", meaning="Least share of the classic queue.", lowest="0%"),
        MEMORY,
        _numbered("overload", "At overload.", ("drop_on_overload", 1), ("overflow", 0)),
        _numbered("drop", "When packets are dropped.", ("drop_enqueue", 1), ("drop_dequeue", 0)),
        _numbered("ecn", "Packets of the L4S queue.", ("l4s_ect", 1), ("any_ect", 3)),
    )
    attributes: ClassVar[dict[str, tuple[int, str]]] = {
        name: (number, "=I" if number < 10 else "=B")
        for number, name in enumerate(_ATTRIBUTES.split(), 1)
    }
    counters = (
        *("prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq"),
        *("ecn_mark", "step_marks", "credit", "memory_used", "max_memory_used", "memory_limit"),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        if {"step_thresh", "step_packets"} <= {name for name, _ in given}:
            problem = "dualpi2 has one step, in time or in packets."
            raise UsageError(problem, "Leave out step_thresh or step_packets.")
        return super().words(queue, frame, rate, given)


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
        flag("pacing", "Packets wait for the rate that their socket asks for."),
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
        _OfShaper("overhead", Size, "Bytes that the shaper adds to each IP packet."),
        _OfShaper("mpu", Size, "Least size of a packet for the shaper.", lowest="1B"),
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
