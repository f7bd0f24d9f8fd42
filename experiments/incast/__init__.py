"""A shorter least time-out ends the pauses of many senders that answer one receiver at once."""

from dataclasses import dataclass

from experiments.spec import FULL_FRAME, Condition, ExperimentSpec, parameter
from experiments.study.parameters import DrawnPhases, law_claim, pair_flows, require_count, spec_of
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate, Size

METRIC = "max exchange_p99_ms"
_ECN = ("net.ipv4.tcp_ecn", "1")
CONDITIONS = (
    Condition("default", "time-out from 200 ms"),
    Condition("short", "time-out from 5 ms", (("net.ipv4.tcp_rto_min_us", "5000"),)),
    Condition("dctcp", "DCTCP", (("net.ipv4.tcp_congestion_control", "dctcp"), _ECN)),
)
_LEAST_TIMEOUT = 200.0  # ms
TARGETS = (
    {"where": "time-out from 5 ms"},
    {"where": "DCTCP", "condition": "dctcp"},
    {
        "where": "time-out from 200 ms",
        "condition": "default",
        "published": _LEAST_TIMEOUT,
        "allowed": (_LEAST_TIMEOUT, None),
    },
)


@dataclass(frozen=True)
class IncastParameters(DrawnPhases):
    spread: Duration = parameter("0s", Duration, "Time within which all senders start.")
    bw: Rate = parameter("100mbit", Rate, "Rate towards the receivers.")
    delay: Duration = parameter("500us", Duration, "Delay of the link, each way.")
    queue: Packets = parameter("64", Packets, "Packets that can wait for the link.")
    mark: Duration = parameter("2ms", Duration, "Wait from which packets with ECN are marked.")
    senders: Count = parameter("20", Count, "Senders.")
    block: Size = parameter("64kB", Size, "Bytes of each sender.")

    def __post_init__(self) -> None:
        require_count(self.senders, 100, f"{self.senders} senders")

    @property
    def ideal(self) -> float:
        """Milliseconds that the link needs for all blocks."""
        return 8e3 * self.senders.base * self.block.base * FULL_FRAME / 1448 / self.bw.base


def experiment(parameters: IncastParameters) -> ExperimentSpec:
    """Send a block from each sender. The queue is a FIFO that marks by CoDel's ce_threshold."""
    marking = (("target", "1s"), ("interval", "10s"), ("ce_threshold", str(parameters.mark)))
    channel = Channel(
        parameters.bw,
        parameters.delay,
        queue=parameters.queue,
        discipline="codel",
        settings=marking,
    )
    number, length = parameters.senders.base, Duration.parse("10s")
    traffic = f"page objects=1 connections=1 size={parameters.block}"
    return spec_of(
        __name__,
        dumbbell(number, channel),
        pair_flows(number, length, "sender", traffic=traffic),
        CONDITIONS,
        law_claim(__file__, METRIC, "short", parameters.ideal),
        phases=parameters,
    )
