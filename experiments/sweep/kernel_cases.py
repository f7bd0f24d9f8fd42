"""Standing set of `tcplab kernel compare`: networks on which changes of TCP have shown.

A case is a spec and its measures. Most use several independent paths at once
(topologies.shapes), so that one guest measures many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from analysis.measures.metrics import Metric, metric
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control, sack
from topologies.errors import UsageError
from topologies.shapes import dumbbell, separate_pairs, two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share, Size

_GOODPUT, _RTT, _RESENT, _SECONDS = (
    metric(f"metric.{name}")
    for name in ("goodput_kbit_s", "rtt_median_ms", "retransmitted_percent", "seconds")
)

Pick = Literal["mean", "largest"]
_FRAME = 1514  # bytes
_BACK = Channel(Rate.parse("1gbit"), queue=Packets(10_000))
_BULK = Flow("", "", "", Duration.parse("10s"))


@dataclass(frozen=True)
class KernelMeasure:
    """A figure of a case: a metric of one flow, or `pick` of all flows if that is empty."""

    label: str
    condition: str
    metric: Metric
    flow: str = ""
    pick: Pick = "mean"


@dataclass(frozen=True)
class KernelCase:
    """A spec, a sentence about it, and its measures."""

    sentence: str
    spec: ExperimentSpec
    measures: tuple[KernelMeasure, ...]

    @property
    def name(self) -> str:
        return self.spec.name.removeprefix("kernel_")


def standing_set() -> tuple[KernelCase, ...]:
    """Return all cases, in the order of a page."""
    wide = (_buffers(), _losses(), _out_of_order(), _short_flows())
    return (*wide, _incast(), _marking(), _ten_gigabit())


def _case(
    name: str,
    sentence: str,
    paths: dict[str, Channel],
    conditions: tuple[Condition, ...],
    measures: Iterable[KernelMeasure],
    flow: Flow = _BULK,
) -> KernelCase:
    """Build a case with a flow for each of the `paths`, whose way back is fast and lossless.

    Flow i is named by its path's label and goes from hi to ri.
    """
    channels = tuple(paths.values())
    back = tuple(replace(_BACK, delay=channel.delay) for channel in channels)
    flows = tuple(
        replace(flow, name=_named(label), sender=f"h{number}", receiver=f"r{number}")
        for number, label in enumerate(paths, 1)
    )
    spec = ExperimentSpec(f"kernel_{name}", "", separate_pairs(channels, back), flows, conditions)
    return KernelCase(sentence, spec, tuple(measures))


def _named(label: str) -> str:
    """Return a flow's name, which also names files."""
    return label.replace(" ", "_").replace("%", "").replace(".", "_").replace(",", "")


# Of flows that are over before a socket is sampled no setting could be proved.
_USUAL = Condition("usual", "CUBIC, as usual")
_CUBIC = congestion_control("cubic")
_PATH = Channel(Rate.parse("20mbit"), Duration.parse("20ms"), queue=Packets(1000))
_AT_MOST = Duration.parse("60s")
_DURATIONS = (
    KernelMeasure("all flows", _USUAL.name, _SECONDS),
    KernelMeasure("the slowest flow", _USUAL.name, _SECONDS, pick="largest"),
)


def _buffers() -> KernelCase:
    paths = {
        f"{2 * delay} ms, {share:g} BDP": replace(
            _PATH, delay=Duration.parse(f"{delay}ms"), queue=_queue(share, 2 * delay)
        )
        for delay in (10, 50)
        for share in (0.1, 1, 4)
    }
    metrics = {"4": (_GOODPUT, _RTT), "0.1": (_GOODPUT, _RESENT), "1": (_GOODPUT,)}
    algorithms = (_CUBIC, congestion_control("reno"), congestion_control("bbr"))
    return _case(
        "buffers",
        "One flow of CUBIC, Reno or BBR over 20 Mbit/s, with short and long buffers.",
        paths,
        algorithms,
        (
            KernelMeasure(f"{each.label}, {label}", each.name, metric, _named(label))
            for each in algorithms
            for label in paths
            for metric in metrics[label.split()[2]]
        ),
    )


