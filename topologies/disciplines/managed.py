"""Disciplines that drop or mark by the time of waiting, and those that give each flow its turn."""

from collections.abc import Mapping
from typing import Any, ClassVar

from topologies.disciplines.base import Discipline, Settings
from topologies.errors import UsageError


class Codel(Discipline):
    name, title, trial = "codel", "codel: short waits", "codel"
    since, early_drops = "3.5", ("drops", "drop_overlimit")
    marks = ("ecn_mark", "ce_mark")
    usual = " ecn"


class FqCodel(Discipline):
    name, title, trial = "fq_codel", "fq_codel: fair, and short waits", "fq_codel"
    since, is_fair = "3.5", True
    early_drops, marks = ("drops", "drop_overlimit"), ("ecn_mark", "ce_mark")


class Pie(Discipline):
    name, title, trial = "pie", "pie: drops early by the wait", "pie"
    since, early_drops, marks = "3.14", ("drops", "overlimit"), ("ecn_mark",)
    usual = " ecn"


class FqPie(Discipline):
    name, title, trial = "fq_pie", "fq_pie: fair, drops early by the wait", "fq_pie"
    since, is_fair = "5.6", True
    early_drops, marks = ("dropped",), ("ecn_mark",)
    usual = " ecn"


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

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"unlimited memlimit {queue * (frame + _MORE)}", given)

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("memlimit", 0)) // (frame + _MORE)


class Hhf(Discipline):
    """Heavy-hitter filter: flows that send much wait behind all others."""

    name, title, trial, since = "hhf", "hhf: small flows first", "hhf", "3.14"
