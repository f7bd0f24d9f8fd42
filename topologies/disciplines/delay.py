"""Disciplines that drop or mark by the time for which packets wait."""

from __future__ import annotations

from typing import ClassVar

from topologies.disciplines.base import Discipline, Settings
from topologies.disciplines.parameters import (
    CE_THRESHOLD,
    ECN,
    FLOWS,
    INTERVAL,
    MEMORY,
    QUANTUM,
    TARGET,
    Choice,
    Setting,
    flag,
)
from topologies.errors import UsageError
from topologies.units import Count, Duration, Frequency, Packets, Share

_256TH = 1e6 / 256  # of a hertz
_TUPDATE = Setting("tupdate", Duration, "Time between two updates of the probability.", "1ms", "1s")


class Codel(Discipline):
    name, title, trial = "codel", "codel: short waits", "codel"
    since, early_drops = "3.5", ("drops", "drop_overlimit")
    marks = ("ecn_mark", "ce_mark")
    parameters = (TARGET, INTERVAL, ECN, CE_THRESHOLD)

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue} ecn", given)


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
        flag("bytemode", "Large packets are dropped more often.", off="nobytemode"),
        flag(
            "dq_rate_estimator",
            "The delay is that of the queue at the rate of departures, not of time stamps.",
            off="no_dq_rate_estimator",
        ),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue} ecn", given)


class FqPie(Discipline):
    name, title, trial = "fq_pie", "fq_pie: fair, drops early by the wait", "fq_pie"
    since, is_fair = "5.6", True
    early_drops, marks = ("dropped",), ("ecn_mark",)
    parameters = (
        *Pie.parameters,
        *(FLOWS, QUANTUM, MEMORY),
        Setting(
            "ecn_prob",
            Share,
            "Above this probability packets are dropped.",
            "1%",
            "100%",
            scale=1e8,
        ),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue} ecn", given)


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
        Setting(
            "alpha",
            Frequency,
            "Gain of the distance to the target.",
            "0.004Hz",
            "1000Hz",
            scale=_256TH,
        ),
        Setting(
            "beta", Frequency, "Gain of the delay's change.", "0.004Hz", "1000Hz", scale=_256TH
        ),
        Setting("coupling_factor", Count, "Square-root law against linear one.", "1", "255"),
        Setting("step_thresh", Duration, "Wait from which L4S packets are marked.", "1us", "1s"),
        Setting("step_packets", Packets, "L4S packets from which more are marked.", "1", "1000000"),
        Setting("min_qlen_step", Packets, "Shortest queue with that step.", "0", "1000000"),
        Setting(
            "classic_protection",
            Share,
            "Least share of the classic queue.",
            "0%",
            "100%",
            scale=1e8,
        ),
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
            raise UsageError(
                "dualpi2 has one step, in time or in packets.",
                "Leave out step_thresh or step_packets.",
            )
        return super().words(queue, frame, rate, given)