def _queue(share: float, round_trip: int) -> Packets:
    """Return packets of `share` of what the path holds in a round trip of so many milliseconds."""
    return Packets(max(2, round(share * _PATH.bandwidth.base * round_trip / 1000 / 8 / _FRAME)))


def _losses() -> KernelCase:
    shares = ("0.1%", "1%", "5%", "10%")
    paths = {f"loss {share}": replace(_PATH, loss=Share.parse(share)) for share in shares}
    conditions = (sack(False), sack(True))
    return _case(
        "losses",
        "CUBIC with and without SACK over 20 Mbit/s and 40 ms that lose packets at random.",
        paths,
        conditions,
        (
            KernelMeasure(f"{each.label}, {label}", each.name, _GOODPUT, _named(label))
            for each in conditions
            for label in paths
        ),
    )


def _out_of_order() -> KernelCase:
    times = ("1ms", "5ms")
    paths = {f"jitter {time}": replace(_PATH, jitter=Duration.parse(time)) for time in times}
    return _case(
        "out_of_order",
        "CUBIC over 20 Mbit/s and 40 ms whose jitter brings packets out of order.",
        paths,
        (_CUBIC,),
        (
            KernelMeasure(label, _CUBIC.name, metric, _named(label))
            for label in paths
            for metric in (_GOODPUT, _RESENT)
        ),
    )


def _short_flows() -> KernelCase:
    lossy = replace(_PATH, loss=Share.parse("5%"))
    return _case(
        "short_flows",
        "Twenty flows of 30 kB over paths that lose 5 %, often the last segment.",
        {f"short {number}": lossy for number in range(1, 21)},
        (_USUAL,),
        _DURATIONS,
        Flow("", "", "", _AT_MOST, amount=Size.parse("30kB")),
    )


def _incast() -> KernelCase:
    many, amount = 100, Size.parse("64kB")
    channel = Channel(Rate.parse("1gbit"), Duration.parse("100us"), queue=Packets(100))
    flows = tuple(
        Flow(f"flow{number}", f"h{number}", f"r{number}", _AT_MOST, amount=amount)
        for number in range(1, many + 1)
    )
    return KernelCase(
        f"{many} flows of 64 kB that begin at once and meet at a port with a short queue.",
        ExperimentSpec("kernel_incast", "", dumbbell(many, channel), flows, (_USUAL,)),
        _DURATIONS,
    )


def _marking() -> KernelCase:
    ecn = Condition("ecn", "ECN", (("net.ipv4.tcp_ecn", "1"),))
    return _case(
        "marking",
        "CUBIC with ECN through fq_codel, which marks instead of dropping.",
        {"ecn": replace(_PATH, discipline="fq_codel")},
        (ecn,),
        (KernelMeasure("ECN", ecn.name, metric, "ecn") for metric in (_GOODPUT, _RTT, _RESENT)),
    )


def _ten_gigabit() -> KernelCase:
    channel = Channel(Rate.parse("10gbit"), Duration.parse("500us"), queue=Packets(1000))
    flow = Flow("flow1", "h1", "h2", Duration.parse("1s"))
    return KernelCase(
        "CUBIC over 10 Gbit/s and 1 ms.",
        ExperimentSpec("kernel_ten_gigabit", "", two_hosts(channel), (flow,), (_CUBIC,)),
        (KernelMeasure("CUBIC", _CUBIC.name, _GOODPUT, flow.name),),
    )


def chosen_cases(names: tuple[str, ...]) -> tuple[KernelCase, ...]:
    """Return the cases of these names, all without a name. Raises UsageError."""
    cases = {case.name: case for case in standing_set()}
    if unknown := sorted(set(names) - set(cases)):
        raise UsageError(f"There is no case '{unknown[0][:40]}'.", f"There are {', '.join(cases)}.")
    return tuple(case for name, case in cases.items() if not names or name in names)
