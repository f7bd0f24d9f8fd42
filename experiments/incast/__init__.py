"""A shorter least time-out ends the pauses of many senders that answer one receiver at once.

README.md has the law, its source, and what was found.
"""

from dataclasses import dataclass

from experiments.spec import (
    FULL_FRAME,
    Condition,
    ExperimentSpec,
    Flow,
    Headline,
    Subject,
    claim_of,
    parameter,
)
from experiments.study.parameters import DrawnPhases, require_count
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
    numbers = range(1, parameters.senders.base + 1)
    traffic = f"page objects=1 connections=1 size={parameters.block}"
    spec = ExperimentSpec(
        name="incast",
        claim=claim_of(__doc__),
        topology=dumbbell(len(numbers), channel),
        flows=tuple(
            Flow(f"sender{n}", f"h{n}", f"r{n}", Duration.parse("10s"), traffic=traffic)
            for n in numbers
        ),
        conditions=CONDITIONS,
        headline=Headline(
            question="Do short time-outs keep the link busy until the last block is there?",
            metric=METRIC,
            what="the time until the last block is there",
            subject=Subject("short"),
            direction="within",
            low=1.0,
            high=1.2,
            expected=parameters.ideal,
            expectation="the link's time for all blocks",
            repetitions=6,
        ),
    )
    return parameters.with_phases(spec)
