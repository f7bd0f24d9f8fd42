"""What `tcplab kernel compare` runs on each kernel: networks on which changes of TCP have shown.

A case is a spec and what is measured of it. The cases use several paths at once that share nothing
(topologies.separate_pairs), so that one guest measures many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from analysis.records import row_columns
from analysis.records.row_columns import Metric
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control, sack
from topologies.dumbbell import dumbbell
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Duration, Packets, Rate, Share, Size
from topologies.separate_pairs import separate_pairs
from topologies.topology_spec import Channel
from topologies.two_hosts import two_hosts

Pick = Literal["mean", "largest"]
_FRAME = 1514  # bytes
_BACK = Channel(Rate.parse("1gbit"), queue=Packets(10_000))
_RATE = Rate.parse("20mbit")
_TEN_SECONDS = Duration.parse("10s")


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
    """A spec, in a sentence what it is about, and what is measured."""

    sentence: str
    spec: ExperimentSpec
    measures: tuple[KernelMeasure, ...]

    @property
    def name(self) -> str:
        return self.spec.name.removeprefix("kernel_")


def standing_set() -> tuple[KernelCase, ...]:
    """All cases, in the order of a page."""
    return (
        _buffers(),
        _losses(),
        _out_of_order(),
        _short_flows(),
        _incast(),
        _marking(),
        _ten_gigabit(),
    )


def _spec(
    name: str,
    flows: tuple[Flow, ...],
    channels: tuple[Channel, ...],
    conditions: tuple[Condition, ...],
) -> ExperimentSpec:
    """Flow i goes over channel i, from hi to ri."""
    topology = separate_pairs(channels, tuple(_back(channel) for channel in channels))
    return ExperimentSpec(f"kernel_{name}", "", topology, flows, conditions)


def _back(channel: Channel) -> Channel:
    return replace(_BACK, delay=channel.delay)


def _pairs(labels: tuple[str, ...], flow: Flow) -> tuple[Flow, ...]:
    return tuple(
        replace(flow, name=_named(label), sender=f"h{number}", receiver=f"r{number}")
        for number, label in enumerate(labels, 1)
    )


def _named(label: str) -> str:
    """A flow's name, which is a file's too."""
    return label.replace(" ", "_").replace("%", "").replace(".", "_").replace(",", "")


# Of flows that are over before a socket is sampled no setting could be proved.
_USUAL = Condition("usual", "CUBIC, as usual")
_BULK = Flow("", "", "", _TEN_SECONDS)


def _buffers() -> KernelCase:
    paths = {
        f"{2 * delay} ms, {share:g} BDP": Channel(
            _RATE, Duration.parse(f"{delay}ms"), queue=_queue(share, 2 * delay)
        )
        for delay in (10, 50)
        for share in (0.1, 1, 4)
    }
    flows = _pairs(tuple(paths), _BULK)
    algorithms = tuple(map(congestion_control, ("cubic", "reno", "bbr")))
    spec = _spec("buffers", flows, tuple(paths.values()), algorithms)
    return KernelCase(
        "One flow of CUBIC, Reno or BBR over 20 Mbit/s, with short and long buffers.",
        spec,
        tuple(_of_buffers(paths, algorithms)),
    )


def _of_buffers(
    paths: dict[str, Channel], algorithms: tuple[Condition, ...]
) -> Iterator[KernelMeasure]:
    for algorithm in algorithms:
        for label in paths:
            where = (f"{algorithm.label}, {label}", algorithm.name)
            yield KernelMeasure(*where, row_columns.GOODPUT, _named(label))
            if label.endswith(" 4 BDP"):
                yield KernelMeasure(*where, row_columns.RTT_MEDIAN, _named(label))
            if label.endswith(" 0.1 BDP"):
                yield KernelMeasure(*where, row_columns.RETRANSMITTED_BYTES, _named(label))


def _queue(share: float, round_trip: int) -> Packets:
    """Packets of `share` of what the path holds in a round trip of so many milliseconds."""
    return Packets(max(2, round(share * _RATE.base * round_trip / 1000 / 8 / _FRAME)))


def _losses() -> KernelCase:
    shares = ("0.1%", "1%", "5%", "10%")
    channel = Channel(_RATE, Duration.parse("20ms"), queue=Packets(1000))
    channels = tuple(replace(channel, loss=Share.parse(share)) for share in shares)
    labels = tuple(f"loss {share}" for share in shares)
    conditions = (sack(False), sack(True))
    return KernelCase(
        "CUBIC with and without SACK over 20 Mbit/s and 40 ms that lose packets at random.",
        _spec("losses", _pairs(labels, _BULK), channels, conditions),
        tuple(
            KernelMeasure(
                f"{condition.label}, {label}", condition.name, row_columns.GOODPUT, _named(label)
            )
            for condition in conditions
            for label in labels
        ),
    )


def _out_of_order() -> KernelCase:
    jitters = ("1ms", "5ms")
    channel = Channel(_RATE, Duration.parse("20ms"), queue=Packets(1000))
    channels = tuple(replace(channel, jitter=Duration.parse(jitter)) for jitter in jitters)
    labels = tuple(f"jitter {jitter}" for jitter in jitters)
    cubic = congestion_control("cubic")
    return KernelCase(
        "CUBIC over 20 Mbit/s and 40 ms whose jitter brings packets out of order.",
        _spec("out_of_order", _pairs(labels, _BULK), channels, (cubic,)),
        tuple(
            KernelMeasure(label, cubic.name, metric, _named(label))
            for label in labels
            for metric in (row_columns.GOODPUT, row_columns.RETRANSMITTED_BYTES)
        ),
    )


def _short_flows() -> KernelCase:
    labels = tuple(f"short {number}" for number in range(1, 21))
    flow = replace(_BULK, amount=Size.parse("30kB"), duration=Duration.parse("60s"))
    channel = Channel(_RATE, Duration.parse("20ms"), Share.parse("5%"), queue=Packets(1000))
    return KernelCase(
        "Twenty flows of 30 kB over paths that lose 5 %, often the last segment.",
        _spec("short_flows", _pairs(labels, flow), (channel,) * len(labels), (_USUAL,)),
        (
            KernelMeasure("all flows", _USUAL.name, row_columns.SECONDS),
            KernelMeasure("the slowest flow", _USUAL.name, row_columns.SECONDS, pick="largest"),
        ),
    )


def _incast() -> KernelCase:
    many = 100
    channel = Channel(Rate.parse("1gbit"), Duration.parse("100us"), queue=Packets(100))
    amount, limit = Size.parse("64kB"), Duration.parse("60s")
    flows = tuple(
        Flow(f"flow{number}", f"h{number}", f"r{number}", limit, amount=amount)
        for number in range(1, many + 1)
    )
    spec = ExperimentSpec("kernel_incast", "", dumbbell(many, channel), flows, (_USUAL,))
    return KernelCase(
        f"{many} flows of 64 kB that begin at once and meet at a port with a short queue.",
        spec,
        (
            KernelMeasure("all flows", _USUAL.name, row_columns.SECONDS),
            KernelMeasure("the slowest flow", _USUAL.name, row_columns.SECONDS, pick="largest"),
        ),
    )


def _marking() -> KernelCase:
    channel = Channel(_RATE, Duration.parse("20ms"), queue=Packets(1000), discipline="fq_codel")
    ecn = Condition("ecn", "ECN", (("net.ipv4.tcp_ecn", "1"),))
    metrics = (row_columns.GOODPUT, row_columns.RTT_MEDIAN, row_columns.RETRANSMITTED_BYTES)
    return KernelCase(
        "CUBIC with ECN through fq_codel, which marks instead of dropping.",
        _spec("marking", _pairs(("ecn",), _BULK), (channel,), (ecn,)),
        tuple(KernelMeasure("ECN", ecn.name, metric, "ecn") for metric in metrics),
    )


def _ten_gigabit() -> KernelCase:
    channel = Channel(Rate.parse("10gbit"), Duration.parse("500us"), queue=Packets(1000))
    flow = Flow("flow1", "h1", "h2", Duration.parse("1s"))
    cubic = congestion_control("cubic")
    spec = ExperimentSpec("kernel_ten_gigabit", "", two_hosts(channel), (flow,), (cubic,))
    return KernelCase(
        "CUBIC over 10 Gbit/s and 1 ms.",
        spec,
        (KernelMeasure("CUBIC", cubic.name, row_columns.GOODPUT, flow.name),),
    )


def chosen_cases(names: tuple[str, ...]) -> tuple[KernelCase, ...]:
    """The cases of these names, all without a name. Raises UsageError."""
    cases = {case.name: case for case in standing_set()}
    if unknown := sorted(set(names) - set(cases)):
        raise UsageError(f"There is no case '{unknown[0][:40]}'.", f"There are {', '.join(cases)}.")
    return tuple(case for name, case in cases.items() if not names or name in names)
