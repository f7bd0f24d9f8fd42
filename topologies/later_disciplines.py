"""Queueing disciplines that a guest imports only if a network has one (topologies.disciplines)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from topologies.discipline_parameters import (
    BUILT_IN,
    FLOWS,
    MEMORY,
    PIE,
    QUANTUM,
    TARGET,
    TUPDATE,
    Choice,
    Setting,
    red_words,
    require_order,
)
from topologies.disciplines import Discipline, Red, Settings
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Count, Duration, Frequency, Packets, Share, Size

_256TH = 1e6 / 256  # of a hertz


class Bfifo(Discipline):
    """First in, first out, with a limit in bytes: short packets leave room for more."""

    name, title = "bfifo", "bfifo: first in, first out, by bytes"
    in_bytes = True

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return self._with(f"limit {queue * frame}", given)

    def packets(self, options: Mapping[str, Any], frame: int) -> int:
        return int(options.get("limit", 0)) // frame


class Gred(Red):
    """Generic RED with one virtual queue, in which all packets are."""

    name, title, trial = "gred", "gred: red with virtual queues", "gred setup DPs 1 default 0"
    early_drops = ("drops", "pdrop")
    marks: tuple[str, ...] = ("prob_mark", "forced_mark")
    parameters = tuple(each for each in BUILT_IN["red"] if each.name not in ("adaptive", "nodrop"))

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return f"setup DPs 1 default 0 limit {queue * frame}"

    def further(self, queue: int, frame: int, rate: int, given: Settings) -> str:
        return f"{red_words(self, queue, frame, rate, given)} DP 0"

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return next(iter(options.get("vqs", [])), {})


class Choke(Discipline):
    """Red that also drops a packet and another one of its flow that waits (tc-choke(8))."""

    name, title = "choke", "choke: red against greedy flows"
    trial = "choke limit 60 min 5 max 20 avpkt 1000 bandwidth 1mbit probability 0.02"
    since, shortest = "3.0", 10
    early_drops, marks = ("drops", "pdrop"), ("marked",)
    parameters = (
        Setting("min", Packets, "Average length from which packets are dropped.", "1", "1000000"),
        Setting(
            "max", Packets, "Average length at which the probability is reached.", "2", "1000000"
        ),
        *(each for each in BUILT_IN["red"] if each.name in ("probability", "ecn")),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        chosen = {"probability": "2%", "ecn": "on"} | dict(given)
        low = Packets.parse(chosen.pop("min", str(max(1, queue // 6)))).base
        high = Packets.parse(chosen.pop("max", str(queue // 2))).base
        require_order(self.name, low, high, queue, "packets")
        average = f"min {low} max {high} avpkt {frame} burst {(2 * low + high) // 3 + 1}"
        return self._with(f"limit {queue} {average} bandwidth {rate}bit", chosen.items())


class FqPie(Discipline):
    name, title, trial = "fq_pie", "fq_pie: fair, drops early by the wait", "fq_pie"
    since, is_fair = "5.6", True
    early_drops, marks = ("dropped",), ("ecn_mark",)
    parameters = (
        *PIE,
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


def _numbered(name: str, meaning: str, *values: tuple[str, int], key: str = "") -> Choice:
    """Return a parameter whose values are numbers in netlink."""
    return Choice(name, meaning, tuple((word, word, number) for word, number in values), key)


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
        TUPDATE,
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
        Setting("memory_limit", Size, "Memory of all waiting packets.", "2KiB", "2000MB"),
        _numbered("overload", "At overload.", ("drop_on_overload", 1), ("overflow", 0)),
        _numbered("drop", "When packets are dropped.", ("drop_enqueue", 1), ("drop_dequeue", 0)),
        _numbered("ecn", "Packets of the L4S queue.", ("l4s_ect", 1), ("any_ect", 3)),
    )
    attributes: ClassVar[dict[str, tuple[int, str]]] = {
        name: (number, "=I" if number < 10 else "=B")
        for number, name in enumerate(_ATTRIBUTES.split(), 1)
    }

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        if {"step_thresh", "step_packets"} <= {name for name, _ in given}:
            raise UsageError(
                "dualpi2 has one step, in time or in packets.",
                "Leave out step_thresh or step_packets.",
            )
        return super().words(queue, frame, rate, given)

    counters = (
        *("prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq"),
        *("ecn_mark", "step_marks", "credit", "memory_used", "max_memory_used", "memory_limit"),
    )


LATER: dict[str, Discipline] = {
    each.name: each for each in (Bfifo(), Choke(), Dualpi2(), FqPie(), Gred(), Hhf())
}
